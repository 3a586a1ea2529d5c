"""What became of the records of a table."""

from dataclasses import dataclass


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
