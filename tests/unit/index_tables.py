"""Tables of real Parquet files, whose rows by key are also known by brute force."""

import math
import random
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from cdc.index import Found, KeyIndex
from cdc.model import LiveFile, lane_of

Key = tuple[Any, ...]
FLAG = pa.field("_mirror_current", pa.bool_(), metadata={"PARQUET:field_id": "90"})
EXTRA = pa.field("note", pa.string(), metadata={"PARQUET:field_id": "91"})
CLOCK = datetime(2024, 2, 29, 12, tzinfo=UTC)


def column(number: int, kind: pa.DataType, nullable: bool = False) -> pa.Field:
    """Make a key column, named after its field id."""
    return pa.field(f"k{number}", kind, nullable, metadata={"PARQUET:field_id": str(number)})


def open_file(path: str) -> pa.NativeFile:
    return pafs.LocalFileSystem().open_input_file(path)


# Key columns, and some values of each that are easily mixed up.
INTS = [0, 1, -1, 2, 7, 255, 256, 65536, 2**31 - 1, -(2**31), *range(100, 130)]
LONGS = [*INTS, 2**32, 2**32 + 1, 2**63 - 1, -(2**63)]
TEXTS = ["", "a", "b", "ab", "abc", "abcd", "abcde", "\0", "\0\0", "\0\0\0\0", "é", "x" * 300]
TEXTS += [f"key-{i:032d}" for i in range(30)]
FLOATS = [0.0, -0.0, 1.5, -1.5, math.nan, math.inf, -math.inf, *map(float, range(20, 40))]
MONEY = [Decimal(n).scaleb(-2) for n in (0, 1, -1, 100, 99999999, -99999999, *range(20, 40))]
WIDE = [Decimal(n).scaleb(-10) for n in (0, 1, -1, 10**37, -(10**37), 2**64, 2**96, *range(9, 30))]
DAYS = [date(1970, 1, 1), date(1969, 12, 31), *(date(2024, 1, d) for d in range(1, 29))]
TIMES = [time(0), time(23, 59, 59, 999999), *(time(1, m, 0, m) for m in range(30))]
MOMENTS = [CLOCK, *(CLOCK.replace(minute=m, microsecond=m * 7) for m in range(40))]
UUIDS = [uuid.UUID(int=i * 2**61).bytes for i in range(30)]
NULLS: list[Any] = [None]

KEYS: dict[str, tuple[list[pa.Field], list[list[Any]]]] = {
    "int": ([column(1, pa.int32())], [INTS]),
    "long": ([column(1, pa.int64())], [LONGS]),
    "date": ([column(1, pa.date32())], [DAYS]),
    "timestamptz": ([column(1, pa.timestamp("us", "UTC"))], [MOMENTS]),
    "timestamp": (
        [column(1, pa.timestamp("us"))],
        [[moment.replace(tzinfo=None) for moment in MOMENTS]],
    ),
    "string": ([column(1, pa.string())], [TEXTS]),
    "binary": ([column(1, pa.binary())], [[text.encode() for text in TEXTS]]),
    "uuid": ([column(1, pa.binary(16))], [UUIDS]),
    "bool": ([column(1, pa.bool_())], [[True, False]]),
    "float": ([column(1, pa.float32())], [FLOATS]),
    "double": ([column(1, pa.float64())], [[*FLOATS, 0.1, 1e300]]),
    "decimal": ([column(1, pa.decimal128(10, 2))], [MONEY]),
    "wide decimal": ([column(1, pa.decimal128(38, 10))], [WIDE]),
    "time": ([column(1, pa.time64("us"))], [TIMES]),
    "nullable long": ([column(1, pa.int64(), True)], [LONGS + NULLS]),
    "nullable string": ([column(1, pa.string(), True)], [TEXTS + NULLS]),
    "nullable double": ([column(1, pa.float64(), True)], [FLOATS + NULLS]),
    "nullable decimal": ([column(1, pa.decimal128(10, 2), True)], [MONEY + NULLS]),
    "nullable bool": ([column(1, pa.bool_(), True)], [[True, False, None]]),
    "nullable date": ([column(1, pa.date32(), True)], [DAYS + NULLS]),
    "two texts": (
        [column(1, pa.string(), True), column(2, pa.string(), True)],
        [["", "a", "ab", "abc", "c", None], ["", "c", "bc", "b", "a", None]],
    ),
    "int and text": (
        [column(3, pa.int32()), column(1, pa.string())],
        [INTS[:8], TEXTS[:10]],
    ),
    "two ints": ([column(1, pa.int64()), column(2, pa.int32())], [LONGS[:10], INTS[:10]]),
    "date, decimal and bool": (
        [column(1, pa.date32()), column(5, pa.decimal128(10, 2), True), column(9, pa.bool_())],
        [DAYS[:5], MONEY[:4] + NULLS, [True, False]],
    ),
}


