"""Step 3 of a replay: records that were put aside, applied by the code of every batch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from cdc.errors import CommitConflictError, MirrorError
from cdc.model import Account, TargetId
from cdc.runtime.stream.batch_tools import BatchTools
from cdc.runtime.stream.findings import BatchFindings
from cdc.runtime.stream.key_change import passes_of
from cdc.source.stream import Offsets
from cdc.source.topic_log import TopicLog
from cdc.source.topics import OffsetRange


@dataclass(frozen=True, slots=True)
class ChosenRecords:
    """A log in which nothing but the chosen records can be read, each time all of them."""

    frame: Callable[[], DataFrame]
    log: TopicLog

    def read(self, first: Offsets, next_: Offsets) -> DataFrame:
        """Give the records."""
        return self.frame()

    def ranges(self, topic: str) -> Mapping[int, OffsetRange]:
        """Know of no record beyond them."""
        return {}

    def header(self, topic: str, partition: int, offset: int, name: str) -> bytes | None:
        """Read one header of one record, which Kafka alone has."""
        return self.log.header(topic, partition, offset, name)


def apply_records(tools: BatchTools, records: DataFrame, target: TargetId) -> Account:
    """Apply records of one table that were put aside before, in one commit.

    The marks stay as they are. Run twice, the second run leaves the rows as they are.

    Args:
        tools: The tables; the log has these records alone.
        records: The records, those of a partition in one task and in their order.
        target: Their table, which is open.

    Raises:
        CommitConflictError: Somebody wrote to the table since it was opened; nothing is done.
        MirrorError: The records cannot be applied.
    """
    tables = tools.context.tables
    passes = passes_of(tools, BatchFindings().adding(target, replayed=True))
    report = passes.follow(passes.write(records, [target])).get(target)
    if report is None:
        raise tables.parked[target]
    try:
        if report.account.applied:
            tools.commit_table(tables[target], report, (), alone=True)
    except MirrorError as error:
        # Where a commit may have been made its files must stay.
        if isinstance(error, CommitConflictError) or not error.retryable:
            tools.remove_rows(report)
        raise
    return report.account
