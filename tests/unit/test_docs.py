"""The pages hold what the code says, their examples are right, and their links lead somewhere."""

import re
import tomllib
from collections import Counter
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
