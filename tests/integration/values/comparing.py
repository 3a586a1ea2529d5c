"""The mirror's values against what the source says they should be, one by one."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import SparkSession

from tests.integration.values.cells import ABSENT, NULL, Reading, Setup, Table, Tally

SHOWN = 200  # characters of a value in a report


@dataclass(frozen=True, slots=True)
class Expected:
    """What one value should be, what it lost before it came here, and whether it is refused."""

    value: Any
    why_lost: str | None
    rejected: bool


# By the key of the row and the name of the column.
Expectations = Mapping[tuple[int, str], Expected]


def select(table: Table, setup: Setup, quote: str) -> str:
    """Render what the source is asked for; `expectations` reads the rows."""
    parts = ["id"]
    for column in table.columns:
        name, reading = f"{quote}{column.name}{quote}", column.reading(setup)
        parts += [reading.expected_sql(name), reading.fate_sql(name)]
    return ", ".join(parts)


def expectations(table: Table, setup: Setup, rows: Iterable[Sequence[Any]]) -> Expectations:
    """Take apart rows of a key, then a value and its fate for each column."""
    readings: dict[str, Reading] = {c.name: c.reading(setup) for c in table.columns}
    found = {}
    for key, *cells in rows:
        for place, (name, reading) in enumerate(readings.items()):
            value, fate = reading.finish(cells[2 * place]), int(cells[2 * place + 1])
            why = reading.losses[fate - 1].why if fate > 0 else None
            found[key, name] = Expected(value, why, rejected=fate < 0)
    return found


class Comparison:
    """Compares the mirrors of one run, counts their cells, and collects the differences."""

    def __init__(self, spark: SparkSession, quarantine: str) -> None:
        self._spark = spark
        self._quarantine = quarantine
        self.tally = Tally()
        self.differences: list[str] = []

    def compare(
        self, mirror: str, topic: str, table: Table, setup: Setup, want: Expectations
    ) -> None:
        """Compare a mirrored table with what the source says of it."""
        frame = self._spark.table(mirror)
        self._compare_types(dict(frame.dtypes), table, setup)
        rows = frame.toArrow()
        mirrored = plain_rows(rows)
        if rows.num_rows != len(mirrored):
            self._differ(setup, table.name, f"{rows.num_rows} rows of {len(mirrored)} keys")
        quarantined = self._quarantined(topic, table)
        for key, edges in table.all_rows().items():
            row = mirrored.pop(key, None)
            refused = [column for column in table.columns if want[key, column.name].rejected]
            for column in refused:
                self.tally.add(column, edges[column.name], setup, rejected=True)
                # A refused update leaves the row as it was, which is null.
                applied = row is not None and row[column.name] is not None
                if applied or column.name not in quarantined.pop(key, ""):
                    self._differ(setup, column.title, f"{edges[column.name]}: is not quarantined")
            for column in () if refused else table.columns:
                edge, wanted = edges.get(column.name, NULL), want[key, column.name]
                self.tally.add(column, edge, setup, why_lost=wanted.why_lost)
                value = row.get(column.name) if row is not None else "no row at all"
                if not same(value, wanted.value):
                    told = f"{edge} ({key}): {_shown(value)}, not {_shown(wanted.value)}"
                    self._differ(setup, column.title, told)
            if table.keyed and row is not None and row["changes"] != 1:
                self._differ(setup, table.name, f"row {key} has missed its update")
        for key in mirrored:
            self._differ(setup, table.name, f"row {key} is not at the source")
        for key, reason in quarantined.items():
            self._differ(setup, table.name, f"row {key} is quarantined: {reason}")

    def compare_readers(self, mirror: str, other: pa.Table, setup: Setup) -> None:
        """Compare what Spark reads from a mirror with what another reader does."""
        ours, theirs = plain_rows(self._spark.table(mirror).toArrow()), plain_rows(other)
        if ours.keys() != theirs.keys():
            self._differ(setup, mirror, f"{len(ours)} rows in Spark, {len(theirs)} elsewhere")
        for key in ours.keys() & theirs.keys():
            for name, value in ours[key].items():
                if not same(value, theirs[key].get(name)):
                    told = f"{_shown(value)} in Spark, {_shown(theirs[key].get(name))} elsewhere"
                    self._differ(setup, name, f"({key}): {told}")

    def _compare_types(self, types: Mapping[str, str], table: Table, setup: Setup) -> None:
        for column in table.columns:
            found, wanted = types.get(column.name, ABSENT), column.reading(setup).type
            if found != wanted:
                self._differ(setup, column.title, f"its type is {found}, not {wanted}")

    def _quarantined(self, topic: str, table: Table) -> dict[int, str]:
        """Give the reasons of the records in the quarantine, by the keys of their rows."""
        if not self._spark.catalog.tableExists(self._quarantine):
            return {}
        keys = table.keys_in_order()
        found = self._spark.table(self._quarantine).where(F.col("topic") == topic)
        return {keys[row["offset"]]: row["reason"] for row in found.collect()}

    def _differ(self, setup: Setup, what: str, how: str) -> None:
        self.differences.append(f"{setup.name} {what}: {how}")


def plain_rows(table: pa.Table) -> dict[int, dict[str, Any]]:
    """Give the rows of a table by their keys."""
    return {row["id"]: row for row in plain_values(table.to_struct_array())}


def plain_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Give values that Python compares without rounding: moments as numbers, decimals as text."""
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    kind = column.type
    if pa.types.is_map(kind):
        keys = [plain_values(one.values.field(0)) if one.is_valid else None for one in column]
        items = [plain_values(one.values.field(1)) if one.is_valid else None for one in column]
        return [
            None if k is None or i is None else dict(zip(k, i, strict=True))
            for k, i in zip(keys, items, strict=True)
        ]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [plain_values(one.values) if one.is_valid else None for one in column]
    if pa.types.is_struct(kind):
        names = [member.name for member in kind]
        members = [plain_values(column.field(place)) for place in range(kind.num_fields)]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*members, strict=True)]
        return [row if one.is_valid else None for row, one in zip(rows, column, strict=True)]
    if pa.types.is_date(kind):
        return list(column.cast(pa.int32()).to_pylist())
    if pa.types.is_timestamp(kind):
        return list(column.cast(pa.int64()).to_pylist())
    if pa.types.is_decimal(kind):
        return [None if value is None else format(value, "f") for value in column.to_pylist()]
    return list(column.to_pylist())


def same(one: Any, other: Any) -> bool:
    """Say whether two values are one and the same: 1 is not 1.0, and -0.0 is not 0.0."""
    if isinstance(one, float) and isinstance(other, float):
        return (one != one and other != other) or struct.pack("d", one) == struct.pack("d", other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
