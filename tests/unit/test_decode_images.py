"""Rows as they were before a change: keys that the config names, and what deletes carry."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from cdc.collapse import collapse
from cdc.config import ApplyMode, ResolvedRule
from cdc.decode import DecodedChanges, DecodePlan, Wire, decode_changes
from cdc.model import MISSING, NO_POSITION, OFFSET, OP, POSITION, TIME
from cdc.model.column_types import known_columns
from cdc.schema import guessable_columns, iceberg_schema, mirror_columns
from connectors import DIALECTS
from tests.unit.avro_messages import AvroTopic
from tests.unit.connector_messages import document_event, unwrapped
from tests.unit.messages import (
    Message,
    Row,
    Table,
    arrays,
    change,
    column,
    decimal,
    decimal_column,
    delete,
    insert,
    plan_of,
    tombstone,
    truncate,
    without_schemas,
)
from tests.unit.registry_server import served

POSTGRES = DIALECTS["postgres"]
COLUMNS = (
    column("code", "string"),
    column("part", "int32", optional=False),
    column("note", "string"),
)
KEYLESS = Table(COLUMNS, key=())
KEYED = Table((column("id", "int64", optional=False), *COLUMNS), key=("id",))
BY_CODE = ResolvedRule(key=("code", "part"))
APPEND = ResolvedRule(mode=ApplyMode.APPEND)
A: dict[str, Any] = {"code": "a", "part": 1, "note": "first"}


def updated(before: Row | None, after: Row, **where: Any) -> Message:
    return change("u", before, after, **where)


class Topic:
    """Messages of one table in one wire format, and the plan for them."""

    def __init__(self, form: str) -> None:
        self.form, self.avro = form, AvroTopic()

    def written(self, messages: list[Message]) -> list[Message]:
        if self.form == "json":
            return messages
        if self.form == "schemaless":
            return [without_schemas(message) for message in messages]
        return [self.avro.write(message) for message in messages]

    def decode(
        self, messages: list[Message], rule: ResolvedRule, **more: Any
    ) -> tuple[DecodedChanges, DecodePlan]:
        """Decode with a plan as after the table was made; `more` changes that table."""
        messages = self.written(messages)
        topic = messages[0].topic
        with served(self.avro.schemas) as url:
            wire = Wire(registry={"url": url})
            unplanned = DecodePlan(topic, POSTGRES, wire)
            met = decode_changes(0, *arrays(messages), unplanned).new_schemas
            plan = replace(plan_of(topic, met, POSTGRES, rule), wire=wire)
            assert plan.table is not None
            plan = replace(plan, table=replace(plan.table, **more))
            if self.form == "schemaless":
                table = iceberg_schema(mirror_columns(met[0], topic, POSTGRES, rule), rule)
                plan = replace(plan, columns=known_columns(inferred=guessable_columns(table)))
            return decode_changes(0, *arrays(messages), plan), plan


@pytest.fixture(params=["json", "schemaless", "avro"])
def topic(request: pytest.FixtureRequest) -> Topic:
    return Topic(request.param)


@pytest.fixture
def json_topic() -> Topic:
    return Topic("json")


def rows_of(decoded: DecodedChanges, *names: str) -> list[tuple[Any, ...]]:
    """Give the changes in the order in which they count."""
    changes = pa.concat_tables(decoded.changes, promote_options="default")
    rows = sorted(changes.to_pylist(), key=lambda row: row[OFFSET])  # stable
    return [tuple(row[name] for name in (OFFSET, OP, *names)) for row in rows]


def test_a_table_without_a_key_has_the_one_that_the_config_names(topic: Topic) -> None:
    messages = [
        insert(A, table=KEYLESS, offset=1),
        updated(A, {**A, "note": "second"}, table=KEYLESS, offset=2),
        delete({**A, "note": "second"}, table=KEYLESS, offset=3),
    ]

    decoded, plan = topic.decode(messages, BY_CODE)

    assert plan.key == ("code", "part")
    assert rows_of(decoded, "code", "part", "note") == [
        (1, "c", "a", 1, "first"),
        (2, "u", "a", 1, "second"),
        (3, "d", "a", 1, None),
    ]
    assert (decoded.bad_records, decoded.extra) == ((), 0)


def test_an_update_of_the_key_deletes_the_old_one_before_it(topic: Topic) -> None:
    b = {**A, "code": "b"}
    messages = [
        insert(A, table=KEYLESS, offset=1),
        updated(A, b, table=KEYLESS, offset=2),
        updated(b, {**b, "note": "x"}, table=KEYLESS, offset=3),
        updated(b, {**b, "code": None}, table=KEYLESS, offset=4),
        updated({**b, "code": None}, {**b, "code": None}, table=KEYLESS, offset=5),
    ]

    decoded, plan = topic.decode(messages, BY_CODE)

    assert rows_of(decoded, "code", "part", "note") == [
        (1, "c", "a", 1, "first"),
        (2, "d", "a", 1, None),
        (2, "u", "b", 1, "first"),
        (3, "u", "b", 1, "x"),
        (4, "d", "b", 1, None),
        (4, "u", None, 1, "first"),
        (5, "u", None, 1, "first"),
    ]
    assert decoded.extra == 2
    changes = pa.concat_tables(decoded.changes)
    collapsed = collapse(changes, plan.key, None, empty=False)
    assert collapsed.rows.select(["code", "part"]).to_pylist() == [{"code": None, "part": 1}]
    assert set(collapsed.deleted_keys["code"].to_pylist()) == {"b", None}


def test_two_rows_that_change_places_keep_their_order(json_topic: Topic) -> None:
    b = {**A, "code": "b"}
    messages = [
        updated(A, {**A, "code": "t"}, table=KEYLESS, offset=1),
        updated(b, {**b, "code": "a"}, table=KEYLESS, offset=2),
        updated({**A, "code": "t"}, b, table=KEYLESS, offset=3),
    ]

    decoded, plan = json_topic.decode(messages, BY_CODE)

    changes = pa.concat_tables(decoded.changes)
    collapsed = collapse(changes, plan.key, None, empty=False)
    assert sorted(collapsed.rows["code"].to_pylist()) == ["a", "b"]
    assert set(collapsed.deleted_keys["code"].to_pylist()) == {"a", "b", "t"}


def test_an_update_without_the_row_as_it_was_keeps_its_key(topic: Topic) -> None:
    decoded, _ = topic.decode([updated(None, A, table=KEYLESS, offset=2)], BY_CODE)

    assert rows_of(decoded, "code") == [(2, "u", "a")]
    assert (decoded.bad_records, decoded.extra) == ((), 0)


def test_a_delete_without_the_row_as_it_was_is_refused_with_what_to_do(topic: Topic) -> None:
    messages = [
        insert(A, table=KEYLESS, offset=1),
        change("d", None, None, table=KEYLESS, offset=2),
        delete(A, table=KEYLESS, offset=3),
    ]

    decoded, _ = topic.decode(messages, BY_CODE)

    assert [record.offset for record in decoded.bad_records] == [2]
    assert "which code, part its row had" in decoded.bad_records[0].reason
    assert "REPLICA IDENTITY FULL" in decoded.bad_records[0].reason
    assert "binlog_row_image = FULL" in decoded.bad_records[0].reason
    assert rows_of(decoded, "code") == [(1, "c", "a"), (3, "d", "a")]


def test_a_record_that_is_refused_leaves_no_delete_of_its_old_key(json_topic: Topic) -> None:
    table = Table((*COLUMNS, column("small", "int32")), key=())
    before, after = ({**A, "code": code, "small": 1} for code in "ab")
    good = insert(before, table=table, offset=1)
    moved = updated(before, after, table=table, offset=2)
    assert moved.value is not None
    bad = replace(moved, value=moved.value.replace(b'"small":1}', b'"small":"x"}'))

    decoded, _ = json_topic.decode([good, bad], BY_CODE)

    assert [record.offset for record in decoded.bad_records] == [2]
    assert rows_of(decoded, "code") == [(1, "c", "a")]
    assert decoded.extra == 0


def test_keys_that_moved_are_news_like_all_else_while_a_schema_is_new(json_topic: Topic) -> None:
    wider = Table((*COLUMNS, column("size", "int32")), key=())
    b = {**A, "code": "b"}
    decoded, plan = json_topic.decode([updated(A, b, table=KEYLESS, offset=1)], BY_CODE)
    assert decoded.extra == 1

    messages = [updated(A, b, table=KEYLESS, offset=1), insert(A, table=wider, offset=2)]
    decoded = decode_changes(0, *arrays(messages), plan)

    assert (decoded.changes, decoded.extra) == ((), 0)


class TestATableWhoseRecordsHaveAnotherKey:
    """The config's key wins; what the record's key has of it is still of use."""

    def test_the_key_comes_from_the_row(self, topic: Topic) -> None:
        row = {"id": 5, **A}
        messages = [
            insert(row, table=KEYED, offset=1),
            updated(row, {**row, "code": "b"}, table=KEYED, offset=2),
            delete({**row, "code": "b"}, table=KEYED, offset=3),
        ]

        decoded, _ = topic.decode(messages, BY_CODE)

        assert rows_of(decoded, "code", "part") == [
            (1, "c", "a", 1),
            (2, "d", "a", 1),
            (2, "u", "b", 1),
            (3, "d", "b", 1),
        ]

    def test_an_image_that_has_only_the_records_key_is_refused(self, topic: Topic) -> None:
        row = {"id": 5, **A}
        # As Debezium writes it where PostgreSQL logs the primary key alone: null, or else zero.
        partial = {"id": 5, "code": None, "part": 0, "note": None}
        messages = [insert(row, table=KEYED, offset=1), delete(partial, table=KEYED, offset=2)]

        decoded, _ = topic.decode(messages, BY_CODE)

        assert [record.offset for record in decoded.bad_records] == [2]
        assert "REPLICA IDENTITY FULL" in decoded.bad_records[0].reason

    def test_a_part_of_the_records_key_needs_no_image(self, topic: Topic) -> None:
        table = replace(KEYED, key=("id", "part"))
        row = {"id": 5, **A}
        key = {"id": 5, "code": None, "part": 1, "note": None}
        messages = [insert(row, table=table, offset=1), delete(key, table=table, offset=2)]

        decoded, _ = topic.decode(messages, ResolvedRule(key=("part",)))

        assert rows_of(decoded, "part") == [(1, "c", 1), (2, "d", 1)]
        assert (decoded.bad_records, decoded.extra) == ((), 0)


class TestFlatRows:
    """What ExtractNewRecordState leaves."""

    def test_a_rewritten_delete_has_its_row(self, json_topic: Topic) -> None:
        messages = [insert(A, table=KEYLESS, offset=1), delete(A, table=KEYLESS, offset=2)]

        decoded, _ = json_topic.decode([unwrapped(m) for m in messages], BY_CODE)

        assert rows_of(decoded, "code", "part", "note") == [
            (1, "c", "a", 1, "first"),
            (2, "d", "a", 1, None),
        ]

    def test_a_rewritten_delete_with_the_records_key_alone_is_refused(
        self, json_topic: Topic
    ) -> None:
        partial = {"id": 5, "code": None, "part": 0, "note": None}
        row = insert({"id": 5, **A}, table=KEYED, offset=1)
        messages = [row, delete(partial, table=KEYED, offset=2)]

        decoded, _ = json_topic.decode([unwrapped(m) for m in messages], BY_CODE)

        assert [record.offset for record in decoded.bad_records] == [2]

    def test_a_tombstone_says_too_little_unless_it_repeats_a_delete(
        self, json_topic: Topic
    ) -> None:
        row = {"id": 5, **A}
        messages = [
            unwrapped(insert(row, table=KEYED, offset=1)),
            unwrapped(delete(row, table=KEYED, offset=2)),
            tombstone({"id": 5}, table=KEYED, offset=3),
            unwrapped(insert({**row, "id": 6}, table=KEYED, offset=4)),
            tombstone({"id": 6}, table=KEYED, offset=5),
            unwrapped(delete(row, table=KEYED, offset=6)),
            tombstone({"id": 7}, table=KEYED, offset=7),
        ]

        decoded, _ = json_topic.decode(messages, BY_CODE)

        assert decoded.tombstones == 1
        assert [record.offset for record in decoded.bad_records] == [5, 7]
        assert "delete.tombstone.handling.mode" in decoded.bad_records[0].reason

    def test_a_tombstone_is_a_delete_where_its_key_is_enough(self, json_topic: Topic) -> None:
        table = replace(KEYED, key=("id", "part"))
        messages = [
            unwrapped(insert({"id": 5, **A}, table=table, offset=1)),
            tombstone({"id": 5, "part": 1}, table=table, offset=2),
        ]

        decoded, _ = json_topic.decode(messages, ResolvedRule(key=("part",)))

        assert rows_of(decoded, "part") == [(1, "c", 1), (2, "d", 1)]


class TestTheRowThatWasDeleted:
    """In a table of changes."""

    @pytest.mark.parametrize("table", [KEYLESS, KEYED])
    def test_a_delete_carries_the_row_as_it_was(self, topic: Topic, table: Table) -> None:
        row = A if table is KEYLESS else {"id": 5, **A}
        messages = [insert(row, table=table, offset=1), delete(row, table=table, offset=2)]

        with_row, _ = topic.decode(messages, APPEND, images=True)
        without, _ = topic.decode(messages, APPEND)

        assert rows_of(with_row, *row)[1] == (2, "d", *row.values())
        key = [row[name] if name in table.key else None for name in row]
        assert rows_of(without, *row)[1] == (2, "d", *key)

    def test_zeros_that_stand_for_what_was_not_logged_are_no_values(self, topic: Topic) -> None:
        table = Table((*KEYED.columns, decimal_column("price", 9, 2, optional=False)))
        row = {"id": 5, **A, "price": decimal(123)}
        partial = {"id": 5, "code": None, "part": 0, "note": None, "price": decimal(0)}
        messages = [insert(row, table=table, offset=1), delete(partial, table=table, offset=2)]

        decoded, _ = topic.decode(messages, APPEND, images=True)

        assert rows_of(decoded, *row)[1] == (2, "d", 5, None, None, None, None)

    def test_a_delete_without_an_image_has_its_key(self, topic: Topic) -> None:
        row = {"id": 5, **A}
        gone = change("d", None, None, table=KEYED, offset=2, key={"id": 5})

        decoded, _ = topic.decode([insert(row, table=KEYED, offset=1), gone], APPEND, images=True)

        assert rows_of(decoded, "id", "code")[1] == (2, "d", 5, None)

    def test_what_was_left_out_of_it_is_unknown_and_not_missing(self, json_topic: Topic) -> None:
        gone = {**A, "note": "__debezium_unavailable_value"}
        messages = [insert(A, table=KEYLESS, offset=1), delete(gone, table=KEYLESS, offset=2)]

        decoded, _ = json_topic.decode(messages, APPEND, images=True)

        assert MISSING not in decoded.changes[0].column_names
        assert rows_of(decoded, "code", "note")[1] == (2, "d", "a", None)

    def test_a_flat_delete_carries_its_row(self, json_topic: Topic) -> None:
        row = {"id": 5, **A}
        messages = [insert(row, table=KEYED, offset=1), delete(row, table=KEYED, offset=2)]

        decoded, _ = json_topic.decode([unwrapped(m) for m in messages], APPEND, images=True)

        assert rows_of(decoded, *row)[1] == (2, "d", *row.values())

    def test_a_document_that_was_deleted_is_kept(self) -> None:
        mongodb = DIALECTS["mongodb"]
        text = '{"_id": 1004,"first_name": "Anne"}'
        messages = [
            document_event("c", 1, "1004", after=text),
            document_event("d", 2, "1004", before=text),
        ]
        unplanned = DecodePlan(messages[0].topic, mongodb)
        met = decode_changes(0, *arrays(messages), unplanned).new_schemas
        plan = plan_of(messages[0].topic, met, mongodb, APPEND)
        assert plan.table is not None
        plan = replace(plan, table=replace(plan.table, images=True))

        decoded = decode_changes(0, *arrays(messages), plan)

        assert rows_of(decoded, "id", "document")[1] == (2, "d", "1004", text)


def test_a_text_column_takes_what_was_deleted_as_it_is_written() -> None:
    table = Table((column("id", "int64", optional=False), column("data", "string")))
    topic = Topic("schemaless")
    messages = [
        insert({"id": 1, "data": "text"}, table=table, offset=1),
        delete({"id": 1, "data": {"a": [1]}}, table=table, offset=2),
        delete({"id": 1, "data": 5}, table=table, offset=3),
    ]

    decoded, _ = topic.decode(messages, APPEND, images=True)

    assert decoded.bad_records == ()
    assert rows_of(decoded, "data") == [(1, "c", "text"), (2, "d", '{"a":[1]}'), (3, "d", "5")]


@pytest.mark.parametrize("as_rows", [True, False])
def test_a_truncate_is_a_row_only_where_that_is_asked_for(topic: Topic, as_rows: bool) -> None:
    messages = [insert(A, table=KEYLESS, offset=1), truncate(table=KEYLESS, offset=2, lsn=77)]

    decoded, _ = topic.decode(messages, APPEND, truncates_as_rows=as_rows)

    assert [(t.offset, t.position) for t in decoded.truncates] == [(2, 77)]
    assert decoded.extra == int(as_rows)
    names = ("code", "part", "note", POSITION)
    assert rows_of(decoded, *names)[1:] == ([(2, "t", None, None, None, 77)] if as_rows else [])
    assert all(table[TIME].null_count == 0 for table in decoded.changes)
    assert NO_POSITION not in pa.concat_tables(decoded.changes)[POSITION].to_pylist()


def test_a_key_that_the_source_left_out_is_refused(json_topic: Topic) -> None:
    left_out = {**A, "code": "__debezium_unavailable_value"}
    messages = [
        insert(A, table=KEYLESS, offset=1),
        updated(None, left_out, table=KEYLESS, offset=2),
        delete(left_out, table=KEYLESS, offset=3),
    ]

    decoded, _ = json_topic.decode(messages, BY_CODE)

    assert [record.offset for record in decoded.bad_records] == [2, 3]
    assert decoded.bad_records[0].reason == "its key column code was left out by the source"
