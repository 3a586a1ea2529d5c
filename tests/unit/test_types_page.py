"""The types page is that of the code."""

import re
from pathlib import Path

import pytest

from cdc.commands.types_page import TITLES, types_page
from cdc.dialect import Dialect
from cdc.model import logical
from cdc.schema.type_table import ROWS
from connectors import DIALECTS

PAGE = Path(__file__).parents[2] / "docs" / "types.md"
every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))


def test_the_page_is_what_the_code_prints() -> None:
    command = "run: python -m cdc.commands.types_page >docs/types.md"

    assert PAGE.read_text(encoding="utf-8") == types_page(), command


@every_dialect
def test_every_database_has_its_types_and_says_how_they_are_proven(dialect: Dialect) -> None:
    page = types_page()
    title = TITLES[dialect.name]

    assert dialect.source_types
    assert f"\n## {title}\n" in page
    proof = "the real server" if dialect.proven else "documented form"
    assert re.search(rf"^\| {title} \| .*{proof}", page, re.MULTILINE)


@every_dialect
def test_what_a_database_sends_has_a_meaning(dialect: Dialect) -> None:
    for kind in dialect.source_types:
        assert kind.schema.logical == logical.meaning(kind.schema), kind.source


def test_every_type_of_the_table_is_on_the_page() -> None:
    page = types_page()

    named = {name.rpartition(".")[2] for name in ROWS if name != logical.ESCAPED_ENUM}
    assert [name for name in named if f"{name}`" not in page] == []


def test_every_row_of_the_page_has_the_cells_of_its_head() -> None:
    lines = types_page().splitlines()
    tables = [line for line in lines if line.startswith("|")]

    counts = [line.replace("\\|", "").count("|") for line in tables]

    heads = [count for line, count in zip(tables, counts, strict=True) if "---" in line]
    assert set(counts) == set(heads)
