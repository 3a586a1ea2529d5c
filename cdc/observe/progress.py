"""What a batch did, and what a run did."""

from dataclasses import dataclass, field

from cdc.model import Account


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """One batch, in one line of the log."""

    batch: int
    tables: int
    account: Account
    write_seconds: float
    commit_seconds: float

    def __str__(self) -> str:
        a = self.account
        return (
            f"batch={self.batch} tables={self.tables} read={a.read} applied={a.applied} "
            f"superseded={a.superseded} duplicates={a.duplicates} quarantined={a.quarantined} "
            f"write_s={self.write_seconds:.2f} commit_s={self.commit_seconds:.2f}"
        )


@dataclass(slots=True)
class RunSummary:
    """A whole run: what it applied, and which tables it had to leave."""

    batches: int = 0
    account: Account = field(default_factory=Account)
    tables: set[str] = field(default_factory=set)
    parked: dict[str, str] = field(default_factory=dict)

    def add(self, progress: BatchProgress, tables: set[str]) -> None:
        """Take a finished batch into the sum; Spark also runs one when there is nothing to read."""
        self.batches += int(progress.account.read > 0)
        self.account += progress.account
        self.tables |= tables

    @property
    def exit_code(self) -> int:
        """A run that had to leave a table alone has not done all it was asked for."""
        return 1 if self.parked else 0

    def __str__(self) -> str:
        a = self.account
        lines = [
            f"applied {a.applied} changes to {len(self.tables)} tables in {self.batches} batches "
            f"({a.read} records read, {a.superseded} superseded, {a.duplicates} duplicates)"
        ]
        if a.quarantined:
            lines.append(f"quarantined {a.quarantined} records")
        lines += [f"parked {topic}: {reason}" for topic, reason in sorted(self.parked.items())]
        return "\n".join(lines)
