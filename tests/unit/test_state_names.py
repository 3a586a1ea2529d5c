"""Every name that a mirror adds to a catalog is one that it always had, and is told of."""

import ast
import re
from collections import Counter

import pytest

from cdc.model import RESERVED
from cdc.schema.table_mode import MADE_FOR
from cdc.state import names
from cdc.state.names import NAMES, Holder, state_page
from tests.unit.test_architecture import ROOT, module_name, sources

# Where the names are made.
HOMES = {"cdc.model.names", "cdc.state.names"}
# Where something else than a table's property or column has such a name: a column of an index's
# input, a field of a partition spec that would have the name of a column, and parts of a query.
OTHERS = {"cdc.collapse.keys", "cdc.commit.partition_spec", "cdc.demo.postgres_rows"}
NAME = re.compile(r"_mirror_\w+")

PROPERTIES = {
    *("_mirror_ledger", "_mirror_ledger_sequence", "_mirror_state_version", "_mirror_name"),
    *("_mirror_topic", "_mirror_key", "_mirror_former_key", "_mirror_schema_log"),
    *("_mirror_backfill", "_mirror_identities", "_mirror_types", "_mirror_partitions"),
    *("_mirror_key_forms", "_mirror_lanes_since", "_mirror_mixed_until", "_mirror_rekeyed_since"),
    *("_mirror_source", "_mirror_dropped", "_mirror_replaced", "_mirror_stale_rows"),
    "_mirror_former",
}
QUARANTINES = {
    *("_mirror_state_version", "_mirror_name", "_mirror_quarantined", "_mirror_parked"),
    "_mirror_retired",
}


def held_by(holder: Holder) -> set[str]:
    return {name.text for name in NAMES if name.holder is holder}


@pytest.mark.parametrize(
    ("holder", "expected"),
    [
        (Holder.TABLE, PROPERTIES),
        (Holder.MIRROR, QUARANTINES),
        (Holder.SNAPSHOT, {"_mirror_ledger"}),
        (Holder.CATALOG, {"_mirror_quarantine"}),
        (Holder.COLUMN, set().union(*MADE_FOR)),  # of all modes
    ],
)
def test_tables_that_there_are_have_these_names(holder: Holder, expected: set[str]) -> None:
    assert held_by(holder) == expected


def test_every_name_is_told_of() -> None:
    used = {
        value
        for value in vars(names).values()
        if isinstance(value, str) and value.startswith(RESERVED) and value != RESERVED
    }

    assert used == {name.text for name in NAMES}


def test_a_name_is_told_of_once_and_in_words() -> None:
    places = Counter((name.text, name.holder) for name in NAMES)

    assert max(places.values()) == 1
    assert all(name.meaning.endswith(".") for name in NAMES)


def test_no_name_is_left_that_nobody_uses() -> None:
    users = [path.read_text() for path in sources() if module_name(path) not in HOMES]
    used = set(re.findall(r"\b[A-Z_]+_PROPERTY\b", "\n".join(users)))

    assert {name for name in vars(names) if name.endswith("_PROPERTY")} <= used


def spelled(source: str) -> list[str]:
    """Find the names of the mirror that a source spells or puts together, outside of docstrings."""
    tree = ast.parse(source)
    told = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if node.body and isinstance(node.body[0], ast.Expr)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            found += NAME.findall(node.value) or (["_mirror_"] if node.value == RESERVED else [])
        elif isinstance(node, ast.BinOp) and (is_prefix(node.left) or is_prefix(node.right)):
            found.append(ast.unparse(node))
        elif isinstance(node, ast.JoinedStr):
            found += [
                ast.unparse(node)
                for part, rest in zip(node.values, node.values[1:], strict=False)
                if isinstance(part, ast.FormattedValue) and is_prefix(part.value)
                if isinstance(rest, ast.FormattedValue) or re.match(r"\w", str(text_of(rest)))
            ]
    return found


def is_prefix(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name == "RESERVED"


def text_of(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else ""


def test_no_other_module_makes_a_name() -> None:
    # What errors say to people may have names in it.
    texts = {module_name(path): path.read_text() for path in sources()}
    made = {
        module: spelled(text)
        for module, text in texts.items()
        if RESERVED in text or "RESERVED" in text
        if module not in HOMES | OTHERS and not module.startswith("cdc.errors")
    }

    assert made  # it looks at something
    assert {module: found for module, found in made.items() if found} == {}


def test_the_exceptions_are_there_still() -> None:
    for module in sorted(HOMES | OTHERS):
        path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
        assert spelled(path.read_text()), module


@pytest.mark.parametrize(
    "source",
    [
        'KEY = "_mirror_key"',
        'properties["_mirror_key"]',
        'sql = "SELECT _mirror_key FROM t"',
        'KEY = RESERVED + "key"',
        'KEY = model.RESERVED + "key"',
        'KEY = f"{RESERVED}key"',
        'KEY = f"{RESERVED}{name}"',
        'PREFIX = "_mirror_"',
    ],
)
def test_a_name_that_is_made_elsewhere_is_found(source: str) -> None:
    assert len(spelled(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""Says what _mirror_key is."""',
        'def f():\n    """Read _mirror_key."""',
        "name.startswith(RESERVED)",
        'reason = f"names that begin with {RESERVED} are its own"',
        "self._mirror_first_rows()",
        "self._mirror = 1  # _mirror_key",
    ],
)
def test_what_makes_no_name_is_not_found(source: str) -> None:
    assert spelled(source) == []


def test_the_page_tells_of_every_name_in_its_chapter() -> None:
    chapters = dict(
        re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", state_page(), re.MULTILINE | re.DOTALL)
    )

    assert list(chapters) == [holder.value for holder in Holder]
    for holder in Holder:
        rows = re.findall(r"^\| `(\w+)` \| .+ \|$", chapters[holder.value], re.MULTILINE)
        assert set(rows) == held_by(holder)
        assert len(rows) == len(set(rows))
