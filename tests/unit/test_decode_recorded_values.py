"""Every column type of PostgreSQL and MariaDB, held against what the databases themselves say."""

import json
import math
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from connectors import DIALECTS
from tests.unit.messages import RECORDED, final_rows, planned, read_recorded

TOPICS = {
    "postgres": read_recorded("pg_json.jsonl")["pgj.app.all_types"],
    "mariadb": read_recorded("maria_json.jsonl")["mj.shop.all_types"],
}
EXPECTED = {
    "postgres": json.loads((RECORDED / "expected_pg.json").read_text())["all_types"],
    "mariadb": json.loads((RECORDED / "expected_maria.json").read_text())["all_types"],
}
FinalRows = dict[str, dict[int, dict[str, Any]]]
SPECIAL_TEXTS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


@pytest.fixture(scope="module")
def rows() -> FinalRows:
    """The final rows by their id; the one with infinite timestamps, which is refused, left out."""
    found = {}
    for database, messages in TOPICS.items():
        kept = [message for message in messages if b"infinity" not in (message.value or b"")]
        final = final_rows(kept, planned(kept, DIALECTS[database]))
        found[database] = {row["id"]: row for row in final}
    return found


def expected_rows(database: str) -> dict[int, dict[str, Any]]:
    return {int(row["id"]): row for row in EXPECTED[database]}


def as_postgres_shows(value: Any) -> Any:
    """Write a value as row_to_json does."""
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return SPECIAL_TEXTS[str(value)]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, list):
        return [as_postgres_shows(item) for item in value]
    return value


def parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def bits(value: bytes | None) -> Any:
    return None if value is None else int.from_bytes(value, "big")


def number(text: str | None) -> Any:
    return None if text is None else int(text, 2)


def text_of(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def as_float(value: Any) -> Any:
    return None if value is None else float(value)


def without_zeros(text: str | None) -> str | None:
    return text.rstrip("0").rstrip(".") if text and "." in text else text


def moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


# How to compare the columns that the database and the message write differently: ours, theirs.
Comparison = tuple[Callable[[Any], Any], Callable[[Any], Any]]
POSTGRES_FORMS: dict[str, Comparison] = {
    **dict.fromkeys(
        ("c_num_10_2", "c_num_38_10", "c_num_noscale", "c_num_5_0", "c_price"),
        (as_float, as_float),
    ),
    **dict.fromkeys(("c_time", "c_time3"), (without_zeros, without_zeros)),
    **dict.fromkeys(("c_json", "c_jsonb", "c_hstore"), (parsed, lambda value: value)),
    **dict.fromkeys(("c_bit8", "c_varbit"), (bits, number)),
    **dict.fromkeys(("c_tsquery", "c_int4multi", "c_pg_lsn"), (text_of, lambda value: value)),
    **dict.fromkeys(("c_ts3", "c_tstz3"), (lambda value: value, moment)),
    "c_num_arr": (lambda v: v and [float(item) for item in v], lambda v: v),
    "c_jsonb_arr": (lambda v: v and [parsed(item) for item in v], lambda v: v),
    "c_bit1": (lambda v: v, lambda text: None if text is None else text == "1"),
    "c_point": (
        lambda v: v and f"({v['x']},{v['y']})",
        lambda v: v,
    ),
    "c_money": (
        lambda v: v,
        lambda text: text and Decimal(text.replace("$", "").replace(",", "")),
    ),
    "c_oid": (lambda v: None if v is None else str(v), lambda v: v),
}
# Debezium itself sends these differently or not at all.
POSTGRES_UNLIKE = {
    *("c_timetz", "c_interval", "c_gen", "c_int_arr2"),
    *("c_line", "c_box", "c_circle", "c_poly", "c_composite"),
}


@pytest.mark.parametrize("row_id", [1, 4, 20])
def test_every_postgres_type_has_the_databases_value(row_id: int, rows: FinalRows) -> None:
    row = rows["postgres"][row_id]
    wanted = expected_rows("postgres")[row_id]

    same = (as_postgres_shows, lambda value: value)
    differing = {}
    for name in wanted.keys() - POSTGRES_UNLIKE:
        ours, theirs = POSTGRES_FORMS.get(name, same)
        if ours(row[name]) != theirs(wanted[name]):
            differing[name] = (row[name], wanted[name])

    assert differing == {}


def test_postgres_decimals_keep_every_digit(
    rows: FinalRows,
) -> None:
    assert rows["postgres"][20]["c_num_38_10"] == Decimal("1234567890123456789012345678.0123456789")
    assert rows["postgres"][4]["c_num_noscale"] == "-12345678901234567890123456789.987654321"
    assert rows["postgres"][4]["c_num_38_10"] == Decimal("-0.0000000001")


def as_mariadb_shows(value: Any) -> Any:
    """Write a value as the client's text protocol does, binary columns in hexadecimal."""
    if isinstance(value, bytes):
        return value.hex().upper()
    if hasattr(value, "isoformat"):
        return (
            value.replace(tzinfo=None).isoformat(sep=" ") if hasattr(value, "hour") else str(value)
        )
    return None if value is None else str(value)


def whole_hexadecimal(text: str | None) -> Any:
    return None if text is None else int(text, 16)


MARIADB_FORMS: dict[str, Comparison] = {
    **dict.fromkeys(("c_float", "c_double"), (as_float, as_float)),
    **dict.fromkeys(("c_time", "c_time3", "c_time6"), (without_zeros, without_zeros)),
    **dict.fromkeys(("c_bit8", "c_bit20", "c_bit64"), (bits, whole_hexadecimal)),
    **dict.fromkeys(
        ("c_dt1", "c_dt3", "c_ts3"),
        (lambda v: v and without_zeros(as_mariadb_shows(v)), lambda v: v),
    ),
    "c_bit1": (lambda v: None if v is None else str(int(v)), lambda v: v),
    "c_intz": (lambda v: v, lambda text: None if text is None else int(text)),
    "c_dec65": (lambda v: v, lambda v: v),
}
# Sent as a signed number, shortened by the client, or sent as a struct of well-known binary.
MARIADB_UNLIKE = {"c_bigu", "c_float72", "c_point", "c_geom", "c_line", "c_poly"}


@pytest.mark.parametrize("row_id", [1, 4, 20])
def test_every_mariadb_type_has_the_databases_value(row_id: int, rows: FinalRows) -> None:
    row = rows["mariadb"][row_id]
    wanted = expected_rows("mariadb")[row_id]

    same = (as_mariadb_shows, lambda value: value)
    differing = {}
    for name in wanted.keys() - MARIADB_UNLIKE:
        ours, theirs = MARIADB_FORMS.get(name, same)
        shown = ours(row[name])
        if name == "c_float":
            shown = None if shown is None else float(f"{shown:.6g}")
        if shown != theirs(wanted[name]):
            differing[name] = (row[name], wanted[name])

    assert differing == {}


def test_mariadb_decimals_beyond_38_digits_keep_every_digit_as_text(
    rows: FinalRows,
) -> None:
    wanted = expected_rows("mariadb")

    assert rows["mariadb"][20]["c_dec65"] == wanted[20]["c_dec65"]
    assert rows["mariadb"][4]["c_dec65"] == "-0.000000000000000000000000000001"
