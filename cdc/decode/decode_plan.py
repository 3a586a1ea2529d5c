"""What the decoder knows of a topic and of the table that its changes are for."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from cdc.config import ChangeKind
from cdc.config.type_choices import Otherwise
from cdc.decode.wire import Wire
from cdc.dialect import Dialect
from cdc.model import Form, SchemaEvent, SourceSchema
from cdc.model.column_types import KnownColumns


@dataclass(frozen=True, slots=True)
class ValueRules:
    """What the config asks of a table's values."""

    # What stands in for a value that does not fit, by column.
    otherwise: Mapping[str, Otherwise] = field(default_factory=dict)
    # Columns that hold digests of their values.
    hashed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TargetTable:
    """The table that the changes of a topic are for."""

    # The table's columns without the mirror's own.
    schema: pa.Schema
    # The schemas for which it has room.
    known: frozenset[SourceSchema]
    # The key of the table; none where its rows need no key.
    key: tuple[str, ...] = ()
    # The key that the config names, where it does: its values come from the row, those of a delete
    # from the row as it was.
    config_key: tuple[str, ...] = ()
    # Deletes carry the row as it was, where the message has it; without this, the key alone.
    images: bool = False
    # A truncate is also given as a change without values.
    truncates_as_rows: bool = False
    # What the table did to follow its source, in the order of the source's log.
    events: tuple[SchemaEvent, ...] = ()
    # The table lets columns of its key be null as soon as the source does.
    nullable_key: bool = False
    # Only which rows have changed is asked, so that other columns may be whatever they are.
    keys_only: bool = False

    @property
    def source_names(self) -> frozenset[str]:
        """The columns to read of a message: the table's, and what they were called before."""
        return frozenset((*self.schema.names, *(event.column for event in self.events)))

    @property
    def row_key(self) -> tuple[str, ...]:
        """Key columns of the table that the keys of some records do not have."""
        rekeyed = any(event.kind == ChangeKind.CHANGE_KEY for event in self.events)
        return self.config_key or (self.key if rekeyed else ())

    @property
    def reads_before(self) -> bool:
        """Whether rows as they were before a change are of use."""
        return self.images or bool(self.row_key)

    @property
    def flat(self) -> bool:
        """Whether the topic holds flat rows, of which a tombstone is the only sign of a delete."""
        return any(schema.form is Form.FLAT for schema in self.known)

    def requires(self, schema: SourceSchema) -> bool:
        """Say whether the table requires a value of a column that the source lets be null."""
        required = {field.name for field in self.schema if not field.nullable}
        return any(column.optional and column.name in required for column in schema.columns)


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """What the decoder knows of a topic, whose table need not exist yet."""

    topic: str
    dialect: Dialect
    wire: Wire = field(default_factory=Wire)
    table: TargetTable | None = None
    # Of messages that carry no schema.
    columns: KnownColumns = field(default_factory=dict)
    values: ValueRules = field(default_factory=ValueRules)

    @property
    def known(self) -> frozenset[SourceSchema]:
        """The schemas for which there is a table."""
        return frozenset() if self.table is None else self.table.known

    @property
    def key(self) -> tuple[str, ...]:
        """The key of the table; none without a table, or where its rows need no key."""
        return () if self.table is None else self.table.key

    @property
    def reads_schemaless(self) -> bool:
        """Whether messages without a schema are read; one among others that have it is a fault."""
        return self._any_declared or all(schema.inferred for schema in self.known)

    @property
    def _any_declared(self) -> bool:
        return any(types.declared for types in self.columns.values())

    def accepts(self, schema: SourceSchema) -> bool:
        """Say whether the table takes rows of a schema as it is."""
        table = self.table
        if table is None:
            return False
        if table.keys_only:
            return True
        if schema in table.known:
            return not (table.nullable_key and table.requires(schema))
        # An inferred schema is as long as the columns that had values: too many to know them all.
        known = {column for met in table.known for column in met.columns}
        inferred = {name for name, types in self.columns.items() if types.inferred}
        keyed = bool(table.key) and not table.config_key
        return (
            schema.inferred
            # A column without a value may be one of a new name: the catalog tells.
            and not (schema.untyped and self._any_declared)
            and schema.form is Form.ENVELOPE
            and (schema.key == table.key or not keyed)
            and all(column.name in inferred or column in known for column in schema.columns)
        )

    def with_key(self, key: tuple[str, ...]) -> "DecodePlan":
        """Let the table have a key that tells its rows apart."""
        return self if self.table is None else replace(self, table=replace(self.table, key=key))

    def of_keys(self) -> "DecodePlan":
        """Ask for nothing but the keys of the rows that have changed."""
        assert self.table is not None
        schema = pa.schema([self.table.schema.field(name) for name in self.table.key])
        return replace(self, table=replace(self.table, schema=schema, keys_only=True))
