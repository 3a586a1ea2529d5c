"""One open table of a mirror."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from cdc.collapse import mode_of
from cdc.commit import IcebergTable, read_ledger, set_properties
from cdc.config import ResolvedRule
from cdc.model import Cutoff, PartitionMark, SourceSchema, SourceTable, TargetId, WrittenFile
from cdc.runtime.tables.data_files import DataFiles
from cdc.runtime.tables.table_views import view_of
from cdc.state import cutoffs
from cdc.state.ledger import Ledger, past_ledgers
from cdc.state.table_state import TableState
from cdc.state.table_view import TableView

logger = logging.getLogger(__name__)


class MirroredTable:
    """A table that can be written to, and what it was like when somebody looked last."""

    def __init__(
        self,
        topic: str,
        source: SourceTable,
        rule: ResolvedRule,
        table: IcebergTable,
        first_offsets: Mapping[int, int] | None = None,
    ) -> None:
        """Open a table.

        Args:
            topic: Its topic.
            source: The table of the source.
            rule: What the config says of it.
            table: The table itself.
            first_offsets: Where the topic starts for it, if another one had its beginning.
        """
        self.table = table
        self.view: TableView = view_of(table, topic, source, rule, read_ledger(table))
        # The schemas for which it has room, so that no batch stops at them.
        self.known: frozenset[SourceSchema] = frozenset()
        self.first_offsets = first_offsets or {}
        self.files = DataFiles(table)

    @property
    def topic(self) -> str:
        """The topic that it mirrors."""
        return self.view.topic

    @property
    def rule(self) -> ResolvedRule:
        """What the config says of it."""
        return self.view.rule

    @property
    def state(self) -> TableState:
        """What it remembers."""
        return self.view.state

    @property
    def ledger(self) -> Ledger | None:
        """How far it has come."""
        return self.view.ledger

    @property
    def id(self) -> TargetId:
        """Which table of which topic it is."""
        return self.view.id

    @property
    def key(self) -> tuple[str, ...]:
        """The key columns."""
        return self.view.state.key.columns

    @property
    def marks(self) -> dict[int, PartitionMark]:
        """How far each partition has been applied."""
        first = {partition: PartitionMark(next_) for partition, next_ in self.first_offsets.items()}
        return first | dict(self.view.marks)

    def reopen(self) -> None:
        """See what others did to the table."""
        self.table.refresh()
        self._look(read_ledger(self.table))

    def keep(self, state: TableState) -> None:
        """Let the table remember something else, in one commit. Done twice, it is done once."""
        changes = self.state.changes_to(state)
        if changes:
            set_properties(self.table, changes)
            self._look(self.ledger)

    def advance(self, ledger: Ledger, files: Iterable[WrittenFile] | None) -> None:
        """Take note of a commit, so that its files need not be listed; None if they must be."""
        if files is not None:
            self.files.added(files)
        self._look(ledger)

    def _look(self, ledger: Ledger | None) -> None:
        view = self.view
        self.view = view_of(self.table, view.topic, view.source, view.rule, ledger)


def keys_moving(mirrored: MirroredTable) -> bool:
    """Say whether changes of one key may still come through two partitions."""
    is_log = mode_of(mirrored.rule).is_log
    return not is_log and mirrored.state.lanes.keys_moving(mirrored.marks)


def replacement(mirrored: MirroredTable) -> Cutoff | None:
    """Tell where another table took the name of the source's, if rows from before may be left."""
    if mode_of(mirrored.rule).is_log:
        return None
    return cutoffs.replacement(mirrored.ledger, mirrored.state.source.replaced)


def rewind(mirrored: MirroredTable, found: Sequence[Cutoff]) -> dict[int, PartitionMark]:
    """Find where to read partitions again that are ahead of cutoffs, which are in their order."""
    return cutoffs.rewind(
        mode_of(mirrored.rule).first_cutoff(found),
        mirrored.marks,
        past_ledgers(mirrored.topic, mirrored.table.history()),
        mirrored.first_offsets,
    )


def note_partitions(mirrored: MirroredTable, ends: Mapping[int, int]) -> None:
    """Let a table know of its topic's partitions, given the next offset of each."""
    known = mirrored.state.lanes
    lanes = known.with_partitions(
        ends, mirrored.view.sequence, has_rows=mirrored.ledger is not None
    )
    if lanes.moving_until != known.moving_until:
        logger.info(
            "partitions=%d before=%s table=%s",
            len(ends),
            known.partition_count,
            mirrored.view.name,
        )
    mirrored.keep(replace(mirrored.state, lanes=lanes))


def note_key_forms(
    mirrored: MirroredTable, forms: frozenset[str], ends: Callable[[], Mapping[int, int]]
) -> None:
    """Take note of another beginning of the records' keys. Done twice, it is done once.

    Args:
        mirrored: The table.
        forms: How keys of the batch begin.
        ends: Gives the next offset of each partition.
    """
    known = mirrored.state.lanes.key_forms
    if forms <= known:
        return
    moved = len(known | forms) > 1
    lanes = mirrored.state.lanes.with_key_forms(
        forms, ends() if moved else {}, mirrored.view.sequence
    )
    if moved:
        logger.info("keys moved table=%s forms=%d", mirrored.view.name, len(lanes.key_forms))
    mirrored.keep(replace(mirrored.state, lanes=lanes))
