"""Names and folders of mirrored tables, whatever the source calls its own."""

import itertools
from pathlib import PurePosixPath

import pytest

from cdc.config import TargetConfig
from cdc.errors import SharedFolderError
from cdc.model import SourceTable, TableName
from cdc.schema import check_alone, table_folder, table_location, target_name

WAREHOUSE = "/data/warehouse"
HOSTILE = [
    *("orders", "Orders", "a b", "a_b", "a-b", 'quo"te', "quo'te", "back`tick", "semi;colon"),
    *("..", ".", "../../etc/passwd", "/etc/passwd", "..\\..\\x", "a/b", "a\\b", "a.b", "x..", "~"),
    *("", " ", "  ", "\t", "\n", "\x00", "\x1b[31m", "a\x00b", "\x7f", "%2e%2e", "{table}", "$(x)"),
    *("naïve", "naive\u0308", "naïve\u200b", "日本語", "🚀", "ﬁ", "fi", "\u202eevil"),
    *(
        "x" * 100,
        "x" * 101,
        "x" * 200,
        "x" * 201,
        "é" * 200,
        "_",
        "-",
        "--",
        "-rf",
        "C:",
        "s3://b/k",
    ),
]


def source(table: str = "orders", schema: str = "public") -> SourceTable:
    return SourceTable("srv", "shop", schema, table)


def levels(name: TableName) -> tuple[str, ...]:
    return (*name.namespace, name.table)


def location(name: TableName) -> str:
    """Give the folder; where the choice is left to the catalog, the plain one that it takes."""
    return table_location(WAREHOUSE, name) or "/".join((WAREHOUSE, *levels(name)))


@pytest.mark.parametrize(
    ("template", "wanted"),
    [
        ("{database}.{table}", ("shop", "orders")),
        ("{server}.{database}.{schema}.{table}", ("srv", "shop", "public", "orders")),
        ("raw.{schema}_{table}", ("raw", "public_orders")),
    ],
)
def test_the_template_is_filled_level_by_level(template: str, wanted: tuple[str, ...]) -> None:
    assert levels(target_name(TargetConfig(table=template), source())) == wanted


def test_a_dot_in_a_name_makes_no_new_level() -> None:
    name = target_name(TargetConfig(table="{schema}.{table}"), source("a.b", "x.y"))

    assert len(levels(name)) == 2


@pytest.mark.parametrize("table", HOSTILE)
def test_no_name_has_an_empty_level_or_a_separator(table: str) -> None:
    name = target_name(TargetConfig(table="{schema}.{table}"), source(table, table))

    assert all(levels(name))
    assert not any(letter in level for level in levels(name) for letter in "./\\\x00\n\x7f")


@pytest.mark.parametrize("table", HOSTILE)
def test_no_name_leaves_the_warehouse(table: str) -> None:
    name = target_name(TargetConfig(table="{schema}.{table}"), source(table, table))

    folder = PurePosixPath(location(name))

    assert folder.is_relative_to(WAREHOUSE)
    inner = folder.relative_to(WAREHOUSE).parts
    assert len(inner) == 2
    assert ".." not in inner


@pytest.mark.parametrize("table", HOSTILE)
def test_a_folder_is_plain_and_short_enough_for_every_storage(table: str) -> None:
    name = target_name(TargetConfig(), source(table))

    folder = location(name).removeprefix(WAREHOUSE + "/")

    assert folder.isascii()
    assert all(c.isalnum() or c in "/_-" for c in folder)
    assert max(len(part) for part in folder.split("/")) <= 100


def test_two_names_never_share_a_folder() -> None:
    names = {target_name(TargetConfig(), source(table)) for table in HOSTILE}

    clashes = [
        pair for pair in itertools.combinations(names, 2) if location(pair[0]) == location(pair[1])
    ]

    assert clashes == []


def test_levels_that_look_alike_once_joined_have_their_own_folders() -> None:
    names = [TableName(("a b",), "c"), TableName(("a",), "b c"), TableName(("a b c",), "x")]

    assert len({location(name) for name in names}) == 3


def test_plain_names_leave_the_folder_to_the_catalog() -> None:
    assert table_location(WAREHOUSE, TableName(("shop",), "orders_2024-a")) is None


@pytest.mark.parametrize("warehouse", ["s3://bucket/w", "s3://bucket/w/", "file:/data/w//"])
def test_a_folder_starts_at_the_warehouse(warehouse: str) -> None:
    folder = table_location(warehouse, TableName(("shop",), "a b"))

    assert folder is not None
    assert folder.startswith(warehouse.rstrip("/") + "/shop/a_b-")


def test_a_folder_stays_the_same_from_run_to_run() -> None:
    name = TableName(("shop",), "naïve table")

    assert table_location("/w", name) == "/w/shop/na_ve_table-baa019f69c81"


@pytest.mark.parametrize(
    ("folder", "file"),
    [
        ("s3://lake/w/shop/orders", "s3a://lake/w/shop/orders/metadata/00000-a.metadata.json"),
        ("/w/shop/orders", "file:///w/shop/orders/metadata/00000-a.metadata.json"),
        ("file:/w/shop/orders/", "file:///w/shop/orders/metadata/00000-a.metadata.json"),
    ],
)
def test_a_table_is_not_alone_in_a_folder_however_its_address_is_written(
    folder: str, file: str
) -> None:
    with pytest.raises(SharedFolderError) as raised:
        check_alone(TableName(("shop",), "orders"), folder, {"other": file})

    assert (raised.value.other, raised.value.folder) == ("other", folder)


@pytest.mark.parametrize(
    "file",
    [
        "s3://lake/w/shop/orders_log/metadata/00000-a.metadata.json",
        "s3://lake/w2/shop/orders/metadata/00000-a.metadata.json",
        "s3://pond/w/shop/orders/metadata/00000-a.metadata.json",
    ],
)
def test_a_table_is_alone_in_its_folder_beside_others(file: str) -> None:
    check_alone(TableName(("shop",), "orders"), "s3://lake/w/shop/orders", {"other": file})


def test_the_folder_of_a_table_is_known_before_it_is_made() -> None:
    plain, odd = TableName(("shop",), "orders"), TableName(("shop",), "naïve table")

    assert table_folder("s3://lake/w/", plain) == "s3://lake/w/shop/orders"
    assert table_folder("/w", odd) == table_location("/w", odd)