def same(key: Key) -> Key:
    """Make keys that are one key to the mirror equal to Python, and those that are not different.

    NaN is one key, and so are 0.0 and -0.0; True is not 1.
    """
    return tuple(
        ("nan",) if isinstance(v, float) and math.isnan(v) else (type(v).__name__, v) for v in key
    )


def table_of(keys: Sequence[Key], fields: Sequence[pa.Field]) -> pa.Table:
    columns = [pa.array([key[i] for key in keys], f.type) for i, f in enumerate(fields)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


@dataclass
class IndexedTable:
    """A table of which brute force knows everything."""

    folder: Path
    fields: list[pa.Field]
    flagged: bool = False
    live: list[LiveFile] = field(default_factory=list)
    sequence: int = 0
    # What each file that was ever written holds, in its order.
    contents: dict[str, list[tuple[Key, bool]]] = field(default_factory=dict)
    index: KeyIndex = field(init=False)

    def __post_init__(self) -> None:
        (self.folder / "data").mkdir(parents=True)
        self.reopen()

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    def reopen(self, **kwargs: Any) -> None:
        """Begin again with another object, as another task does."""
        only = FLAG if self.flagged else None
        schema = pa.schema(self.fields)
        self.index = KeyIndex(str(self.cache), schema, open_file, only=only, **kwargs)

    def write(
        self,
        rows: Sequence[tuple[Key, bool]],
        lane: int | None,
        *,
        add: bool = True,
        groups: int = 7,
    ) -> LiveFile:
        """Write a data file that is not committed yet."""
        name = uuid.uuid4() if lane is None else f"p{lane:05d}-{uuid.uuid4()}"
        path = f"{self.folder}/data/{name}.parquet"
        table = table_of([key for key, _ in rows], self.fields)
        table = table.append_column(EXTRA, pa.array([f"{path} {i}" for i in range(len(rows))]))
        table = table.append_column(FLAG, pa.array([flag for _, flag in rows], pa.bool_()))
        pq.write_table(table, path, row_group_size=groups)
        self.contents[path] = [(same(key), flag) for key, flag in rows]
        if add:
            self.index.add(path, table)
        return LiveFile(path, self.sequence + 1, len(rows), lane_of(path))

    def commit(self, *files: LiveFile, without: Iterable[LiveFile] = ()) -> None:
        self.sequence += 1
        gone = {file.path for file in without}
        kept = [file for file in self.live if file.path not in gone]
        self.live = [*kept, *(replace(file, sequence=self.sequence) for file in files)]

    def find(self, keys: Sequence[Key], lane: int) -> list[tuple[int, str, int]]:
        found = self.index.find(table_of(keys, self.fields), self.live, lane)
        return named(found, self.live)

    def expected(self, keys: Sequence[Key], lane: int) -> list[tuple[int, str, int]]:
        """Find the same by looking at every row of every live file."""
        places: dict[Key, list[tuple[int, str, int]]] = {}
        for file in self.live:
            if file.lane in (lane, None):
                for position, (key, flag) in enumerate(self.contents[file.path]):
                    if flag or not self.flagged:
                        places.setdefault(key, []).append((file.sequence, file.path, position))
        hits = []
        for row, key in enumerate(keys):
            known = places.get(same(key), [])
            newest = max((sequence for sequence, _, _ in known), default=0)
            hits += [(row, path, at) for sequence, path, at in known if sequence == newest]
        return sorted(hits)

    def check(self, keys: Sequence[Key], lane: int) -> None:
        """Ask for keys, each once, and compare."""
        asked = list({same(key): key for key in keys}.values())
        assert self.find(asked, lane) == self.expected(asked, lane)


def named(found: Found, live: Sequence[LiveFile]) -> list[tuple[int, str, int]]:
    hits = zip(found.rows.tolist(), found.files.tolist(), found.positions.tolist(), strict=True)
    return sorted((row, live[file].path, position) for row, file, position in hits)


def every_key(values: Sequence[Sequence[Any]]) -> list[Key]:
    keys: list[Key] = [()]
    for column_values in values:
        keys = [(*key, value) for key in keys for value in column_values]
    return list({same(key): key for key in keys}.values())


def lane_of_key(key: Key, lanes: int) -> int:
    return random.Random(repr(same(key))).randrange(lanes)
