"""What became of the records of a partition: each of them has exactly one outcome."""

from typing import Any

import numpy as np
import pyarrow as pa

from cdc.model import Account, PartitionMark

Offsets = np.ndarray[Any, np.dtype[np.int64]]


class Tally:
    """Counts the records of one topic partition by their offsets.

    What the ledger has already is a duplicate, also where it is read again. Of the others a record
    is quarantined if it is bad, applied if the table is as one of its changes says, and else
    superseded.
    """

    def __init__(self, mark: PartitionMark | None) -> None:
        """Count from a mark on: up to it the table has everything."""
        self._known = max(mark.next_offset, 0) if mark is not None else 0
        self._duplicates = 0
        self.read = 0
        self.first_offset = -1
        self.next_offset = 0

    def take(self, offsets: pa.Array) -> None:
        """Count records as read; each is taken once, in the order of their offsets."""
        first = offsets[0].as_py()
        if self.first_offset < 0:
            self.first_offset = first
        self.next_offset = offsets[-1].as_py() + 1
        self.read += len(offsets)
        if first < self._known:
            self._duplicates += int(np.searchsorted(offsets.to_numpy(), self._known))

    def account(self, applied: Offsets, bad: Offsets) -> Account:
        """Say what became of the records.

        Args:
            applied: The offsets of the changes that the table shows now; a record that makes two
                changes may be here twice.
            bad: The offsets of the records that cannot be applied.
        """
        quarantined = self._new(bad)
        effective = np.setdiff1d(self._new(applied), quarantined, assume_unique=True)
        return Account(
            read=self.read,
            applied=len(effective),
            superseded=self.read - self._duplicates - len(quarantined) - len(effective),
            duplicates=self._duplicates,
            quarantined=len(quarantined),
        )

    def _new(self, offsets: Offsets) -> Offsets:
        """Keep the offsets of records that the ledger does not have, each once."""
        return np.unique(offsets[offsets >= self._known])
