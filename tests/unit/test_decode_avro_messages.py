"""Avro messages split by schema and read as whole columns; a damaged one spoils no other."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cdc.decode import avro_container, avro_messages
from cdc.decode.avro_messages import AvroGroup, split_avro
from cdc.decode.messages import BadMessage, RawColumns
from cdc.decode.registry import SchemaRegistry
from cdc.errors import RegistryUnreachableError
from cdc.model import SourceColumn, SourceType
from tests.unit.avro_datums import (
    ENVELOPE,
    change,
    comparable,
    datums,
    framed,
    group_of,
    raw_change,
)
from tests.unit.registry_server import client_of, serve

MANY = 2000
TEXT, LONG = SourceType("string"), SourceType("int64")
KEY = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}]}


@pytest.fixture(scope="module")
def written() -> list[bytes]:
    return datums(ENVELOPE, map(change, range(MANY)))


@pytest.fixture
def only_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test fail where a message is read by itself."""

    def refuse(*_: object) -> None:
        raise AssertionError("a message was read by itself")

    monkeypatch.setattr(avro_messages._Reading, "_read_singly", refuse)


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.setattr(avro_container, "MEMORY_FOLDER", folder)
    yield
    assert list(folder.iterdir()) == []


def fields_of(group: AvroGroup, *names: str) -> list[SourceColumn]:
    return [field for field in group.type.fields if not names or field.name in names]


def rows_of(read: RawColumns) -> dict[int, Any]:
    """Give what was read by its place, after a look at the table itself."""
    read.table.validate(full=True)
    assert read.indexes.tolist() == sorted(set(read.indexes.tolist()))
    return dict(zip(read.indexes.tolist(), comparable(read.table.to_pylist()), strict=True))


def test_messages_are_split_by_schema_and_keep_their_rows() -> None:
    ids = [7, 9, 7, 7, 9]
    keys = datums(KEY, [{"id": number} for number in range(5)])
    messages = pa.array([framed(id_, key) for id_, key in zip(ids, keys, strict=True)])
    with client_of({7: KEY, 9: {**KEY, "name": "Other"}}) as registry:
        found = list(split_avro(messages, np.arange(5) * 10, registry))

    groups = {group.type.logical: group for group in found if isinstance(group, AvroGroup)}
    assert len(found) == 2
    assert groups["Key"].rows.tolist() == [0, 20, 30]
    assert groups["Other"].rows.tolist() == [10, 40]
    read = groups["Other"].read([SourceColumn("id", LONG)])
    assert read.table.to_pylist() == [{"id": 1}, {"id": 4}]


def test_a_slice_of_messages_is_split_as_well() -> None:
    keys = [framed(7, key) for key in datums(KEY, [{"id": number} for number in range(9)])]
    messages = pa.array([b"\x00\x00\x00\x00\x09??", *keys]).slice(4, 3)
    with client_of({7: KEY}) as registry:
        (group,) = split_avro(messages, np.arange(3), registry)

    assert isinstance(group, AvroGroup)
    assert group.read(fields_of(group)).table.to_pylist() == [{"id": 3}, {"id": 4}, {"id": 5}]


def test_no_messages_are_split_without_asking() -> None:
    registry = SchemaRegistry({"url": "http://127.0.0.1:1"})

    assert list(split_avro(pa.array([], pa.binary()), np.arange(0), registry)) == []


def test_what_names_no_known_schema_is_bad_by_itself() -> None:
    good = framed(7, datums(KEY, [{"id": 1}])[0])
    messages = pa.array([b"\x00", good, framed(8, b"\x02"), b"\x00\x00\x00\x07", framed(9, b"x")])
    with serve() as server:
        server.add(7, KEY)
        server.add(9, "syntax = 'proto3';", schemaType="PROTOBUF")
        found = list(split_avro(messages, np.arange(5), SchemaRegistry({"url": server.url})))

    bad = {item.row: item.reason for item in found if isinstance(item, BadMessage)}
    assert bad.keys() == {0, 2, 3, 4}
    assert "8" in bad[2]
    assert "PROTOBUF" in bad[4]
    assert [item.rows.tolist() for item in found if isinstance(item, AvroGroup)] == [[1]]


