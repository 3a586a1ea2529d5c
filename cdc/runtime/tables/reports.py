"""What the write tasks did with one table's records, put together."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa

from cdc.config.ceiling import Ceiling, most_quarantined
from cdc.errors import MirrorError, NotDebeziumError, TooManyBadRecordsError
from cdc.model import (
    Account,
    BadRecord,
    Cutoff,
    Failed,
    PartitionReport,
    SchemaPlace,
    SourceSchema,
    TargetId,
    Unplanned,
    Unsent,
    Written,
    WrittenFile,
)


@dataclass(frozen=True, slots=True)
class TargetReports:
    """What the tasks of one topic did for one of its tables."""

    id: TargetId
    partitions: tuple[PartitionReport, ...]

    @property
    def topic(self) -> str:
        """The topic of the records."""
        return self.id[0]

    @property
    def failure(self) -> MirrorError | None:
        """The first thing that went wrong."""
        found = (p.outcome.error for p in self.partitions if isinstance(p.outcome, Failed))
        return next(found, None)

    @property
    def unplanned(self) -> Unplanned | None:
        """What the tasks met, all of it: a table is made for that at once."""
        found = [p.outcome for p in self.partitions if isinstance(p.outcome, Unplanned)]
        return _joined(found) if found else None

    @property
    def written(self) -> tuple[tuple[PartitionReport, Written], ...]:
        """The partitions of which files were written, and those."""
        return tuple((p, p.outcome) for p in self.partitions if isinstance(p.outcome, Written))

    @property
    def needs_pass(self) -> bool:
        """Whether these reports are not the last word on their records."""
        # Without a table there is no ledger that could pass the records that cannot be read.
        homeless = self.id[1] is None and self.unreadable is not None
        return len(self.written) < len(self.partitions) or homeless

    @property
    def schemaless(self) -> bool:
        """Whether some records carry no schema."""
        return any(p.schemaless for p in self.partitions)

    @property
    def unreadable(self) -> MirrorError | None:
        """The first record that cannot be read, if there is one."""
        for partition, bad in self._bad_records():
            return NotDebeziumError(self.topic, partition, bad.offset, bad.reason)
        return None

    def excess(self, ceiling: Ceiling) -> MirrorError | None:
        """Say what is wrong where more records are bad than may go into quarantine."""
        account = self.account
        read = account.read - account.duplicates
        allowed = most_quarantined(ceiling, read)
        for partition, bad in self._bad_records():
            if account.quarantined > allowed:
                name, count = str(self.id[1]), account.quarantined
                first = partition, bad.offset
                return TooManyBadRecordsError(name, count, read, allowed, first, bad.reason)
        return None

    @property
    def snapshots(self) -> tuple[Cutoff, ...]:
        """What came before snapshots of the whole table, oldest first; one for each of them."""
        found = {(c.time or 0, c.position): c for p in self.partitions for c in p.snapshots}
        return tuple(found[place] for place in sorted(found))

    @property
    def files(self) -> tuple[WrittenFile, ...]:
        """All files that were written for the table."""
        return tuple(file for _, written in self.written for file in written.files)

    @property
    def account(self) -> Account:
        """All records of the topic, as far as this table is concerned."""
        return reduce(Account.__add__, (w.account for _, w in self.written), Account())

    @property
    def is_new(self) -> bool:
        """Whether a record is new to the ledger; a replayed batch has none."""
        return self.account.read > self.account.duplicates

    def _bad_records(self) -> list[tuple[int, BadRecord]]:
        """Name the first bad record of each partition that has one."""
        return [(p.partition, p.bad_record) for p in self.partitions if p.bad_record is not None]


def _joined(found: Iterable[Unplanned]) -> Unplanned:
    found = list(found)
    unsent = [unplanned.unsent for unplanned in found if unplanned.unsent is not None]
    return Unplanned(
        next((unplanned.table for unplanned in found if unplanned.table is not None), None),
        tuple(dict.fromkeys(schema for unplanned in found for schema in unplanned.schemas)),
        tuple(truncate for unplanned in found for truncate in unplanned.truncates),
        quarantine=any(unplanned.quarantine for unplanned in found),
        places=_first_places(found),
        key_forms=frozenset().union(*(unplanned.key_forms for unplanned in found)),
        unsent=_all_unsent(unsent) if unsent else None,
    )


def _all_unsent(found: Iterable[Unsent]) -> Unsent:
    found = list(found)
    values = pa.concat_tables([unsent.values for unsent in found])
    return Unsent(values, tuple(insert for unsent in found for insert in unsent.moved))


def _first_places(found: Iterable[Unplanned]) -> dict[SourceSchema, SchemaPlace]:
    """Give where each schema was met first in the source's log."""
    places: dict[SourceSchema, SchemaPlace] = {}
    for unplanned in found:
        for schema, place in unplanned.places.items():
            if schema not in places or place.position < places[schema].position:
                places[schema] = place
    return places


def by_target(reports: Iterable[PartitionReport]) -> dict[TargetId, TargetReports]:
    """Put the reports of one table together."""
    found: dict[TargetId, list[PartitionReport]] = {}
    for report in reports:
        found.setdefault((report.topic, report.target), []).append(report)
    return {id_: TargetReports(id_, tuple(parts)) for id_, parts in found.items()}
