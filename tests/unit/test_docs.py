"""The pages hold what the code says, their examples are right, and their links lead somewhere."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdc.config.load import parse_config
from cdc.config.reference import options_page
from cdc.state.names import state_page

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
        *(ROOT / folder / "README.md" for folder in ("connectors", "docker", "cdc/sandbox")),
        *(ROOT / "tests" / folder / "README.md" for folder in ("conformance", "recorded")),
    ]
)
START, END = "<!-- options -->", "<!-- /options -->"
# What a quote leaves out, and what a template or a log line fills in.
ANYTHING = "…"
FIELDS = re.compile(r"\{[^{}]*\}|%[sdr]")
SMALLEST = {
    "source": '[source]\nconnector = "postgres"\ntopics = ["shop.public.*"]\n',
    "kafka": '[kafka]\n"bootstrap.servers" = "localhost:9092"\n',
}

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    """Give a page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)


def anchors_of(page: Path) -> set[str]:
    """Name the headings of a page as the code host does."""
    found: Counter[str] = Counter()
    anchors = set()
    for heading in re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        anchors.add(f"{slug}-{found[slug]}" if found[slug] else slug)
        found[slug] += 1
    return anchors


def links_of(page: Path) -> list[str]:
    without_code = re.sub(r"`[^`\n]*`", "", prose_of(page))
    return re.findall(r"\]\(([^)\s]+)\)", without_code)


def examples() -> list[tuple[str, str]]:
    toml = re.compile(r"^```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    return [(page.name, text) for page in PAGES for text in toml.findall(text_of(page))]


def test_the_option_tables_are_those_of_the_classes() -> None:
    shown = text_of(ROOT / "docs" / "config.md").partition(START)[2].partition(END)[0]

    assert shown.strip() == options_page().strip(), "paste: python -m cdc.config.reference"


@pytest.mark.parametrize(("page", "text"), examples())
def test_every_config_that_is_shown_is_one(page: str, text: str) -> None:
    tables = tomllib.loads(text)
    missing = "".join(table for name, table in SMALLEST.items() if name not in tables)
    name = "" if "name" in tables else 'name = "shop"\n'

    config = parse_config(f"{name}{text}\n{missing}".encode(), "shop.toml")

    assert config.name == "shop"


def test_examples_are_found_on_the_pages_that_have_some() -> None:
    assert {"README.md", "config.md", "following-the-source.md"} <= {page for page, _ in examples()}


@every_page
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in links_of(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)

    assert broken == []


def test_a_broken_link_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Who is *there*?\n\n[a](gone.md#here) `[b](code)`\n\n```\n[c](code)\n```\n")

    assert links_of(page) == ["gone.md#here"]
    assert anchors_of(page) == {"who-is-there"}


def test_every_page_can_be_reached_from_readme() -> None:
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        found = (link.partition("#")[0] for link in links_of(page) if ":" not in link)
        waiting += [(page.parent / path).resolve() for path in found if path]

    assert [page for page in PAGES if page not in reached] == []


def test_the_page_of_a_tables_state_is_what_the_code_prints() -> None:
    assert text_of(ROOT / "docs" / "table-state.md") == state_page()


def said_in(source: str) -> Iterator[str]:
    """Give the texts of a module, but no docstrings; what is filled in is left open."""
    tree = ast.parse(source)
    silent: set[ast.AST] = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            silent.update(node.values)
            parts = (p.value if isinstance(p, ast.Constant) else ANYTHING for p in node.values)
            yield FIELDS.sub(ANYTHING, "".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in silent:
            yield FIELDS.sub(ANYTHING, node.value)


def quoted_on(page: str) -> list[str]:
    """List the errors and log lines that a page quotes: first in a row of a table, or cut short."""
    found = []
    for line in page.splitlines():
        if line.startswith("|"):
            found += re.findall(r"`([^`]+)`", line.split("|")[1])
        elif not line.startswith("    "):
            found += re.findall(r"`([^`]*…[^`]*)`", line)
    return found


def is_said(quote: str, texts: list[str]) -> bool:
    """Say whether a text has all of a quote, in its order, and begins with it unless it is cut."""
    parts = [re.escape(part) for part in quote.split(ANYTHING)]
    pattern = re.compile(".*".join(parts), re.DOTALL)
    return any(pattern.match(text) for text in texts)


def test_the_errors_and_log_lines_that_are_quoted_are_those_of_the_code() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "cdc").rglob("*.py")]
    texts = [text for source in sources for text in said_in(source)]
    quotes = quoted_on(text_of(ROOT / "docs" / "operations.md"))

    assert len(quotes) > 60
    assert [quote for quote in quotes if not is_said(quote, texts)] == []


def test_a_quote_of_an_old_text_would_be_found() -> None:
    source = """
class NoKeyError:
    "It has no friends."
    text = "{table} has no primary key. " f"Choose {KEY}."
logger.info("dropped table=%s", name)
"""
    page = """
| `… has no primary key. Choose …` | `no quote` |
| `… has no key. Choose …`, `Choose …`, `dropped table=…` |
`… has no friends` `no quote` `dropped …`
"""
    texts = list(said_in(source))

    said = {quote: is_said(quote, texts) for quote in quoted_on(page)}

    assert [quote for quote, right in said.items() if not right] == [
        "… has no key. Choose …",
        "Choose …",
        "… has no friends",
    ]