def test_messages_that_are_all_too_short_are_all_bad() -> None:
    registry = SchemaRegistry({"url": "http://127.0.0.1:1"})

    found = list(split_avro(pa.array([b"\x00", b"\x00\x00"]), np.array([4, 9]), registry))

    assert [item.row for item in found if isinstance(item, BadMessage)] == [4, 9]


def test_messages_wait_for_a_registry_that_does_not_answer() -> None:
    with serve() as server:
        server.failure = (503, b"")
        messages = pa.array([framed(7, b"\x02")])

        with pytest.raises(RegistryUnreachableError):
            list(split_avro(messages, np.arange(1), SchemaRegistry({"url": server.url})))


def test_whole_columns_are_read_as_they_were_written(written: list[bytes], only_fast: None) -> None:
    group = group_of(ENVELOPE, written)

    rows = rows_of(group.read(fields_of(group)))

    assert rows == {number: change(number) for number in range(MANY)}


@pytest.mark.parametrize("count", [1, avro_messages.FEW, avro_messages.FEW + 1])
def test_few_messages_are_read_the_same(written: list[bytes], count: int) -> None:
    group = group_of(ENVELOPE, written[:count])

    rows = rows_of(group.read(fields_of(group)))

    assert rows == {number: change(number) for number in range(count)}


@pytest.mark.parametrize("count", [5, 200])
def test_raw_columns_have_the_types_of_the_contract(written: list[bytes], count: int) -> None:
    group = group_of(ENVELOPE, written[:count])

    table = group.read(fields_of(group, "after", "op")).table

    after = pa.struct(
        [
            ("id", pa.int64()),
            ("note", pa.string()),
            ("amount", pa.binary()),
            ("open", pa.bool_()),
            ("tags", pa.list_(pa.string())),
            ("weight", pa.float64()),
            ("size", pa.string()),
        ]
    )
    assert table.schema == pa.schema([("after", after), ("op", pa.string())])


@pytest.mark.parametrize("count", [5, 200])
def test_only_what_is_asked_for_is_given(written: list[bytes], count: int) -> None:
    source = SourceType("struct", fields=(SourceColumn("lsn", LONG), SourceColumn("gtid", TEXT)))
    after = SourceType("struct", fields=(SourceColumn("gone", LONG), SourceColumn("id", LONG)))
    fields = [
        SourceColumn("ts_ms", LONG),
        SourceColumn("after", after),
        SourceColumn("source", source),
        SourceColumn("transaction", SourceType("struct", fields=(SourceColumn("id", TEXT),))),
    ]

    rows = rows_of(group_of(ENVELOPE, written[:count]).read(fields))

    assert rows[1] == {
        "ts_ms": None,
        "after": {"gone": None, "id": 1},
        "source": {"lsn": 8, "gtid": None},
        "transaction": None,
    }
    assert rows[3]["after"] is None
    assert len(rows) == count


@pytest.mark.parametrize("count", [5, 200])
def test_a_struct_may_be_asked_for_without_its_members(written: list[bytes], count: int) -> None:
    empty = SourceType("struct")
    fields = [SourceColumn("after", empty), SourceColumn("source", empty)]

    rows = rows_of(group_of(ENVELOPE, written[:count]).read(fields))

    assert [rows[number]["after"] for number in (0, 3)] == [{}, None]
    assert rows[0]["source"] == {}


@pytest.mark.parametrize("count", [5, 200])
def test_a_number_may_be_asked_for_as_a_wider_one(count: int) -> None:
    block = {
        "type": "record",
        "name": "Row",
        "fields": [{"name": "small", "type": "int"}, {"name": "rough", "type": ["null", "float"]}],
    }
    values = [{"small": number, "rough": 0.5} for number in range(count)]
    fields = [SourceColumn("small", LONG), SourceColumn("rough", SourceType("double"))]

    table = group_of(block, datums(block, values)).read(fields).table

    assert table.schema.types == [pa.int64(), pa.float64()]
    assert table.to_pylist() == values


