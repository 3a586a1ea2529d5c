"""One open table of a mirror."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cdc.commit import IcebergTable, read_ledger
from cdc.config import ApplyMode, DeleteKind, Lookup, ResolvedRule
from cdc.errors import CommitConflictError, NotParquetError
from cdc.model import (
    BACKFILL_PROPERTY,
    CURRENT,
    EARLIEST,
    KEY_FORMS_PROPERTY,
    LEDGER_PROPERTY,
    RESERVED,
    Cutoff,
    FileKind,
    Ledger,
    LiveFile,
    PartitionMark,
    SchemaEvent,
    SourceSchema,
    SourceTable,
    TargetId,
    WrittenFile,
    lane_of,
)
from cdc.runtime.task.row_finder import IndexPlan
from cdc.runtime.task.target_plan import TargetPlan
from cdc.state.column_identities import read_identities
from cdc.state.column_types import TypeMemory, read_types
from cdc.state.key import key_of
from cdc.state.schema_log import read_log
from cdc.state.source_identity import DROPPED_PROPERTY, REPLACED_PROPERTY, Identity, Moment

logger = logging.getLogger(__name__)

# How many partitions the topic had, the sequence number up to which files may hold keys of any of
# them, and the offsets up to which changes of one key may be in two of them.
PARTITIONS_PROPERTY = RESERVED + "partitions"
LANES_PROPERTY = RESERVED + "lanes_since"
MIXED_PROPERTY = RESERVED + "mixed_until"
# The sequence number up to which files may hold, under one key, a row that was deleted after a
# newer row of theirs: they were written under another key.
REKEYED_PROPERTY = RESERVED + "rekeyed_since"


@dataclass(slots=True)
class MirroredTable:
    """One table of a topic, and how far it has come."""

    topic: str
    source: SourceTable
    rule: ResolvedRule
    table: IcebergTable
    ledger: Ledger | None
    known: set[SourceSchema] = field(default_factory=set)
    plan: TargetPlan | None = None  # kept until the table changes
    # Where the topic starts for this table, if another one had its beginning.
    floor: Mapping[int, int] = field(default_factory=dict)
    # The data files of the snapshot that was listed last.
    _files: dict[str, LiveFile] = field(default_factory=dict)
    _listed: int | None = None

    def advance(self, ledger: Ledger, files: Iterable[WrittenFile] | None) -> None:
        """Take note of a commit, so that its files need not be listed; None if they must be."""
        self.ledger = ledger
        self.plan = None
        known = self._listed is not None and self.table.parent_id == self._listed
        if files is not None and known:
            sequence = self.table.sequence_number
            for file in files:
                if file.kind is FileKind.DATA:
                    self._files[file.path] = LiveFile(
                        file.path,
                        sequence,
                        file.rows,
                        lane_of(file.path),
                        file.spec_id,
                        file.partition,
                    )
            self._listed = self.table.snapshot_id

    def reopen(self) -> None:
        """See what others did to the table."""
        self.table.refresh()
        self.ledger = read_ledger(self.table)
        self.plan = None

    @property
    def events(self) -> tuple[SchemaEvent, ...]:
        """What the table did to follow its source."""
        return read_log(self.table.properties)

    @property
    def identities(self) -> dict[str, int]:
        """What the source's catalog knew the columns by."""
        return read_identities(self.table.properties)

    @property
    def types(self) -> TypeMemory:
        """The types that the columns had in messages that do not tell them."""
        return read_types(self.table.properties)

    @property
    def identity(self) -> Identity | None:
        """What the source's catalog knew the table by."""
        return Identity.read(self.table.properties)

    @property
    def dropped(self) -> Moment | None:
        """Since when the source has no such table."""
        return Moment.read(self.table.properties, DROPPED_PROPERTY)

    @property
    def backfill(self) -> dict[str, str]:
        """The defaults that rows from before their columns still lack."""
        found: dict[str, str] = json.loads(self.table.properties.get(BACKFILL_PROPERTY, "{}"))
        return found

    def expect_unchanged(self) -> None:
        """See that the table is as it was opened.

        Raises:
            CommitConflictError: Somebody has written to it since.
        """
        opened = self.table.snapshot_id
        self.table.refresh()
        if self.table.snapshot_id != opened:
            raise CommitConflictError(str(self.table.name), "it was written to in the meantime")

    def index_plan(self, folder: str, *, always: bool = False) -> IndexPlan | None:
        """Tell where the table's key index is; None where rows are not found by one.

        Args:
            folder: Where the indexes of all tables are.
            always: Also where the rule says that a MERGE finds them.
        """
        rule = self.rule
        if rule.mode is ApplyMode.APPEND or rule.deletes is not DeleteKind.POSITIONAL:
            return None
        if rule.lookup is not Lookup.INDEX and not always:
            return None
        try:
            files = self.live_files()
        except NotParquetError as error:
            logger.warning("merging table=%s reason=%s", self.table.name, error)
            return None
        since = int(self.table.properties.get(REKEYED_PROPERTY, "-1"))
        if any(file.sequence <= since for file in files):
            logger.info("merging table=%s reason=its key has changed", self.table.name)
            return None
        return IndexPlan.of(f"{folder}/{self.table.uuid}", files)

    def live_files(self) -> tuple[LiveFile, ...]:
        """List the data files of the table as it is loaded.

        Raises:
            NotParquetError: Somebody wrote one in another format.
        """
        current = self.table.snapshot_id
        if current is None:
            self._files = {}
        elif current != self._listed:
            changes = self.table.changed_files(self._listed) if self._listed is not None else None
            if changes is None:  # first seen, or rolled back: what is known leads nowhere
                self._files = {file.path: file for file in self.table.live_files()}
            else:
                for path in changes.removed:
                    self._files.pop(path, None)
                self._files |= {file.path: file for file in changes.added}
        self._listed = current
        since = int(self.table.properties.get(LANES_PROPERTY, "-1"))
        # What was written before the topic had more partitions may hold keys of any of them.
        return tuple(
            replace(file, lane=None) if file.sequence <= since else file
            for file in self._files.values()
        )

    def note_partitions(self, ends: Mapping[int, int]) -> None:
        """Compare the topic's partitions with those that the table knows of.

        More of them mean that keys have moved: what is in Kafka now is to be applied jointly.

        Args:
            ends: The next offset of each partition.
        """
        known = self.table.properties.get(PARTITIONS_PROPERTY)
        noted = {PARTITIONS_PROPERTY: str(len(ends))}
        if known is not None and int(known) < len(ends) and self.ledger is not None:
            noted |= self._moved(ends)
            logger.info("partitions=%d before=%s table=%s", len(ends), known, self.table.name)
        if known != noted[PARTITIONS_PROPERTY]:
            self.table.set_properties(noted)
            self.plan = None

    @property
    def key_forms(self) -> frozenset[str]:
        """How the bytes of the records' keys began so far."""
        return frozenset(json.loads(self.table.properties.get(KEY_FORMS_PROPERTY, "[]")))

    def note_key_forms(self, forms: frozenset[str], ends: Callable[[], Mapping[int, int]]) -> None:
        """Take note of another beginning of the records' keys. Done twice, it is done once.

        Kafka Connect chooses partitions by all bytes of a key, so that keys have moved: what is in
        Kafka now is to be applied jointly, as for a topic that got more partitions.

        Args:
            forms: How keys of the batch begin.
            ends: Gives the next offset of each partition.
        """
        known = self.key_forms
        if forms <= known:
            return
        noted = {KEY_FORMS_PROPERTY: json.dumps(sorted(known | forms))}
        if len(known | forms) > 1:
            noted |= self._moved(ends())
            logger.info("keys moved table=%s forms=%d", self.table.name, len(known | forms))
        self.table.set_properties(noted)
        self.plan = None

    def _moved(self, ends: Mapping[int, int]) -> dict[str, str]:
        """Give the properties of a table whose keys go on in other partitions."""
        return {
            LANES_PROPERTY: str(self.table.sequence_number),
            MIXED_PROPERTY: json.dumps({str(p): end for p, end in ends.items()}),
        }

    def rekeyed(self, key: tuple[str, ...]) -> dict[str, str]:
        """Give the properties that go with another key.

        Its rows come through other partitions than until now. An index tells which of a key's rows
        was written last, and takes that for the only one that can be left: so it is as long as
        rows of one key were rows of one key before, too.

        Args:
            key: The columns that are the key from now on.
        """
        sequence = str(self.table.sequence_number)
        narrower = set(self.key) <= set(key)
        return {LANES_PROPERTY: sequence, **({} if narrower else {REKEYED_PROPERTY: sequence})}

    @property
    def width(self) -> int | None:
        """How many partitions the topic had when somebody looked."""
        known = self.table.properties.get(PARTITIONS_PROPERTY)
        return None if known is None else int(known)

    @property
    def mixed(self) -> bool:
        """Whether changes of one key may still come through two partitions."""
        text = self.table.properties.get(MIXED_PROPERTY)
        if text is None or self.rule.mode is ApplyMode.APPEND:
            return False
        marks = self.marks
        return any(
            int(p) not in marks or marks[int(p)].next_offset < end
            for p, end in json.loads(text).items()
            if end > 0
        )

    @property
    def id(self) -> TargetId:
        """Which table of which topic it is."""
        return self.topic, self.table.name

    @property
    def marks(self) -> dict[int, PartitionMark]:
        """How far each partition has been applied."""
        before = {partition: PartitionMark(next_) for partition, next_ in self.floor.items()}
        return before | dict(self.ledger.partitions if self.ledger else {})

    @property
    def key(self) -> tuple[str, ...]:
        """The key columns."""
        return key_of(self.table.properties, self.table.schema)

    @property
    def delete_key(self) -> tuple[str, ...]:
        """The columns by which an equality delete finds its row."""
        return (*self.key, CURRENT) if self.rule.mode is ApplyMode.HISTORY else self.key

    def new_snapshot(self, found: Sequence[Cutoff]) -> Cutoff | None:
        """Tell whether a snapshot has begun anew, and where.

        A connector that lost its place reads the whole table again, and tells nothing of the rows
        that were deleted meanwhile: what such a snapshot does not have is gone. The first one ever
        has nothing before it.

        Args:
            found: Where snapshots begin, oldest first.
        """
        if not found:
            return None
        known = self.ledger.snapshot if self.ledger is not None else found[0].begin
        newest = found[-1]
        return None if known is not None and newest.is_done(known) else newest

    @property
    def replacement(self) -> Cutoff | None:
        """Where another table took the name of the source's, if rows from before may be here."""
        moment = Moment.read(self.table.properties, REPLACED_PROPERTY)
        if moment is None or moment.position is None or self.rule.mode is ApplyMode.APPEND:
            return None
        cutoff = Cutoff.replaced(moment.position, moment.time)
        known = self.ledger.snapshot if self.ledger is not None else None
        return None if known is not None and cutoff.is_done(known) else cutoff

    def rewind(self, cutoffs: Sequence[Cutoff]) -> dict[int, PartitionMark]:
        """Find where to read partitions again that are ahead of cutoffs.

        Their rows go with all others, though some are newer than the cutoff. The newest ledger
        at which a partition was not past it yet tells where to start; what is older than the
        cutoff is dropped there. A history asks of every cutoff which versions are newer.
        """
        cutoff = cutoffs[0 if self.rule.mode is ApplyMode.HISTORY else -1]
        ahead = {p for p, mark in self.marks.items() if cutoff.is_past(p, mark)}
        found: dict[int, PartitionMark] = {}
        for ledger in self._past_ledgers() if ahead else ():
            for partition in ahead - found.keys():
                mark = ledger.partitions.get(partition)
                if mark is None or not cutoff.is_past(partition, mark):
                    found[partition] = mark or self._beginning(partition)
            if len(found) == len(ahead):
                break
        return {
            partition: found.get(partition) or self._beginning(partition) for partition in ahead
        }

    def _beginning(self, partition: int) -> PartitionMark:
        return PartitionMark(self.floor.get(partition, EARLIEST))

    def _past_ledgers(self) -> Iterator[Ledger]:
        for summary in self.table.summaries():
            if LEDGER_PROPERTY in summary:
                ledger = Ledger.from_json(summary[LEDGER_PROPERTY])
                if ledger.topic != self.topic:
                    return  # from before the table was renamed
                yield ledger
