"""Two ways to look at a table: Iceberg's Java library for a run, pyiceberg without Spark."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyiceberg.table import Table

from cdc.config import ResolvedRule
from cdc.model import SourceTable, TableName
from cdc.state.ledger import FoundLedger, Ledger, PastSnapshot, newest_ledger
from cdc.state.names import LEDGER_PROPERTY
from cdc.state.table_state import TableState
from cdc.state.table_view import TableView

if TYPE_CHECKING:  # commands without Spark do not load it
    from cdc.commit import IcebergTable


def view_of(
    table: "IcebergTable",
    topic: str,
    source: SourceTable,
    rule: ResolvedRule,
    ledger: Ledger | None,
) -> TableView:
    """Look at a table that Java has loaded."""
    schema, name = table.schema, table.name
    return TableView(
        topic=topic,
        source=source,
        rule=rule,
        name=name,
        uuid=table.uuid,
        location=table.location,
        metadata_file=table.metadata_file,
        schema=schema,
        partitioned_by=frozenset(field.column for field in table.partition_spec[1]),
        snapshot=table.snapshot_id,
        sequence=table.sequence_number,
        empty=table.empty,
        state=TableState.read(table.properties, schema, str(name)),
        ledger=ledger,
    )


def view_without_spark(
    table: Table, topic: str, source: SourceTable, rule: ResolvedRule
) -> TableView:
    """Look at a table that pyiceberg has loaded.

    Raises:
        LostLedgerError: The table was rolled back to where no ledger is left.
    """
    schema, snapshot = table.schema(), table.current_snapshot()
    name = TableName(table.name()[:-1], table.name()[-1])
    names = {column.field_id: column.name for column in schema.fields}
    summary = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
    found = ledger_without_spark(table)
    return TableView(
        topic=topic,
        source=source,
        rule=rule,
        name=name,
        uuid=str(table.metadata.table_uuid),
        location=table.location(),
        metadata_file=table.metadata_location,
        schema=schema,
        partitioned_by=frozenset(
            names[field.source_id] for field in table.spec().fields if field.source_id in names
        ),
        snapshot=None if snapshot is None else snapshot.snapshot_id,
        sequence=0 if snapshot is None else snapshot.sequence_number or 0,
        empty=snapshot is None or summary.get("total-records") == "0",
        state=TableState.read(table.properties, schema, str(name)),
        ledger=None if found is None else found.ledger,
    )


def ledger_without_spark(table: Table) -> FoundLedger | None:
    """Find how far a table has come, and when that was committed.

    Raises:
        LostLedgerError: The table was rolled back to where no ledger is left.
    """
    return newest_ledger(".".join(table.name()), _history(table), table.properties)


def _history(table: Table) -> Iterator[PastSnapshot]:
    snapshot = table.current_snapshot()
    while snapshot is not None:
        summary = snapshot.summary.additional_properties if snapshot.summary else {}
        yield PastSnapshot(
            snapshot.snapshot_id,
            snapshot.sequence_number or 0,
            summary.get(LEDGER_PROPERTY),
            snapshot.timestamp_ms,
        )
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)
