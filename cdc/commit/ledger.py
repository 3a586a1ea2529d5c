"""The ledger in a table's own history."""

from typing import Any

from cdc.commit.java_errors import translated
from cdc.commit.table import IcebergTable
from cdc.errors import CommitConflictError, LostLedgerError
from cdc.model import LEDGER_PROPERTY, SEQUENCE_PROPERTY, Ledger
from cdc.state.source_identity import current_ledger


def read_ledger(table: IcebergTable) -> Ledger | None:
    """Find how far the table has come.

    The newest snapshot that carries a ledger counts: a compaction by others carries none, and after
    a rollback the mirror goes on from where the table is then. The table property serves when
    the snapshots that carried one have expired. A rollback leaves it as it is, so it counts only
    if its snapshot is older than all that are left: were it one of them, it would have been met.

    Raises:
        LostLedgerError: The table was rolled back to where no ledger is left.
    """
    oldest = None
    for snapshot in table.ancestors():
        text = snapshot.summary().get(LEDGER_PROPERTY)
        if text is not None:
            return _current(table, text)
        oldest = int(snapshot.sequenceNumber())
    properties = table.properties
    text = properties.get(LEDGER_PROPERTY)
    if text is None:
        return None
    sequence = properties.get(SEQUENCE_PROPERTY)  # mirrors before this one wrote none
    if sequence is not None and (oldest is None or int(sequence) >= oldest):
        raise LostLedgerError(str(table.name), table.snapshot_id)
    return _current(table, text)


def _current(table: IcebergTable, text: str) -> Ledger:
    found = current_ledger(Ledger.from_json(text), table.properties)
    if found is None:
        raise LostLedgerError(str(table.name), table.snapshot_id)
    return found


def set_ledger_property(table: IcebergTable, ledger: Ledger) -> None:
    """Write the ledger of a MERGE, which only its snapshot carries, into the table's properties.

    Run twice, it writes the same again.

    Raises:
        CommitConflictError: The newest ledger of the table is another one.
    """
    with translated(str(table.name)):
        table.java.refresh()
        for snapshot in table.ancestors():
            text = snapshot.summary().get(LEDGER_PROPERTY)
            if text is not None:
                if Ledger.from_json(text) != ledger:
                    break
                update = table.java.updateProperties()
                put_ledger(update, text, int(snapshot.sequenceNumber()))
                update.commit()
                return
    raise CommitConflictError(str(table.name), "its ledger is another one")


def put_ledger(update: Any, text: str, sequence: int) -> None:
    """Set the properties that keep a ledger when its snapshot has expired."""
    update.set(LEDGER_PROPERTY, text).set(SEQUENCE_PROPERTY, str(sequence))
