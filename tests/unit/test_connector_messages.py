"""Changes of every database come out as the right rows, one test for all of them.

The messages are made from Debezium's documentation, not recorded: see connector_messages.py.
"""

import itertools

import pyarrow as pa
import pytest

from cdc.decode import decode_changes
from cdc.dialect import Dialect
from cdc.model import OP, POSITION
from connectors import DIALECTS
from tests.unit.connector_messages import ANNE, SOURCES, event, life_of_rows
from tests.unit.messages import arrays, final_rows, planned

RELATIONAL = {name: dialect for name, dialect in DIALECTS.items() if name != "mongodb"}
TRUNCATES = ("postgres", "mysql", "mariadb", "oracle")
every_dialect = pytest.mark.parametrize("dialect", RELATIONAL.values(), ids=list(RELATIONAL))


@every_dialect
def test_snapshot_insert_update_delete_and_key_change_leave_the_right_rows(
    dialect: Dialect,
) -> None:
    messages, expected = life_of_rows(dialect.name)

    assert final_rows(messages, planned(messages, dialect)) == expected


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
    first = event(dialect.name, "c", 2, after=ANNE)
    again = event(dialect.name, "c", 2, after=ANNE)

    decoded = decode_changes(0, *arrays([first, again]), planned([first], dialect))

    assert len(set(pa.concat_tables(decoded.changes)[POSITION].to_pylist())) == 1


@pytest.mark.parametrize("name", TRUNCATES)
def test_a_truncate_leaves_no_row_before_it(name: str) -> None:
    later = {**ANNE, "id": 9}
    messages = [
        event(name, "r", 1, after=ANNE),
        event(name, "t", 2),
        event(name, "c", 3, after=later),
    ]

    assert final_rows(messages, planned(messages, DIALECTS[name])) == [later]
