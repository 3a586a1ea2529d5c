"""What the steps of a batch work with."""

from dataclasses import dataclass

from pyspark.sql import SparkSession

from cdc.commit import remove_files
from cdc.errors import MirrorError
from cdc.runtime.follow.columns import ColumnFollower
from cdc.runtime.follow.context import MirrorContext
from cdc.runtime.follow.follower import Arrivals, TableFollower
from cdc.runtime.stream.plans import Plans
from cdc.runtime.tables.reports import TargetReports
from cdc.runtime.tables.table_commit import TableCommit
from cdc.runtime.tables.table_rows import TableRows
from cdc.source.topic_log import TopicLog


@dataclass(frozen=True, slots=True)
class BatchTools:
    """A mirror, and what reads, follows and writes its tables."""

    spark: SparkSession
    context: MirrorContext
    log: TopicLog
    columns: ColumnFollower
    follower: TableFollower
    plans: Plans
    rows: TableRows
    commit_table: TableCommit

    @staticmethod
    def of(
        spark: SparkSession,
        context: MirrorContext,
        log: TopicLog,
        arrivals: Arrivals | None = None,
    ) -> "BatchTools":
        """Equip the batches of one mirror."""
        columns = ColumnFollower(context)
        rows = TableRows(spark, context.catalog)
        return BatchTools(
            spark,
            context,
            log,
            columns,
            TableFollower(context, columns, arrivals),
            Plans(context),
            rows,
            TableCommit(spark, context.config.name, context.catalog, rows),
        )

    def park(self, report: TargetReports, reason: MirrorError) -> None:
        """Leave a table alone for the rest of the run, and nothing of this batch behind."""
        self.remove(report)
        self.context.tables.park(report.id, reason)

    def remove(self, report: TargetReports) -> None:
        """Delete the files of a pass that is done again or given up, and of which none counts."""
        self.remove_rows(report)
        self.remove_bad_records(report)

    def remove_bad_records(self, report: TargetReports) -> None:
        """Delete the files of bad records, which are not in quarantine."""
        self.context.quarantine.remove(
            written.quarantined for _, written in report.written if written.quarantined is not None
        )

    def remove_rows(self, report: TargetReports) -> None:
        """Delete the table's files alone: the bad records are in quarantine already."""
        if report.files:
            remove_files(self.context.tables[report.id].table, report.files)
