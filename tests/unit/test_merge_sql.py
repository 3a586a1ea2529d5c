"""The text of the statements that change a table, without running them."""

import re
from datetime import date
from string import Formatter
from typing import Any

import pytest

from cdc.sql.merge import merge_sql
from cdc.sql.truncates import close_sql, mark_sql

TABLE = "`mirror`.`shop`.`orders`"


def test_the_whole_statement() -> None:
    text, arguments = merge_sql(TABLE, ["id", "name", "size"], ["id"], {"id": (1, 9)})

    assert text == (
        "MERGE INTO `mirror`.`shop`.`orders` t USING {changes} s "
        "ON t.`id` <=> s.`id` AND s._mirror_op = 'd' "
        "AND (t.`id` BETWEEN :least0 AND :greatest0 OR t.`id` IS NULL) "
        "WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED AND s._mirror_op <> 'd' "
        "THEN INSERT (`id`, `name`, `size`) VALUES (s.`id`, s.`name`, s.`size`)"
    )
    assert arguments == {"least0": 1, "greatest0": 9}


def test_every_column_of_the_key_has_to_match() -> None:
    text, _ = merge_sql(TABLE, ["a", "b", "v"], ["a", "b"], {})

    assert "ON t.`a` <=> s.`a` AND t.`b` <=> s.`b` AND s._mirror_op = 'd' WHEN" in text


def test_of_a_history_only_the_current_version_goes() -> None:
    text, _ = merge_sql(TABLE, ["id", "v"], ["id"], {}, current_only=True)

    assert "ON t.`id` <=> s.`id` AND s._mirror_op = 'd' AND t.`_mirror_current` WHEN" in text


def test_without_bounds_there_are_no_arguments() -> None:
    text, arguments = merge_sql(TABLE, ["id", "v"], ["id"], {})

    assert arguments == {}
    assert "BETWEEN" not in text


@pytest.mark.parametrize(
    ("least", "greatest"),
    [
        ("a", "z"),
        ("'; DROP TABLE x; --", "\\'"),
        (-(2**63), 2**63 - 1),
        (date(1, 1, 1), date(9999, 12, 31)),
    ],
)
def test_bounds_are_arguments_and_never_text(least: Any, greatest: Any) -> None:
    text, arguments = merge_sql(TABLE, ["id", "v"], ["id"], {"id": (least, greatest)})

    plain, _ = merge_sql(TABLE, ["id", "v"], ["id"], {"id": (0, 0)})
    assert text == plain
    assert arguments == {"least0": least, "greatest0": greatest}


def test_each_bounded_column_has_arguments_of_its_own() -> None:
    bounds = {"a": (1, 2), "b": ("x", "y")}

    text, arguments = merge_sql(TABLE, ["a", "b", "v"], ["a", "b"], bounds)

    assert "t.`a` BETWEEN :least0 AND :greatest0" in text
    assert "t.`b` BETWEEN :least1 AND :greatest1" in text
    assert arguments == {"least0": 1, "greatest0": 2, "least1": "x", "greatest1": "y"}


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "a`b",
        "``",
        "`",
        "a.b",
        "select",
        "'; DROP TABLE x; --",
        'a"b',
        "naïve",
        ":least0",
        "--",
    ],
)
def test_a_hostile_name_stays_inside_its_quotes(name: str) -> None:
    text, _ = merge_sql(TABLE, [name, f"{name}2"], [name], {name: (1, 2)})

    plain, _ = merge_sql(TABLE, ["K", "V"], ["K"], {"K": (1, 2)})
    quoted = re.findall(r"`((?:[^`]|``)*)`", text.removeprefix(f"MERGE INTO {TABLE}"))
    assert {part.replace("``", "`") for part in quoted} == {name, f"{name}2"}
    assert re.sub(r"`(?:[^`]|``)*`", "?", text) == re.sub(r"`(?:[^`]|``)*`", "?", plain)


@pytest.mark.parametrize("name", ["a{b}", "{changes}", "{", "}", "{0}"])
def test_braces_in_a_column_name_are_no_placeholder_of_the_merge(name: str) -> None:
    text, _ = merge_sql(f"`{name}`", ["id", name], ["id"], {})

    placeholders = [field for _, field, _, _ in Formatter().parse(text) if field is not None]

    assert placeholders == ["changes"]

    filled = text.format(changes="c")
    assert f"VALUES (s.`id`, s.`{name}`)" in filled
    assert filled.startswith(f"MERGE INTO `{name}` t USING c s ON")


def test_a_truncate_marks_every_row_that_has_no_mark() -> None:
    assert mark_sql(TABLE) == (
        f"UPDATE {TABLE} SET `_mirror_deleted` = true WHERE `_mirror_deleted` IS NOT TRUE"
    )


def test_a_truncate_ends_every_version_but_those_that_the_batch_ends() -> None:
    all_of_them = (
        f"UPDATE {TABLE} t SET t.`_mirror_valid_to` = greatest(:time, t.`_mirror_valid_from`), "
        "t.`_mirror_current` = false WHERE t.`_mirror_current`"
    )

    assert close_sql(TABLE) == all_of_them
    assert close_sql(TABLE, ["a", "b"]) == (
        f"{all_of_them} AND NOT EXISTS "
        "(SELECT 1 FROM {kept} s WHERE t.`a` <=> s.`a` AND t.`b` <=> s.`b`)"
    )


@pytest.mark.parametrize("name", ["a{b}", "{kept}", "{", "}", "{0}"])
def test_braces_in_a_name_are_no_placeholder_of_a_truncate(name: str) -> None:
    text = close_sql(f"`{name}`", [name])

    placeholders = [field for _, field, _, _ in Formatter().parse(text) if field is not None]

    assert placeholders == ["kept"]
    assert f"t.`{name}` <=> s.`{name}`" in text.format(kept="k")
    assert close_sql(f"`{name}`").startswith(f"UPDATE `{name}` t SET")  # filled by nobody
