"""Changes of every database come out as the right rows, one test for all of them.

The messages are made from Debezium's documentation, not recorded: see connector_messages.py.
"""

import itertools
import json
from dataclasses import replace

import pyarrow as pa
import pytest

from cdc.decode import decode_changes
from cdc.dialect import Dialect
from cdc.errors import NoKeyError
from cdc.model import OP, POSITION
from connectors import DIALECTS
from tests.unit.connector_messages import (
    ANNE,
    document_event,
    event,
    life_of_rows,
    tombstone,
    unwrapped,
    without_schemas,
)
from tests.unit.connector_sources import SOURCES
from tests.unit.messages import arrays, column, final_rows, planned

MONGODB = DIALECTS["mongodb"]
TRUNCATES = ("postgres", "mysql", "mariadb", "oracle")
every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))


@every_dialect
def test_snapshot_insert_update_delete_and_key_change_leave_the_right_rows(
    dialect: Dialect,
) -> None:
    messages, expected = life_of_rows(dialect.name)

    assert final_rows(messages, planned(messages, dialect)) == expected


@every_dialect
def test_messages_without_schemas_leave_the_same_rows_of_the_same_table(dialect: Dialect) -> None:
    messages, expected = life_of_rows(dialect.name)
    bare = [without_schemas(message) for message in messages]

    plan = planned(bare, dialect)

    assert final_rows(bare, plan) == expected
    assert decode_changes(0, *arrays(bare), plan).table == SOURCES[dialect.name].table


@every_dialect
def test_a_change_belongs_to_its_table(dialect: Dialect) -> None:
    messages, _ = life_of_rows(dialect.name)

    decoded = decode_changes(0, *arrays(messages), planned(messages, dialect))

    assert decoded.table == SOURCES[dialect.name].table
    assert messages[0].topic == SOURCES[dialect.name].topic


@every_dialect
def test_a_topics_name_says_which_table_it_is(dialect: Dialect) -> None:
    source = SOURCES[dialect.name]

    parts = [getattr(source.table, part) for part in dialect.topic_parts]

    assert source.topic == ".".join([source.table.server, *parts])


@every_dialect
def test_tombstones_are_counted_and_make_no_change(dialect: Dialect) -> None:
    messages, _ = life_of_rows(dialect.name)

    decoded = decode_changes(0, *arrays(messages), planned(messages, dialect))

    tombstones = sum(message.value is None for message in messages)
    assert tombstones > 0
    assert decoded.tombstones == tombstones
    assert sum(map(len, decoded.changes)) == len(messages) - tombstones


@every_dialect
def test_the_positions_of_streamed_changes_rise(dialect: Dialect) -> None:
    messages, _ = life_of_rows(dialect.name)

    decoded = decode_changes(0, *arrays(messages), planned(messages, dialect))
    changes = pa.concat_tables(decoded.changes)
    found = changes[POSITION].to_pylist()

    assert all(earlier < later for earlier, later in itertools.pairwise(found))
    assert (changes[OP][0].as_py(), found[0] >= 0) == ("r", True)


@every_dialect
def test_a_redelivered_change_keeps_its_position(dialect: Dialect) -> None:
    _, insert, *_ = life_of_rows(dialect.name)[0]

    decoded = decode_changes(0, *arrays([insert, insert]), planned([insert], dialect))

    assert len(set(pa.concat_tables(decoded.changes)[POSITION].to_pylist())) == 1


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "mongodb"])
def test_rows_without_their_envelope_are_the_same_rows_of_the_same_table(name: str) -> None:
    messages, expected = life_of_rows(name)
    flat = [unwrapped(message) for message in messages]

    plan = planned(flat, DIALECTS[name])
    table = decode_changes(0, *arrays(flat), plan).table

    assert final_rows(flat, plan) == expected
    assert table is not None
    assert (table.schema, table.table) == (SOURCES[name].table.schema, SOURCES[name].table.table)


def test_a_document_taken_apart_is_refused_since_its_key_is_none_of_its_fields() -> None:
    # ExtractNewDocumentState names the key id and the same field of the row _id.
    flat = [column("_id", "int32"), column("name", "string"), column("__op", "string")]
    block = {"type": "struct", "fields": flat, "optional": False, "name": "s.db.coll"}
    value = {"schema": block, "payload": {"_id": 1, "name": "a", "__op": "c"}}
    text = json.dumps(value, separators=(",", ":")).encode()
    message = replace(document_event("c", 1, "1", after="{}"), value=text)

    with pytest.raises(NoKeyError):
        planned([message], MONGODB)


@pytest.mark.parametrize("name", TRUNCATES)
def test_a_truncate_leaves_no_row_before_it(name: str) -> None:
    later = {**ANNE, "id": 9}
    messages = [
        event(name, "r", 1, after=ANNE),
        event(name, "t", 2),
        event(name, "c", 3, after=later),
    ]

    assert final_rows(messages, planned(messages, DIALECTS[name])) == [later]


def test_a_document_is_kept_as_its_text() -> None:
    text = '{"_id": 1, "price": {"$numberDecimal": "1.10"}, "é": NaN, "deep": [[{"a": null}]]}'
    messages = [document_event("c", 1, "1", after=text)]

    (row,) = final_rows(messages, planned(messages, MONGODB))

    assert row == {"id": "1", "document": text}


@pytest.mark.parametrize(
    "id_",
    ["1004", '"1004"', '{"$oid": "596e275826f08b2730779e1f"}', '{"a": 1,"b": "x"}', "1.5", "null"],
)
def test_documents_are_told_apart_by_the_text_of_their_id(id_: str) -> None:
    other = document_event("c", 1, "1", after='{"_id": 1}')
    kept = document_event("c", 2, id_, after="{}")
    deleted = document_event("d", 3, "1")
    messages = [other, kept, deleted, tombstone(deleted)]

    assert final_rows(messages, planned(messages, MONGODB)) == [{"id": id_, "document": "{}"}]


def test_an_update_without_its_document_is_rejected_and_says_what_to_set() -> None:
    whole = document_event("c", 1, "1", after='{"_id": 1}')
    partial = document_event("u", 2, "1", updated='{"first_name": "Anne"}')

    decoded = decode_changes(0, *arrays([whole, partial]), planned([whole], MONGODB))

    (bad,) = decoded.bad_records
    assert bad.offset == 2
    assert "capture.mode" in bad.reason
    assert sum(map(len, decoded.changes)) == 1


def test_an_image_of_a_document_before_its_change_is_no_row() -> None:
    messages = [
        document_event("c", 1, "1", after='{"_id": 1}'),
        document_event("c", 2, "2", after='{"_id": 2}'),
        document_event("u", 3, "1", before='{"_id": 1}', after='{"_id": 1,"a": 2}'),
        document_event("d", 4, "2", before='{"_id": 2}'),
    ]

    rows = final_rows(messages, planned(messages, MONGODB))

    assert rows == [{"id": "1", "document": '{"_id": 1,"a": 2}'}]
