"""What a table has applied, and what became of the records."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from cdc.model.changes import Cutoff, PartitionMark


@dataclass(frozen=True, slots=True)
class Account:
    """What became of the records of one table: every record read is in one of the other counts."""

    read: int = 0
    applied: int = 0
    superseded: int = 0
    duplicates: int = 0
    quarantined: int = 0

    def __add__(self, other: "Account") -> "Account":
        return Account(
            self.read + other.read,
            self.applied + other.applied,
            self.superseded + other.superseded,
            self.duplicates + other.duplicates,
            self.quarantined + other.quarantined,
        )

    @property
    def balanced(self) -> bool:
        """Whether every record read is accounted for."""
        return self.read == (self.applied + self.superseded + self.duplicates + self.quarantined)


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
