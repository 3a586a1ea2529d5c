"""Runs one task of the write step over messages, with tables in a folder."""

import pickle
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cdc.config import DeleteKind, ResolvedRule
from cdc.decode import key_forms
from cdc.model import FileKind, PartitionReport, SourceTable, Unplanned, Written
from cdc.runtime.task.target_plan import Findings, KeyRouting, TargetPlan
from cdc.runtime.task.write_task import WriteTask
from cdc.schema import arrow_schema, quarantine_schema
from cdc.write import FileWriter
from connectors import DIALECTS
from tests.unit.messages import (
    ORDERS,
    Message,
    Table,
    column,
    insert,
    planned,
    record_batch,
)

POSTGRES = DIALECTS["postgres"]
EQUALITY = ResolvedRule(deletes=DeleteKind.EQUALITY)
INVOICES = Table(name="invoices")
WIDER = Table((*ORDERS.columns, column("size", "int32")))
ORDERS_SOURCE = SourceTable("srv", "shop", "public", "orders")


class Tables:
    """The tables of a test, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def plan(self, table: Table = ORDERS, *also: Table, **settings: Any) -> TargetPlan:
        met = [insert(dict.fromkeys(t.key), table=t) for t in (table, *also)]
        decode = planned(met, POSTGRES)
        assert decode.table is not None
        writer = FileWriter(f"{self.folder}/{table.name}", decode.table.schema, {})
        forms = key_forms(pa.array([m.key for m in met], pa.binary())) | {"plain"}
        routing = KeyRouting(key_forms=forms, **_taken(KeyRouting, settings))
        findings = Findings(**_taken(Findings, settings))
        return TargetPlan(
            decode=decode,
            key=table.key,
            writer=writer,
            routing=routing,
            findings=findings,
            **settings,
        )

    @property
    def quarantine(self) -> FileWriter:
        schema = arrow_schema(quarantine_schema(), "quarantine")
        return FileWriter(f"{self.folder}/quarantine", schema, {})

    @property
    def files(self) -> list[Path]:
        return list(self.folder.rglob("*.parquet"))


def _taken(part: type[Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Take the settings that belong to a part of a plan."""
    names = [field.name for field in fields(part)]
    return {name: settings.pop(name) for name in names if name in settings}


def run(
    messages: Iterable[Message],
    *plans: TargetPlan,
    parked: frozenset[str] = frozenset(),
    size: int = 99,
) -> list[PartitionReport]:
    """Run a task over messages handed out in record batches of at most `size`."""
    records = list(messages)
    batches = [record_batch(records[n : n + size]) for n in range(0, len(records), size)]
    task = WriteTask(POSTGRES, {plan.decode.topic: (plan,) for plan in plans}, parked)
    copy: WriteTask = pickle.loads(pickle.dumps(task))  # as Spark hands it to its workers
    return [pickle.loads(row) for batch in copy(batches) for row in batch.column(0).to_pylist()]


def run_one(messages: Iterable[Message], *plans: TargetPlan, size: int = 99) -> PartitionReport:
    (report,) = run(messages, *plans, size=size)
    return report


def written(report: PartitionReport) -> Written:
    """Give what was written, as everything should be."""
    assert isinstance(report.outcome, Written), report.outcome
    return report.outcome


def unplanned(report: PartitionReport) -> Unplanned:
    """Give what keeps everything from being written."""
    assert isinstance(report.outcome, Unplanned), report.outcome
    return report.outcome


def write_one(messages: Iterable[Message], *plans: TargetPlan, size: int = 99) -> Written:
    """Run a task over the messages of one partition, all of which it writes."""
    return written(run_one(messages, *plans, size=size))


def replaces(outcome: Written) -> bool:
    """Tell whether some key may have had a row in the table."""
    return any(file.kind is not FileKind.DATA for file in outcome.files)


def rows_in(outcome: Written, kind: FileKind = FileKind.DATA) -> list[tuple[Any, ...]]:
    paths = [file.path for file in outcome.files if file.kind is kind]
    rows = [tuple(row.values()) for path in paths for row in pq.read_table(path).to_pylist()]
    return sorted(rows)


def orders(*ids: int, start: int = 0, **where: Any) -> list[Message]:
    return [
        insert({"id": id_, "name": f"n{id_}"}, offset=start + place, **where)
        for place, id_ in enumerate(ids)
    ]
