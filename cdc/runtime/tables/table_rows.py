"""Rows of a table that only the driver can read or end: those that no index knows."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from cdc.collapse import Key, after_cutoff, mode_of
from cdc.commit import IcebergCatalog, translated
from cdc.model import MISSING, OFFSET, PARTITION, Cutoff, FileKind
from cdc.runtime.tables.mirrored_table import MirroredTable
from cdc.runtime.tables.reports import TargetReports
from cdc.runtime.task.table_writer import bounds_of
from cdc.sql import (
    NEWEST_IN_LOG,
    NEWEST_VERSION,
    WITH_VALUES,
    close_all,
    columns_with_nulls,
    fill_defaults,
    mark_all_deleted,
    rows_of_keys,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TableRows:
    """Reads and ends rows by Spark SQL."""

    spark: SparkSession
    catalog: IcebergCatalog

    def read(self, mirrored: MirroredTable, unsent: pa.Table) -> pa.Table:
        """Read what changes leave out: of their keys, and no other.

        Args:
            mirrored: The table.
            unsent: The key columns, and the names of the columns that each change leaves out.
        """
        key = [name for name in unsent.column_names if name != MISSING]
        names = sorted(pc.unique(unsent[MISSING].combine_chunks().flatten()).to_pylist())
        keys = unsent.select(key).group_by(key).aggregate([])
        mode = mode_of(mirrored.rule)
        newest_by = NEWEST_IN_LOG if mode.is_log else NEWEST_VERSION if mode.keeps_versions else ()
        with translated(str(mirrored.table.name)):
            return rows_of_keys(
                self.spark,
                self.catalog.sql_name(mirrored.table.name),
                keys,
                names,
                bounds_of(keys, tuple(key)),
                newest_by=newest_by,
                only=WITH_VALUES if mode.is_log else None,
            )

    def logged(self, mirrored: MirroredTable, places: Sequence[tuple[int, int]]) -> pa.Table:
        """Find which records a log has rows of, by their partitions and offsets."""
        partitions, offsets = zip(*places, strict=True) if places else ((), ())
        records = pa.table(
            {PARTITION: pa.array(partitions, pa.int32()), OFFSET: pa.array(offsets, pa.int64())}
        )
        name = self.catalog.sql_name(mirrored.table.name)
        bounds = bounds_of(records, (OFFSET,))
        with translated(str(mirrored.table.name)):
            return rows_of_keys(self.spark, name, records, [], bounds)

    def end_all(self, mirrored: MirroredTable) -> None:
        """Mark all rows of a table that keeps deleted ones. Done twice, it is done once.

        It comes before the batch's rows are written, since it moves those that they replace.
        """
        if mirrored.rule.soft and mirrored.view.snapshot is not None:
            with translated(str(mirrored.table.name)):
                mark_all_deleted(self.spark, self.catalog.sql_name(mirrored.table.name))
            mirrored.reopen()

    def fill_defaults(self, mirrored: MirroredTable) -> None:
        """Give new columns their defaults in the rows from before. Done twice, it is done once."""
        missing = mirrored.state.backfill
        if not missing:
            return
        if not mirrored.view.empty:
            with translated(str(mirrored.table.name)):
                fill_defaults(
                    self.spark,
                    self.catalog.sql_name(mirrored.table.name),
                    missing,
                    current_only=mode_of(mirrored.rule).keeps_versions,
                )
            logger.info("filled columns=%s table=%s", ",".join(missing), mirrored.table.name)
        mirrored.reopen()
        mirrored.keep(replace(mirrored.state, backfill={}))

    def lacking(self, mirrored: MirroredTable, columns: Sequence[str]) -> tuple[str, ...]:
        """Say which of some columns is null in a row that the source has."""
        if mirrored.view.empty:
            return ()
        with translated(str(mirrored.table.name)):
            return columns_with_nulls(
                self.spark, self.catalog.sql_name(mirrored.table.name), columns
            )

    def close_others(
        self, mirrored: MirroredTable, cutoffs: Sequence[Cutoff], report: TargetReports
    ) -> None:
        """End the versions of all keys at cutoffs but those that the batch's files end.

        Versions that came after a cutoff, through partitions that were ahead of it, stay too. It
        comes right before the commit: if that fails, all is done again and comes out the same.
        """
        if mirrored.table.snapshot_id is None:
            return
        with translated(str(mirrored.table.name)):
            ended = self._keys_of(mirrored, report)
            for cutoff in cutoffs:
                newer = [
                    after_cutoff(written.survivors, part.partition, cutoff).select(mirrored.key)
                    for part, written in report.written
                    if written.survivors is not None
                ]
                kept = [keys for keys in (ended, *newer) if keys is not None and len(keys)]
                close_all(
                    self.spark,
                    self.catalog.sql_name(mirrored.table.name),
                    cutoff.time or 0,
                    mirrored.key,
                    pa.concat_tables(kept, promote_options="permissive") if kept else None,
                )
        mirrored.table.refresh()

    def _keys_of(self, mirrored: MirroredTable, report: TargetReports) -> pa.Table | None:
        """Read the keys of a batch's rows from its files."""
        paths = [file.path for file in report.files if file.kind is FileKind.DATA]
        if not paths:
            return None
        key = ["`" + name.replace("`", "``") + "`" for name in mirrored.key]
        return self.spark.read.parquet(*paths).select(*key).distinct().toArrow()


def with_keys(unsent: pa.Table, keys: Iterable[Key]) -> pa.Table:
    """Want the same values of more keys: of each, all that any change leaves out."""
    names = pc.unique(unsent[MISSING].combine_chunks().flatten()).to_pylist()
    more = [{**key, MISSING: names} for key in keys]
    return pa.concat_tables([unsent, pa.Table.from_pylist(more, schema=unsent.schema)])
