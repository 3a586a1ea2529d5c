"""Records that cannot be applied: kept whole in a table of their own, each of them once."""

import logging
from collections.abc import Iterable, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cdc.commit import (
    IcebergCatalog,
    IcebergTable,
    add_columns,
    append_files,
    remove_files,
    set_properties,
    translated,
)
from cdc.config import MirrorConfig
from cdc.errors import CommitConflictError, ForeignTableError
from cdc.model import PartitionReport, TableName, TargetId, Written, WrittenFile
from cdc.runtime.task.target_plan import QuarantinePlan
from cdc.schema import arrow_schema, quarantine_schema
from cdc.sql import discard_records
from cdc.state.mirror_state import MirrorState, quarantined_text
from cdc.state.names import QUARANTINE, QUARANTINED_PROPERTY, STATE_VERSION_PROPERTY
from cdc.state.version import STATE_VERSION, first_properties
from cdc.write import FileWriter

logger = logging.getLogger(__name__)

# What tells records apart.
PLACE = ["table", "topic", "partition", "offset"]
# How often it is tried to let records go while a mirror adds others.
MOST_CONFLICTS = 5
PROPERTIES = {"format-version": "2", "write.parquet.compression-codec": "zstd"}


class Quarantine:
    """The quarantine of one mirror.

    Bad records are committed here before their table's ledger passes them. A batch that is cut off
    in between meets them again: the marks, written in the same commit as the records, say which of
    them are here already. So they do of what a second mirror of the same config has put here.
    """

    def __init__(
        self, config: MirrorConfig, catalog: IcebergCatalog, *, dry_run: bool = False
    ) -> None:
        """Open the quarantine, if there is one.

        Args:
            config: The mirror's.
            catalog: Its catalog.
            dry_run: Leave it as it is.
        """
        self._mirror = config.name
        self._catalog = catalog
        self._storage = config.catalog.properties()
        self.name = TableName((config.name,), QUARANTINE)
        self._table = catalog.load(self.name)
        self._marks: dict[str, dict[int, int]] = {}
        self._writer: FileWriter | None = None  # kept: every table asks for it in every batch
        if self._table is not None:
            self._marks = self._read_marks(self._table)
            if not dry_run:
                self._bring_up_to_date(self._table)

    def create(self) -> None:
        """Create the table; one that is there already is left as it is."""
        if self._table is None:
            properties = {**PROPERTIES, **first_properties(self._mirror)}
            self._table = self._catalog.create(self.name, quarantine_schema(), properties, None)
            self._marks = self._read_marks(self._table)

    def plan(self, target: TargetId) -> QuarantinePlan | None:
        """Tell the tasks where the bad records of a table go; nowhere before there are any."""
        if self._table is None:
            return None
        if self._writer is None:
            schema = arrow_schema(self._table.schema, str(self.name))
            self._writer = FileWriter(self._table.data_location, schema, self._storage)
        return QuarantinePlan(self._writer, self._marks.get(_name(target), {}))

    def commit(self, written: Iterable[tuple[PartitionReport, Written]]) -> None:
        """Keep the bad records of some partitions. Run twice, the second run raises a conflict.

        Raises:
            CommitConflictError: A second mirror of the same config has put some of them here.
        """
        kept = [(part, w.quarantined) for part, w in written if w.quarantined is not None]
        if not kept:
            return
        assert self._table is not None
        for attempt in range(MOST_CONFLICTS + 1):
            self._table.refresh()
            marks = self._read_marks(self._table)
            if any(_mark(marks, report) > _mark(self._marks, report) for report, _ in kept):
                self._marks = marks
                raise CommitConflictError(
                    str(self.name), "another mirror put the same records here"
                )
            for report, _ in kept:
                own = marks.setdefault(_name((report.topic, report.target)), {})
                own[report.partition] = max(own.get(report.partition, 0), report.next_offset)
            files = [file for _, file in kept]
            try:
                append_files(self._table, files, QUARANTINED_PROPERTY, quarantined_text(marks))
                break
            except CommitConflictError:  # a replay let records go, or else the marks tell
                if attempt == MOST_CONFLICTS:
                    raise
        self._marks = marks
        for report, file in kept:
            bad = report.bad_record
            logger.warning(
                "quarantined topic=%s partition=%d records=%d first_offset=%d reason=%s",
                report.topic,
                report.partition,
                file.rows,
                bad.offset if bad else -1,
                bad.reason if bad else "",
            )

    @property
    def state(self) -> MirrorState:
        """What the mirror remembers; nothing before there is a quarantine."""
        properties = self._table.properties if self._table is not None else {}
        return MirrorState.read(properties, str(self.name))

    def note(self, properties: Mapping[str, str]) -> None:
        """Keep what concerns all tables of the mirror. Done twice, it is done once."""
        self.create()
        assert self._table is not None
        set_properties(self._table, properties)

    def tables(self, spark: SparkSession) -> list[tuple[str | None, str]]:
        """List the tables and topics of the records that are here."""
        if self._table is None:
            return []
        rows = self._rows(spark).select("table", "topic").distinct().collect()
        return sorted(((row.table, row.topic) for row in rows), key=lambda t: (t[1], t[0] or ""))

    def records(self, spark: SparkSession, table: str | None, topic: str) -> pa.Table:
        """Read the records of one table, in the order of their places.

        Args:
            spark: Any session.
            table: The table; None for records from before there could be several of a topic.
            topic: Its topic.
        """
        rows = self._rows(spark)
        mine = rows["table"].eqNullSafe(F.lit(table)) & (rows["topic"] == topic)
        with translated(str(self.name)):
            found: pa.Table = rows.where(mine).toArrow()
        return found.sort_by([("partition", "ascending"), ("offset", "ascending")])

    def drop(self, spark: SparkSession, chosen: Mapping[str, str | int]) -> int:
        """Remove the records that have given values in some columns; say how many they were."""
        if self._table is None:
            return 0
        rows = self._rows(spark)
        for name, value in chosen.items():
            rows = rows.where(rows[name] == value)
        with translated(str(self.name)):
            places = rows.select(*PLACE).toArrow()
        if len(places):
            self.discard(spark, places)
        return len(places)

    def discard(self, spark: SparkSession, records: pa.Table) -> None:
        """Let records go, in one commit of their own. Run twice, the second run finds none.

        A mirror that runs beside may put others here at the same time.

        Raises:
            CommitConflictError: That happened again and again.
        """
        for attempt in range(MOST_CONFLICTS + 1):
            try:
                with translated(str(self.name)):
                    places = records.select(PLACE)
                    discard_records(spark, self._catalog.sql_name(self.name), places)
                return
            except CommitConflictError as conflict:
                if attempt == MOST_CONFLICTS:
                    raise
                logger.warning("discarding again reason=%s", conflict)

    def _rows(self, spark: SparkSession) -> DataFrame:
        return spark.sql(f"SELECT * FROM {self._catalog.sql_name(self.name)}")

    def remove(self, files: Iterable[WrittenFile]) -> None:
        """Delete files that were not committed."""
        if self._table is not None:
            remove_files(self._table, files)

    def _bring_up_to_date(self, table: IcebergTable) -> None:
        """Give an older mirror's quarantine what it lacks. Done twice, it is done once."""
        # Quarantines of before there could be several tables of a topic lack a column.
        known = {column.name for column in table.schema.fields}
        lacking = [c for c in quarantine_schema().fields if c.name not in known]
        if lacking:
            add_columns(table, [(c.name, c.field_type) for c in lacking])
        if MirrorState.read(table.properties, str(self.name)).version != STATE_VERSION:
            set_properties(table, {STATE_VERSION_PROPERTY: str(STATE_VERSION)})

    def _read_marks(self, table: IcebergTable) -> dict[str, dict[int, int]]:
        state = MirrorState.read(table.properties, str(self.name))
        if state.mirror != self._mirror:
            reason = f"it belongs to the mirror {state.mirror}"
            raise ForeignTableError(str(self.name), reason)
        return {name: dict(marks) for name, marks in state.quarantined.items()}


def _mark(marks: Mapping[str, Mapping[int, int]], report: PartitionReport) -> int:
    return marks.get(_name((report.topic, report.target)), {}).get(report.partition, 0)


def _name(target: TargetId) -> str:
    topic, table = target
    return f"{topic} {table}"
