"""Runs one task of the write step over messages, with tables in a folder."""

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cdc.config import DeleteKind, ResolvedRule
from cdc.decode import key_forms
from cdc.model import FileKind, PartitionReport, SourceTable
from cdc.runtime.task.target_plan import TargetPlan
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
        settings = {"key_forms": forms, **settings}
        return TargetPlan(decode=decode, key=table.key, writer=writer, **settings)

    @property
    def quarantine(self) -> FileWriter:
        schema = arrow_schema(quarantine_schema(), "quarantine")
        return FileWriter(f"{self.folder}/quarantine", schema, {})

    @property
    def files(self) -> list[Path]:
        return list(self.folder.rglob("*.parquet"))


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


def replaces(report: PartitionReport) -> bool:
    """Tell whether some key may have had a row in the table."""
    return any(file.kind is not FileKind.DATA for file in report.files)


def rows_in(report: PartitionReport, kind: FileKind = FileKind.DATA) -> list[tuple[Any, ...]]:
    paths = [file.path for file in report.files if file.kind is kind]
    rows = [tuple(row.values()) for path in paths for row in pq.read_table(path).to_pylist()]
    return sorted(rows)


def orders(*ids: int, start: int = 0, **where: Any) -> list[Message]:
    return [
        insert({"id": id_, "name": f"n{id_}"}, offset=start + place, **where)
        for place, id_ in enumerate(ids)
    ]
