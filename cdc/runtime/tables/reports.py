"""What the write tasks did with one table's records, put together."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa

from cdc.config.ceiling import Ceiling, most_quarantined
from cdc.errors import MirrorError, NotDebeziumError, TooManyBadRecordsError
from cdc.model import (
    Account,
    Cutoff,
    News,
    PartitionReport,
    SchemaPlace,
    SourceSchema,
    TargetId,
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
        return next((p.failure for p in self.partitions if p.failure is not None), None)

    @property
    def has_news(self) -> bool:
        """Whether a task met something that the plan does not cover."""
        return any(p.news is not None for p in self.partitions)

    @property
    def bare(self) -> bool:
        """Whether some records carry no schema."""
        return any(p.bare for p in self.partitions)

    @property
    def restless(self) -> bool:
        """Whether these reports are not the last word on their records."""
        # Without a table there is no ledger that could pass the records that cannot be read.
        homeless = self.id[1] is None and self.unreadable is not None
        return self.failure is not None or self.has_news or homeless

    @property
    def unreadable(self) -> MirrorError | None:
        """The first record that cannot be read, if there is one."""
        for part in self.partitions:
            if part.bad is not None:
                bad = part.bad
                return NotDebeziumError(self.topic, part.partition, bad.offset, bad.reason)
        return None

    def beyond(self, ceiling: Ceiling) -> MirrorError | None:
        """Say what is wrong where more records are bad than may go into quarantine."""
        account = self.account
        read = account.read - account.duplicates
        allowed = most_quarantined(ceiling, read)
        first = next(((p.partition, p.bad) for p in self.partitions if p.bad is not None), None)
        if account.quarantined <= allowed or first is None:
            return None
        partition, bad = first
        return TooManyBadRecordsError(
            str(self.id[1]),
            account.quarantined,
            read,
            allowed,
            (partition, bad.offset),
            bad.reason,
        )

    @property
    def news(self) -> News:
        """What all tasks met, so that the table is made for all of it at once."""
        found = [p.news for p in self.partitions if p.news is not None]
        return News(
            next((news.table for news in found if news.table is not None), None),
            tuple(dict.fromkeys(schema for news in found for schema in news.schemas)),
            quarantine=any(news.quarantine for news in found),
            places=_first_places(found),
            key_forms=frozenset().union(*(news.key_forms for news in found)),
        )

    @property
    def missing(self) -> pa.Table | None:
        """The keys of all changes that leave out a value, and the names of those."""
        found = [p.news.missing for p in self.partitions if p.news and p.news.missing is not None]
        return pa.concat_tables(found) if found else None

    @property
    def changes_plan(self) -> bool:
        """Whether tasks will do something else next time, and may then lack more than they say."""
        news = self.news
        return bool(news.schemas or news.quarantine or news.key_forms or self.truncates)

    @property
    def moved(self) -> list[tuple[int, int]]:
        """The inserts that are rows with another key, by partition and offset."""
        return [(p.partition, offset) for p in self.partitions if p.news for offset in p.news.moved]

    @property
    def truncates(self) -> tuple[Cutoff, ...]:
        """The truncates that the plan does not cover."""
        return tuple(t for p in self.partitions if p.news is not None for t in p.news.truncates)

    @property
    def snapshots(self) -> tuple[Cutoff, ...]:
        """Where snapshots of the whole table begin, oldest first; one for each of them."""
        found = {(t.time or 0, t.position): t for p in self.partitions for t in p.snapshots}
        return tuple(found[place] for place in sorted(found))

    @property
    def files(self) -> tuple[WrittenFile, ...]:
        """All files that were written for the table."""
        return tuple(file for p in self.partitions for file in p.files)

    @property
    def account(self) -> Account:
        """All records of the topic, as far as this table is concerned."""
        return reduce(Account.__add__, (p.account for p in self.partitions), Account())

    @property
    def progress(self) -> bool:
        """Whether a record is new to the ledger; a replayed batch has none."""
        return self.account.read > self.account.duplicates


def _first_places(found: Iterable[News]) -> dict[SourceSchema, SchemaPlace]:
    """Give where each schema was met first in the source's log."""
    places: dict[SourceSchema, SchemaPlace] = {}
    for news in found:
        for schema, place in news.places.items():
            if schema not in places or place.position < places[schema].position:
                places[schema] = place
    return places


def by_target(reports: Iterable[PartitionReport]) -> dict[TargetId, TargetReports]:
    """Put the reports of one table together."""
    found: dict[TargetId, list[PartitionReport]] = {}
    for report in reports:
        found.setdefault((report.topic, report.target), []).append(report)
    return {id_: TargetReports(id_, tuple(parts)) for id_, parts in found.items()}
