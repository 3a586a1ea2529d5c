"""The ledger in a table's own history."""

from cdc.commit.table import IcebergTable
from cdc.model import LEDGER_PROPERTY, Ledger


def read_ledger(table: IcebergTable) -> Ledger | None:
    """Find how far the table has come.

    The newest snapshot that carries a ledger counts: a compaction by others carries none, and after
    a rollback the mirror goes on from where the table is then. The table property serves when
    the snapshots that carried one have expired.
    """
    for summary in table.summaries():
        if LEDGER_PROPERTY in summary:
            return Ledger.from_json(summary[LEDGER_PROPERTY])
    text = table.properties.get(LEDGER_PROPERTY)
    return None if text is None else Ledger.from_json(text)
