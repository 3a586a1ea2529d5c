"""The mirrored tables as any reader sees them: through pyiceberg, while the mirror writes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Summary
from sqlalchemy.exc import OperationalError

from cdc.config import MirrorConfig
from cdc.model import NO_POSITION
from cdc.state.ledger import Ledger
from cdc.state.names import LEDGER_PROPERTY

NAMESPACE: Final = "shop"


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the mirror to one table."""

    number: int
    milliseconds: int  # since 1970, by the clock of the machine that mirrors
    position: int  # the greatest source position that is in the table with it
    added: int
    deleted: int
    rows: int  # of the table, with it


class MirroredTables:
    """Reads the tables of a demo's mirror."""

    def __init__(self, config: MirrorConfig) -> None:
        self._name = config.name
        # A reader makes no tables in the catalog: that is for the mirror to do.
        self._properties = {**config.catalog.properties(), "init_catalog_tables": "false"}
        self._catalog: Catalog | None = None

    def load(self, table: str) -> Table | None:
        """Load a table as it is now; None while it is not there."""
        try:
            if self._catalog is None:
                self._catalog = load_catalog(self._name, **self._properties)
            return self._catalog.load_table((NAMESPACE, table))
        except (NoSuchTableError, OperationalError):  # the catalog itself may still be empty
            return None

    def read(self, table: str) -> pa.Table:
        """Read all rows of a table; none while it is not there."""
        loaded = self.load(table)
        return pa.table({}) if loaded is None else loaded.scan().to_arrow()

    def commits(self, table: str) -> list[Commit]:
        """List the mirror's commits to a table, oldest first."""
        loaded = self.load(table)
        return [] if loaded is None else list(_commits(loaded))

    def rows(self, table: str) -> int:
        """Count a table's rows without reading them."""
        commits = self.commits(table)
        return commits[-1].rows if commits else 0

    def close(self) -> None:
        """Let go of the catalog. Safe to repeat."""
        if self._catalog is not None:
            self._catalog.close()
            self._catalog = None


def _commits(table: Table) -> Iterator[Commit]:
    emptied = 0  # rows that a truncate took, in a snapshot of its own right before the commit's
    for snapshot in sorted(table.metadata.snapshots, key=lambda s: s.sequence_number or 0):
        summary = snapshot.summary
        if summary is None or summary.operation is Operation.REPLACE:
            continue  # upkeep, which brings no change
        gone = _count(summary, "deleted-records")
        ledger = summary.additional_properties.get(LEDGER_PROPERTY)
        if ledger is None:
            emptied += gone
            continue
        marks = Ledger.from_json(ledger).partitions.values()
        yield Commit(
            number=snapshot.sequence_number or 0,
            milliseconds=snapshot.timestamp_ms,
            position=max((mark.position for mark in marks), default=NO_POSITION),
            added=_count(summary, "added-records"),
            # A commit may take up the deletes of earlier ones into its own file.
            deleted=emptied
            + gone
            + _count(summary, "added-position-deletes")
            - _count(summary, "removed-position-deletes"),
            rows=_count(summary, "total-records") - _count(summary, "total-position-deletes"),
        )
        emptied = 0


def _count(summary: Summary, name: str) -> int:
    return int(summary.additional_properties.get(name, 0))
