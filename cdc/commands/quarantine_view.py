"""What is in quarantine, read without Spark."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, EqualTo, In, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.table import Table

from cdc.config import CatalogType, MirrorConfig
from cdc.errors import CatalogError, KafkaUnreachableError
from cdc.model import OFFSET
from cdc.observe.quarantine_pages import QuarantinedGroup, QuarantinedRecord
from cdc.source.topics import open_topics
from cdc.state.names import QUARANTINE

PLACE: Final = ("table", "topic", "partition", "offset")
# Texts in quotes and numbers: what differs between records that are bad for the same cause.
PARTICULARS: Final = r"""b?'(?:[^'\\]|\\.)*'|b?"(?:[^"\\]|\\.)*"|\d+(?:\.\d+)?"""
CAUSE: Final = "cause"
ALL: Final = AlwaysTrue()


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which records of the quarantine are meant; what is not set leaves all."""

    table: str | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None

    @property
    def values(self) -> dict[str, str | int]:
        """What is set, by column."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def condition(self) -> BooleanExpression:
        """The choice as pyiceberg takes it."""
        found: BooleanExpression = ALL
        for name, value in self.values.items():
            found = And(found, EqualTo(term=Reference(name), value=literal(value)))
        return found


class QuarantineView:
    """The quarantine of one mirror, as it is when it is opened."""

    def __init__(self, config: MirrorConfig) -> None:
        """Open it; a mirror without one has nothing in it.

        Raises:
            CatalogError: The catalog does not answer, or pyiceberg does not know its kind.
        """
        self._config = config
        self._catalog = _open_catalog(config)
        self._table = self._load((config.name, QUARANTINE))

    def groups(self, chosen: Chosen) -> list[QuarantinedGroup]:
        """Count the records by table, topic and cause, largest first."""
        rows = self._read(chosen, (*PLACE, "reason", "time"))
        if not len(rows):
            return []
        rows = rows.sort_by(
            [("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")]
        )
        causes = pc.replace_substring_regex(rows["reason"], PARTICULARS, "…")
        rows = rows.append_column(CAUSE, causes)
        rows = rows.append_column("replayable", self._replayable(rows))
        keys = ["table", "topic", CAUSE]
        sums = rows.group_by(keys, use_threads=False).aggregate(
            [
                *((name, "first") for name in ("reason", "partition", "offset")),
                *((name, "last") for name in ("partition", "offset")),
                *(("time", end) for end in ("min", "max")),
                ("offset", "count"),
                ("replayable", "sum"),
            ]
        )
        groups = [_group(row) for row in sums.to_pylist()]
        return sorted(groups, key=lambda g: (-g.records, g.topic, g.table or ""))

    def records(self, chosen: Chosen, limit: int) -> list[QuarantinedRecord]:
        """Read single records, in the order of their places."""
        places = self._sorted(self._read(chosen, PLACE)).slice(0, limit)
        if not len(places):
            return []
        # Whole records are large: only those are read that are shown.
        shown = {literal(offset) for offset in places["offset"].to_pylist()}
        offsets = In(term=Reference("offset"), values=shown)
        names = ("reason", "schema_id", "time", "key", "value")
        rows = self._sorted(self._read(chosen, (*PLACE, *names), offsets))
        wanted = {tuple(place.values()) for place in places.to_pylist()}
        found = [QuarantinedRecord(**row) for row in rows.to_pylist()]
        return [r for r in found if (r.table, r.topic, r.partition, r.offset) in wanted]

    def count(self, chosen: Chosen) -> int:
        """Count the records that are meant."""
        return len(self._read(chosen, PLACE))

    def _sorted(self, rows: pa.Table) -> pa.Table:
        return rows.sort_by([(name, "ascending") for name in PLACE])

    def _read(
        self, chosen: Chosen, names: Iterable[str], also: BooleanExpression = ALL
    ) -> pa.Table:
        names = tuple(names)
        nothing = pa.table({name: pa.array([], pa.string()) for name in names})
        if self._table is None:
            return nothing
        # Quarantines of before there could be several tables of a topic lack a column.
        known = {column.name for column in self._table.schema().fields}
        lacking = [name for name in names if name not in known]
        if lacking and chosen.table is not None:
            return nothing
        condition = And(chosen.condition, also)
        scan = self._table.scan(condition, tuple(name for name in names if name in known))
        rows = scan.to_arrow()
        for name in lacking:
            rows = rows.append_column(name, pa.nulls(len(rows), pa.string()))
        return rows.select(names)

    def _replayable(self, rows: pa.Table) -> pa.Array:
        """Tell for each record whether Kafka has all that came after it; null: nobody knows.

        A log takes every record, whatever came after it.
        """
        logs = {name for name in pc.unique(rows["table"]).to_pylist() if self._is_log(name)}
        is_log = pc.is_in(rows["table"], pa.array(sorted(logs), pa.string()))
        topics: dict[str, set[int]] = {}
        for place in (
            rows.select(["topic", "partition"])
            .group_by(["topic", "partition"])
            .aggregate([])
            .to_pylist()
        ):
            topics.setdefault(place["topic"], set()).add(place["partition"])
        try:
            first = self._first_offsets(topics)
        except KafkaUnreachableError:
            return pc.if_else(is_log, pa.scalar(1), pa.scalar(None, pa.int64()))
        held = np.zeros(len(rows), bool)
        offsets = rows["offset"].to_numpy()
        for (topic, partition), offset in first.items():
            here = pc.and_(pc.equal(rows["topic"], topic), pc.equal(rows["partition"], partition))
            held |= here.to_numpy(zero_copy_only=False) & (offsets + 1 >= offset)
        return pc.or_(is_log, pa.chunked_array([pa.array(held)])).cast(pa.int64())

    def _first_offsets(self, topics: Mapping[str, Iterable[int]]) -> dict[tuple[str, int], int]:
        with open_topics(self._config.kafka.client_options()) as reader:
            there = reader.matching(tuple(topics))
            known = {t: [p for p in topics[t] if p in there[t]] for t in topics if t in there}
            return {place: held.first for place, held in reader.ranges(known).items()}

    def _is_log(self, name: str | None) -> bool:
        table = self._load(tuple(name.split("."))) if name else None
        return table is not None and any(c.name == OFFSET for c in table.schema().fields)

    def _load(self, name: tuple[str, ...]) -> Table | None:
        if self._catalog is None:
            return None
        try:
            return self._catalog.load_table(name)
        except NoSuchTableError:
            return None


def _group(row: Mapping[str, Any]) -> QuarantinedGroup:
    return QuarantinedGroup(
        table=row["table"],
        topic=row["topic"],
        reason=row["reason_first"],
        records=row["offset_count"],
        first=(row["partition_first"], row["offset_first"]),
        last=(row["partition_last"], row["offset_last"]),
        first_time=row["time_min"],
        last_time=row["time_max"],
        replayable=row["replayable_sum"],
    )


def _open_catalog(config: MirrorConfig) -> Catalog | None:
    """Open the catalog; None where there is none yet."""
    properties = config.catalog.properties()
    name = f"the catalog {config.name}"
    if config.catalog.type is CatalogType.HADOOP:
        reason = f"pyiceberg does not know hadoop; Spark can read {config.name}.{QUARANTINE}"
        raise CatalogError(name, reason)
    uri = properties.get("uri", "")
    if uri.startswith("sqlite") and not Path(uri.partition(":///")[2]).exists():
        return None
    try:
        catalog = load_catalog(config.name, **properties)
        catalog.list_namespaces()
    # pyiceberg passes on whatever its catalogs' client libraries raise.
    except Exception as error:
        raise CatalogError(name, str(error).split("\n")[0] or type(error).__name__) from error
    return catalog