@pytest.mark.parametrize("count", [5, 200])
@pytest.mark.parametrize(
    ("field", "path"),
    [
        (SourceColumn("op", LONG), "op"),
        (SourceColumn("op", SourceType("struct")), "op"),
        (SourceColumn("source", TEXT), "source"),
        (SourceColumn("source", SourceType("struct", fields=(SourceColumn("lsn", TEXT),))), "lsn"),
        (
            SourceColumn(
                "after",
                SourceType(
                    "struct",
                    fields=(SourceColumn("tags", SourceType("array", element=LONG)),),
                ),
            ),
            "after.tags[]",
        ),
    ],
)
def test_a_field_that_was_written_as_something_else_is_refused(
    written: list[bytes], count: int, field: SourceColumn, path: str
) -> None:
    read = group_of(ENVELOPE, written[:count]).read([field])

    assert read.table.num_rows == 0
    assert [message.row for message in read.bad_messages] == list(range(count))
    assert path in read.bad_messages[0].reason


# What may happen to one message of thousands, and to no other.
def cut(datum: bytes, chance: random.Random) -> bytes:
    return datum[: chance.randrange(len(datum))]


def extended(datum: bytes, chance: random.Random) -> bytes:
    return datum + chance.randbytes(chance.randint(1, 40))


def doubled(datum: bytes, chance: random.Random) -> bytes:
    return datum + datum


def emptied(datum: bytes, chance: random.Random) -> bytes:
    return b""


