"""How far a table has come, read without Spark: what `cdc.commit` reads, through pyiceberg."""

from pyiceberg.table import Table

from cdc.errors import LostLedgerError
from cdc.model import LEDGER_PROPERTY, SEQUENCE_PROPERTY, Ledger
from cdc.state.source_identity import current_ledger


def newest_ledger(table: Table) -> tuple[Ledger | None, int | None]:
    """Find the newest ledger of a table, and when it was committed.

    Returns:
        The ledger, and milliseconds since 1970: None where its snapshot has expired.

    Raises:
        LostLedgerError: The table was rolled back to where no ledger is left.
    """
    oldest = None
    snapshot = table.current_snapshot()
    while snapshot is not None:
        summary = snapshot.summary.additional_properties if snapshot.summary else {}
        if LEDGER_PROPERTY in summary:
            return _current(table, summary[LEDGER_PROPERTY]), snapshot.timestamp_ms
        oldest = snapshot.sequence_number or 0
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)
    text = table.properties.get(LEDGER_PROPERTY)
    if text is None:
        return None, None
    sequence = table.properties.get(SEQUENCE_PROPERTY)  # mirrors before this one wrote none
    if sequence is not None and (oldest is None or int(sequence) >= oldest):
        raise _lost(table)
    return _current(table, text), None


def _current(table: Table, text: str) -> Ledger:
    found = current_ledger(Ledger.from_json(text), table.properties)
    if found is None:
        raise _lost(table)
    return found


def _lost(table: Table) -> LostLedgerError:
    current = table.current_snapshot()
    return LostLedgerError(".".join(table.name()), None if current is None else current.snapshot_id)
