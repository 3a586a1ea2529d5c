"""The ledger in a table's own history."""

from typing import Any

from cdc.commit.java_errors import translated
from cdc.commit.table import IcebergTable
from cdc.errors import CommitConflictError
from cdc.state.ledger import Ledger, newest_ledger
from cdc.state.names import LEDGER_PROPERTY, SEQUENCE_PROPERTY


def read_ledger(table: IcebergTable) -> Ledger | None:
    """Find how far the table has come.

    Raises:
        LostLedgerError: The table was rolled back to where no ledger is left.
    """
    found = newest_ledger(str(table.name), table.history(), table.properties)
    return None if found is None else found.ledger


def set_ledger_property(table: IcebergTable, ledger: Ledger) -> None:
    """Write the ledger of a MERGE, which only its snapshot carries, into the table's properties.

    Run twice, it writes the same again.

    Raises:
        CommitConflictError: The newest ledger of the table is another one.
    """
    with translated(str(table.name)):
        table.java.refresh()
        newest = next((s for s in table.history() if s.ledger is not None), None)
        if newest is None or newest.ledger is None or Ledger.from_json(newest.ledger) != ledger:
            raise CommitConflictError(str(table.name), "its ledger is another one")
        update = table.java.updateProperties()
        put_ledger(update, newest.ledger, newest.sequence)
        update.commit()


def put_ledger(update: Any, text: str, sequence: int) -> None:
    """Set the properties that keep a ledger when its snapshot has expired."""
    update.set(LEDGER_PROPERTY, text).set(SEQUENCE_PROPERTY, str(sequence))
