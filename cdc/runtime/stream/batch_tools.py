"""What the steps of a batch work with."""

from dataclasses import dataclass

from pyspark.sql import SparkSession

from cdc.dialect import Dialect
from cdc.errors import MirrorError
from cdc.runtime.tables.open_tables import Tables
from cdc.runtime.tables.reports import TargetReports
from cdc.runtime.tables.table_commit import TableCommit
from cdc.runtime.tables.table_rows import TableRows
from cdc.source.topic_log import TopicLog


@dataclass(frozen=True, slots=True)
class BatchTools:
    """The tables of a mirror, and what reads and writes them."""

    spark: SparkSession
    dialect: Dialect
    tables: Tables
    log: TopicLog
    rows: TableRows
    commit_table: TableCommit

    @staticmethod
    def of(
        spark: SparkSession, mirror: str, dialect: Dialect, tables: Tables, log: TopicLog
    ) -> "BatchTools":
        """Equip the batches of one mirror."""
        rows = TableRows(spark, tables.catalog)
        commit = TableCommit(spark, mirror, tables.catalog, rows)
        return BatchTools(spark, dialect, tables, log, rows, commit)

    def park(self, report: TargetReports, reason: MirrorError) -> None:
        """Leave a table alone for the rest of the run, and nothing of this batch behind."""
        self.remove(report)
        self.tables.park(report.id, reason)

    def remove(self, report: TargetReports) -> None:
        """Delete the files of a pass that is done again or given up, and of which none counts."""
        self.remove_rows(report)
        self.remove_bad_records(report)

    def remove_bad_records(self, report: TargetReports) -> None:
        """Delete the files of bad records, which are not in quarantine."""
        self.tables.quarantine.remove(
            written.quarantined for _, written in report.written if written.quarantined is not None
        )

    def remove_rows(self, report: TargetReports) -> None:
        """Delete the table's files alone: the bad records are in quarantine already."""
        if report.files:
            self.tables[report.id].table.remove(report.files)
