"""Tables that another version of the program wrote last, through real Spark and Iceberg."""

from cdc.commit import set_properties
from cdc.errors import UnknownStateVersionError
from cdc.state.names import KEY_PROPERTY, STATE_VERSION_PROPERTY
from cdc.state.version import STATE_VERSION
from tests.spark.bench import Bench
from tests.spark.conftest import Restart
from tests.unit.messages import Table, insert, update


def made_before_versions(bench: Bench, table: Table) -> None:
    """Leave a table as a mirror made it that knew of no version, and wrote no key."""
    java = bench.table(table.topic).table.java
    java.updateProperties().remove(STATE_VERSION_PROPERTY).remove(KEY_PROPERTY).commit()


def test_a_table_of_an_older_version_is_brought_up_to_date_and_goes_on(
    bench: Bench, restart: Restart, table: Table
) -> None:
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))
    made_before_versions(bench, table)

    again = restart()
    again.tables.open(table.topic, bench.table(table.topic).view.source)
    properties = again.table(table.topic).table.properties
    again.apply(update({"id": 1, "name": "b"}, table=table, offset=1))

    assert properties[STATE_VERSION_PROPERTY] == str(STATE_VERSION)
    assert properties[KEY_PROPERTY] == '["id"]'
    assert again.rows(f"{table.server}.orders") == [{"id": 1, "name": "b"}]


def test_a_table_of_a_newer_version_is_parked_and_left_as_it_is(
    bench: Bench, restart: Restart, table: Table
) -> None:
    bench.apply(insert({"id": 1, "name": "a"}, table=table, offset=0))
    newer = str(STATE_VERSION + 1)
    set_properties(bench.table(table.topic).table, {STATE_VERSION_PROPERTY: newer})
    before = bench.table(table.topic).table.metadata_file

    again = restart()
    again.apply(update({"id": 1, "name": "b"}, table=table, offset=1))

    assert isinstance(again.parked[table.topic], UnknownStateVersionError)
    bench.table(table.topic).table.refresh()
    assert bench.table(table.topic).table.metadata_file == before
