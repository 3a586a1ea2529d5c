"""What the source's own catalog says of the mirrored tables: one question for all of them."""

import logging
import math
import time

from cdc.config import MirrorConfig, reveal
from cdc.dialect import Dialect, SourceTables
from cdc.errors import MirrorError
from cdc.model import SourceTable
from cdc.runtime.follow.source_decisions import SourceLookup, SourceTableState, look_up
from cdc.state.source_identity import Identity, Moment
from cdc.state.table_view import TableView

logger = logging.getLogger(__name__)


class SourceWatch:
    """Asks the catalog, and keeps its last answer."""

    def __init__(self, config: MirrorConfig, dialect: Dialect) -> None:
        self._url = config.source.url
        self._dialect = dialect
        self.found: SourceTables | None = None
        self._looked = -math.inf

    def look(self, newer_than: float = 0.0) -> SourceTables | None:
        """Ask which tables there are now; None where nobody tells.

        A catalog that does not answer is no reason to stop: nothing is concluded from it.

        Args:
            newer_than: How many seconds old an answer may be that serves as well.
        """
        if time.monotonic() - self._looked < newer_than:
            return self.found
        self._looked = time.monotonic()
        self.found = None
        if self._url is not None and self._dialect.tables is not None:
            try:
                self.found = self._dialect.tables(reveal(self._url))
            except MirrorError as error:
                logger.warning("catalog tells of no table: %s", error)
        return self.found

    def look_up(
        self, known: Identity | None, table: SourceTable, dropped: Moment | None
    ) -> SourceLookup:
        """Tell from the last answer what became of a table."""
        if self.found is None:
            return SourceLookup(SourceTableState.UNKNOWN)
        return look_up(
            known,
            table,
            self.found,
            lasting=self._dialect.lasting_identity,
            dropped=dropped is not None,
        )

    def lookup_of(self, view: TableView) -> SourceLookup:
        """Tell from the last answer what became of the source of a mirrored table."""
        source = view.state.source
        return self.look_up(source.identity, view.source, source.dropped)