def flipped(datum: bytes, chance: random.Random) -> bytes:
    changed = bytearray(datum)
    for _ in range(chance.choice((1, 1, 1, 4))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


HUGE = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # as a length: 2^63 - 1


def inflated(datum: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(datum))
    return datum[:place] + chance.choice((HUGE, b"\xfe\xff\xff\xff\x0f")) + datum[place + 1 :]


def without_utf8(datum: bytes, chance: random.Random) -> bytes:
    return datum.replace(b"orders", b"ord\xffrs")


@pytest.mark.parametrize(
    "damage", [cut, extended, doubled, emptied, flipped, inflated, without_utf8]
)
def test_a_damaged_message_leaves_its_neighbours_exact(written: list[bytes], damage: Any) -> None:
    chance = random.Random(f"{damage.__name__}")
    group = group_of(ENVELOPE, written)
    clean = group.read(fields_of(group)).table
    for attempt in range(12):
        place = [0, MANY - 1][attempt] if attempt < 2 else chance.randrange(MANY)
        messages = [*written]
        messages[place] = damage(messages[place], chance)
        damaged = group_of(ENVELOPE, messages)

        read = damaged.read(fields_of(damaged))

        others = read.table.filter(pa.array(read.indexes != place))
        assert others.equals(clean.filter(pa.array(np.arange(MANY) != place)))
        assert {*read.indexes.tolist(), *(bad.row for bad in read.bad_messages)} == set(range(MANY))
        if damage not in (flipped, inflated):  # these may leave another value that is a good one
            assert [bad.row for bad in read.bad_messages] == [place]


@pytest.mark.parametrize("share", [3, 50, 700])
def test_many_damaged_messages_leave_the_others_exact(written: list[bytes], share: int) -> None:
    chance = random.Random(share)
    places = {*range(0, MANY, share), MANY - 1, MANY - 2}
    messages = [cut(m, chance) if n in places else m for n, m in enumerate(written)]
    group = group_of(ENVELOPE, messages)

    read = group.read(fields_of(group, "after", "op"))

    assert {bad.row for bad in read.bad_messages} == places
    assert rows_of(read) == {
        number: raw_change(number, "after", "op") for number in range(MANY) if number not in places
    }


def test_messages_that_are_all_damaged_are_all_named() -> None:
    group = group_of(ENVELOPE, [random.Random(n).randbytes(60) for n in range(MANY)])

    read = group.read(fields_of(group))

    assert len(read.bad_messages) + len(read.indexes) == MANY
    assert len(read.bad_messages) > MANY * 0.9


def test_a_symbol_beyond_the_enum_is_bad_and_not_another_one() -> None:
    block = {
        "type": "record",
        "name": "Row",
        "fields": [
            {"name": "size", "type": {"type": "enum", "name": "Size", "symbols": ["S", "M"]}}
        ],
    }
    written = [b"\x00", b"\x02"] * 100
    written[50], written[70] = b"\x04", b"\x01"

    read = group_of(block, written).read([SourceColumn("size", TEXT)])

    assert [bad.row for bad in read.bad_messages] == [50, 70]
    assert read.table.to_pylist() == [
        {"size": "SM"[number % 2]} for number in range(200) if number not in (50, 70)
    ]


def test_text_that_is_not_utf8_is_bad_and_not_mended(written: list[bytes]) -> None:
    messages = [*written]
    messages[78] = messages[78].replace(b"note 78", b"note \xff8")
    group = group_of(ENVELOPE, messages)

    read = group.read(fields_of(group))

    assert [(bad.row, "UTF-8" in bad.reason) for bad in read.bad_messages] == [(78, True)]


def test_what_the_fast_reader_panics_over_is_read_singly(
    written: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicError(BaseException):
        pass

    def panic(*_: object) -> None:
        raise PanicError

    monkeypatch.setattr("datafusion.SessionContext.read_avro", panic)
    group = group_of(ENVELOPE, written[:100])

    rows = rows_of(group.read(fields_of(group)))

    assert rows == {number: change(number) for number in range(100)}


@pytest.mark.parametrize("bytes_at_once", [1, 5000])
def test_messages_too_many_for_one_file_are_read_in_several(
    written: list[bytes], monkeypatch: pytest.MonkeyPatch, bytes_at_once: int, only_fast: None
) -> None:
    monkeypatch.setattr(avro_messages, "MOST_BYTES", bytes_at_once)
    monkeypatch.setattr(avro_messages, "FEW", 0)
    group = group_of(ENVELOPE, written[:300])

    rows = rows_of(group.read(fields_of(group, "source", "op")))

    assert rows == {number: raw_change(number, "source", "op") for number in range(300)}


@pytest.mark.parametrize("folder", ["", "/no/such/folder"])
def test_files_go_to_the_temporary_folder_where_memory_has_no_room(
    written: list[bytes], folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(avro_container, "MEMORY_FOLDER", Path(folder or tmp_path))
    if not folder:
        monkeypatch.setattr("shutil.disk_usage", lambda _: _Full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    seen = []
    query = avro_container._query

    def seeing(path: Path, columns: list[str], rows: int) -> pa.Table:
        seen.append(path.parent)
        return query(path, columns, rows)

    monkeypatch.setattr(avro_container, "_query", seeing)
    group = group_of(ENVELOPE, written)

    assert group.read(fields_of(group)).table.num_rows == MANY

    assert seen == [tmp_path / "temporary"]
    assert not list((tmp_path / "temporary").iterdir())


class _Full:
    free = 0


def test_a_file_that_a_killed_process_left_is_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(avro_container, "MEMORY_FOLDER", tmp_path)
    old, new = (
        tmp_path / f"{avro_container.PREFIX}1.avro",
        tmp_path / f"{avro_container.PREFIX}2.avro",
    )
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))

    avro_container._remove_stale.__wrapped__()

    assert [path for path in (old, new) if path.exists()] == [new]


FORKING = """
import os, signal
from tests.unit.avro_datums import ENVELOPE, change, datums, group_of

def read():
    group = group_of(ENVELOPE, datums(ENVELOPE, map(change, range(100))))
    return group.read(group.type.fields).table.num_rows

assert read() == 100
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(read())
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_process_forked_from_one_that_has_read_reads_as_well() -> None:
    root = Path(__file__).parents[2]

    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKING], cwd=root)

    assert done.returncode == 100
