"""Mirrored tables as a run leaves them, made through pyiceberg in a catalog on disk."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from cdc.config import MirrorConfig
from cdc.config.load import parse_config
from cdc.model import PartitionMark
from cdc.schema import quarantine_schema
from cdc.state.ledger import Ledger
from cdc.state.names import LEDGER_PROPERTY, MIRROR_PROPERTY, QUARANTINE, TOPIC_PROPERTY

CONFIG = """
name = "shop"
[source]
connector = "postgres"
topics = ["srv.public.*"]
[kafka]
"bootstrap.servers" = "localhost:9"
"""
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})


def config_in(folder: Path, more: str = "") -> MirrorConfig:
    """Make a config; its catalog is under its own folder, as a user's is."""
    return parse_config((CONFIG + more).encode(), folder / "shop.toml")


def open_catalog(config: MirrorConfig) -> Catalog:
    """Open the config's catalog as the mirror has it open: it may make tables."""
    file = str(config.catalog.uri).partition(":///")[2]
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    catalog = load_catalog(config.name, **config.catalog.properties())
    assert isinstance(catalog, SqlCatalog)
    return catalog


def ledger_of(topic: str, offsets: Mapping[int, int], batch: int = 0) -> Ledger:
    """Say that a table has all records before these offsets."""
    return Ledger("shop", topic, batch, {p: PartitionMark(o) for p, o in offsets.items()})


def create_table(
    catalog: Catalog,
    name: str,
    topic: str | None = "srv.public.orders",
    mirror: str = "shop",
    offsets: Mapping[int, int] | None = None,
    properties: Mapping[str, str] | None = None,
) -> Table:
    """Make a table of a topic; with offsets, it has three rows and a ledger."""
    namespace = name.rpartition(".")[0]
    for depth in range(1, namespace.count(".") + 2):
        catalog.create_namespace_if_not_exists(tuple(namespace.split(".")[:depth]))
    owner = {MIRROR_PROPERTY: mirror} if topic is not None else {}
    owner |= {TOPIC_PROPERTY: topic} if topic is not None else {}
    table = catalog.create_table(name, ROWS.schema, properties={**owner, **(properties or {})})
    if offsets is not None and topic is not None:
        text = ledger_of(topic, offsets).to_json()
        table.append(ROWS, snapshot_properties={LEDGER_PROPERTY: text})
    return table


def create_quarantine(catalog: Catalog, *records: tuple[str, str]) -> Table:
    """Make the table of bad records; each is given by its topic and its table."""
    catalog.create_namespace_if_not_exists("shop")
    table = catalog.create_table(f"shop.{QUARANTINE}", quarantine_schema())
    rows = [
        {
            "table": name,
            "topic": topic,
            "partition": 0,
            "offset": offset,
            "key": None,
            "value": b"garbage",
            "reason": "no JSON",
            "schema_id": None,
            "time": 0,
        }
        for offset, (topic, name) in enumerate(records)
    ]
    if rows:
        table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
    return table
