"""Which data files a table has, and how that changes under the mirror's and others' commits."""

import uuid

import pytest
from py4j.protocol import MEMORY_COMMAND_NAME
from pyspark.sql import SparkSession

from cdc.commit import FileChanges, changed_files, live_files, set_partition
from cdc.errors import NotParquetError
from cdc.model import LiveFile, PartitionField
from tests.spark.bare_table import COMPACT, EXPIRE, BareTable, named


@pytest.fixture
def bare(spark: SparkSession) -> BareTable:
    return BareTable(spark)


def test_a_table_without_a_snapshot_has_no_files(bare: BareTable) -> None:
    assert live_files(bare.table) == []
    assert changed_files(bare.table, None) == FileChanges((), ())


def test_live_files_have_lane_sequence_and_rows(bare: BareTable) -> None:
    first, second = bare.write(named(1, 2, 3), lane=2), bare.write(named(4), lane=123456)
    bare.commit(first)
    bare.commit(second, bare.positions((first, 0)))

    assert set(live_files(bare.table)) == {
        LiveFile(first.path, 1, 3, 2),
        LiveFile(second.path, 2, 1, 123456),
    }


def test_live_files_have_the_partition_with_which_they_were_written(bare: BareTable) -> None:
    set_partition(
        bare.table, [PartitionField("identity", "name"), PartitionField("bucket", "id", 4)]
    )
    file = bare.write(named(1, name="ü"), spec_id=1, partition=("ü", 3))
    null = bare.write(named(1), partition=(None, None), spec_id=1)
    bare.commit(file, null)
    set_partition(bare.table, [])
    plain = bare.write(named(2))
    bare.commit(plain)

    assert set(live_files(bare.table)) == {
        LiveFile(file.path, 1, 1, 0, 1, ("ü", 3)),
        LiveFile(null.path, 1, 1, 0, 1, (None, None)),
        LiveFile(plain.path, 2, 1, 0, 0, ()),
    }


def test_compacted_files_have_no_lane_and_the_age_of_their_rows(bare: BareTable) -> None:
    bare.commit(bare.write(named(1)))
    bare.commit(bare.write(named(2)))
    bare.call("rewrite_data_files", COMPACT)
    bare.table.refresh()

    (file,) = live_files(bare.table)

    assert (file.sequence, file.rows, file.lane) == (2, 2, None)


def test_changes_are_those_since_the_snapshot_of_the_last_look(bare: BareTable) -> None:
    first, second, third = (bare.write(named(n)) for n in (1, 2, 3))
    bare.commit(first)
    seen = bare.table.snapshot_id
    bare.commit(second)
    bare.commit(third)

    changes = changed_files(bare.table, seen)

    assert changes == FileChanges(
        (LiveFile(second.path, 2, 1, 0), LiveFile(third.path, 3, 1, 0)), ()
    )
    assert changed_files(bare.table, bare.table.snapshot_id) == FileChanges((), ())


@pytest.mark.parametrize("merged", [False, True])
def test_changes_lead_from_one_list_of_live_files_to_the_next(
    bare: BareTable, merged: bool
) -> None:
    if merged:  # manifests are put together with every commit
        bare.spark.sql(
            f"ALTER TABLE {bare.sql_name} SET TBLPROPERTIES"
            "('commit.manifest.min-count-to-merge' = '1')"
        )
        bare.table.refresh()
    bare.commit(bare.write(named(1)))
    bare.commit(bare.write(named(2)))
    seen, before = bare.table.snapshot_id, live_files(bare.table)
    bare.commit(bare.write(named(3)))
    bare.call("rewrite_data_files", COMPACT)
    bare.spark.sql(f"INSERT INTO {bare.sql_name} VALUES (9, 'foreign')")
    bare.spark.sql(f"DELETE FROM {bare.sql_name} WHERE id = 9")
    bare.table.refresh()
    bare.commit(bare.write(named(4)), truncate=False)

    changes = changed_files(bare.table, seen)

    assert changes is not None
    assert set(changes.removed) == {file.path for file in before}
    assert set(changes.added) == set(live_files(bare.table))
    assert len(changes.added) == 2


def test_after_a_truncate_all_older_files_are_removed(bare: BareTable) -> None:
    first = bare.write(named(1))
    bare.commit(first)
    seen = bare.table.snapshot_id
    new = bare.write(named(2))
    bare.commit(new, truncate=True)

    changes = changed_files(bare.table, seen)

    assert changes is not None
    assert changes.removed == (first.path,)
    assert [file.path for file in changes.added] == [new.path]
    assert [file.path for file in live_files(bare.table)] == [new.path]


def test_after_a_rollback_changes_are_unknown(bare: BareTable) -> None:
    bare.commit(bare.write(named(1)))
    first = bare.table.snapshot_id
    bare.commit(bare.write(named(2)))
    seen = bare.table.snapshot_id
    bare.call("rollback_to_snapshot", f"snapshot_id => {first}")
    bare.table.refresh()

    assert changed_files(bare.table, seen) is None
    assert len(live_files(bare.table)) == 1


def test_after_an_expiry_changes_are_unknown(bare: BareTable) -> None:
    bare.commit(bare.write(named(1)))
    seen = bare.table.snapshot_id
    bare.commit(bare.write(named(2)))
    bare.call("expire_snapshots", EXPIRE)
    bare.table.refresh()

    assert changed_files(bare.table, seen) is None
    assert changed_files(bare.table, None) is None
    assert len(live_files(bare.table)) == 2


def test_a_data_file_that_is_not_parquet_is_named(bare: BareTable) -> None:
    bare.commit(bare.write(named(1)))
    seen = bare.table.snapshot_id
    bare.spark.sql(
        f"ALTER TABLE {bare.sql_name} SET TBLPROPERTIES ('write.format.default' = 'avro')"
    )
    bare.spark.sql(f"INSERT INTO {bare.sql_name} VALUES (9, 'foreign')")
    bare.table.refresh()

    with pytest.raises(NotParquetError) as caught:
        live_files(bare.table)
    with pytest.raises(NotParquetError):
        changed_files(bare.table, seen)

    assert caught.value.path.endswith(".avro")


def test_many_files_cost_no_round_trip_each(
    bare: BareTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    iceberg = bare.table.gateway.jvm.org.apache.iceberg
    append = bare.table.java.newAppend()
    for _ in range(300):
        path = f"{bare.table.data_location}/p00000-{uuid.uuid4()}.parquet"
        builder = iceberg.DataFiles.builder(bare.table.java.spec()).withPath(path)
        append.appendFile(builder.withFileSizeInBytes(1).withRecordCount(1).build())
    append.commit()
    client = bare.table.gateway._gateway_client
    calls = 0
    send = type(client).send_command

    def counted(self: object, command: str, *arguments: object, **options: object) -> object:
        nonlocal calls
        calls += not command.startswith(MEMORY_COMMAND_NAME)  # which follow Python's own clean-up
        return send(self, command, *arguments, **options)

    monkeypatch.setattr(type(client), "send_command", counted)

    assert len(live_files(bare.table)) == 300
    assert calls < 60
