"""Mirrored tables as somebody sees them, without a catalog."""

from collections.abc import Mapping
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from cdc.config import ResolvedRule
from cdc.model import SourceTable, TableName
from cdc.state.key import TableKey
from cdc.state.ledger import Ledger
from cdc.state.table_state import TableState
from cdc.state.table_view import TableView

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "name", StringType(), required=False),
)


def a_view(
    *,
    topic: str = "srv.public.orders",
    source: SourceTable | None = None,
    rule: ResolvedRule | None = None,
    name: str = "orders",
    schema: Schema = SCHEMA,
    state: Mapping[str, Any] | None = None,
    ledger: Ledger | None = None,
) -> TableView:
    """Make a view of a table with the key `id`; `state` says what else it remembers."""
    known: dict[str, Any] = {"mirror": "shop", "topic": topic, "key": TableKey(("id",))}
    return TableView(
        topic=topic,
        source=source or SourceTable("srv", "shop", "public", name),
        rule=rule or ResolvedRule(),
        name=TableName(("shop",), name),
        uuid=f"uuid of {name}",
        location=f"file:/warehouse/shop/{name}",
        metadata_file="1.json",
        schema=schema,
        partitioned_by=frozenset(),
        snapshot=None if ledger is None else 1,
        sequence=0 if ledger is None else 1,
        empty=ledger is None,
        state=TableState(**{**known, **(state or {})}),
        ledger=ledger,
    )
