"""How far a table has come, as each of its commits says: the ledger."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from cdc.errors import LostLedgerError
from cdc.model import Account, Cutoff, PartitionMark
from cdc.state.names import (
    FORMER_PROPERTY,
    LEDGER_PROPERTY,
    SEQUENCE_PROPERTY,
    TOPIC_PROPERTY,
)


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a table has applied, kept in the table's own commits."""

    mirror: str
    topic: str
    batch: int
    partitions: Mapping[int, PartitionMark]
    account: Account = field(default_factory=Account)
    # The last one, as long as a partition may still hold changes from before it.
    pending_cutoff: Cutoff | None = None
    # Where in the source's log the last snapshot of the table stands: position and time.
    snapshot: tuple[int, int | None] | None = None

    def to_json(self) -> str:
        """Write the ledger as the text that a snapshot summary carries."""
        marks = {str(p): [m.next_offset, m.position] for p, m in sorted(self.partitions.items())}
        a, cutoff = self.account, self.pending_cutoff
        pending = {"truncate": cutoff.entry} if cutoff else {}
        snapshot = {"snapshot": list(self.snapshot)} if self.snapshot else {}
        return json.dumps(
            {
                "mirror": self.mirror,
                "topic": self.topic,
                "batch": self.batch,
                "partitions": marks,
                "read": a.read,
                "applied": a.applied,
                "superseded": a.superseded,
                "duplicates": a.duplicates,
                "quarantined": a.quarantined,
                **pending,
                **snapshot,
            },
            separators=(",", ":"),
        )

    @staticmethod
    def from_json(text: str) -> "Ledger":
        """Read a ledger back from a snapshot summary."""
        raw = json.loads(text)
        marks = {int(p): PartitionMark(*mark) for p, mark in raw["partitions"].items()}
        counts = (raw["read"], raw["applied"], raw["superseded"], raw["duplicates"])
        account = Account(*counts, raw.get("quarantined", 0))  # older ledgers have none
        cutoff = Cutoff.from_entry(raw["truncate"]) if "truncate" in raw else None
        snapshot = tuple(raw["snapshot"]) if "snapshot" in raw else None
        return Ledger(raw["mirror"], raw["topic"], raw["batch"], marks, account, cutoff, snapshot)


@dataclass(frozen=True, slots=True)
class PastSnapshot:
    """One snapshot of a table's history."""

    id: int
    sequence: int
    ledger: str | None  # what its summary says of it
    committed: int | None = None  # milliseconds since 1970


@dataclass(frozen=True, slots=True)
class FoundLedger:
    """The newest ledger of a table, and when it was committed; None where its snapshot is gone."""

    ledger: Ledger
    committed: int | None = None


def newest_ledger(
    table: str, history: Iterable[PastSnapshot], properties: Mapping[str, str]
) -> FoundLedger | None:
    """Find how far a table has come.

    The newest snapshot that carries a ledger counts: a compaction by others carries none, and after
    a rollback the mirror goes on from where the table is then. The table property serves when
    the snapshots that carried one have expired. A rollback leaves it as it is, so it counts only
    if its snapshot is older than all that are left: were it one of them, it would have been met.

    Args:
        table: The table's name, for errors.
        history: The snapshots that led to the current one, newest first, and that one itself.
        properties: The table's properties.

    Raises:
        LostLedgerError: The table was rolled back to where no ledger is left.
    """
    current: int | None = None
    oldest: int | None = None
    for snapshot in history:
        current = snapshot.id if current is None else current
        if snapshot.ledger is not None:
            ledger = _of_this_topic(Ledger.from_json(snapshot.ledger), properties)
            if ledger is None:
                raise LostLedgerError(table, current)
            return FoundLedger(ledger, snapshot.committed)
        oldest = snapshot.sequence
    text = properties.get(LEDGER_PROPERTY)
    if text is None:
        return None
    sequence = properties.get(SEQUENCE_PROPERTY)  # mirrors before this one wrote none
    expired = sequence is None or (oldest is not None and int(sequence) < oldest)
    ledger = _of_this_topic(Ledger.from_json(text), properties) if expired else None
    if ledger is None:
        raise LostLedgerError(table, current)
    return FoundLedger(ledger)


def past_ledgers(topic: str, history: Iterable[PastSnapshot]) -> Iterator[Ledger]:
    """Go through a table's ledgers, newest first, as far as they are of its topic."""
    for snapshot in history:
        if snapshot.ledger is not None:
            ledger = Ledger.from_json(snapshot.ledger)
            if ledger.topic != topic:
                return
            yield ledger


def _of_this_topic(ledger: Ledger, properties: Mapping[str, str]) -> Ledger | None:
    """Give what a ledger says of the topic that its table has now.

    One from before the table was renamed is of another topic, of which the table had everything:
    the new topic starts at its first record. None if it is older than that: the table was set back
    to where it had not had everything, and nobody reads the old topic any more.
    """
    topic = properties.get(TOPIC_PROPERTY, ledger.topic)
    if ledger.topic == topic:
        return ledger
    if json.loads(properties.get(FORMER_PROPERTY, "[]")) != [ledger.topic, ledger.batch]:
        return None
    return replace(ledger, topic=topic, partitions={}, pending_cutoff=None)
