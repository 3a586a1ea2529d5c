"""What the decoder knows of a topic and of the table that its changes are for."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from cdc.config import ChangeKind
from cdc.config.type_choices import Otherwise
from cdc.decode.wire import Wire
from cdc.dialect import Dialect
from cdc.model import Declared, Form, SchemaEvent, SourceSchema


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """What the decoder knows of a topic; a table not created yet has no schema."""

    topic: str
    dialect: Dialect
    # The table's columns without the mirror's own.
    schema: pa.Schema | None
    known: frozenset[SourceSchema]
    wire: Wire = field(default_factory=Wire)
    # What stands in for a value that does not fit, by column.
    otherwise: Mapping[str, Otherwise] = field(default_factory=dict)
    declared: Declared = field(default_factory=Declared)
    hashed: frozenset[str] = frozenset()
    # The key of the table; none where its rows need no key.
    table_key: tuple[str, ...] = ()
    # The key that the config names, where it does: its values come from the row, those of a delete
    # from the row as it was.
    key: tuple[str, ...] = ()
    # Deletes carry the row as it was, where the message has it; without this, the key alone.
    images: bool = False
    # A truncate is also given as a change without values.
    truncates_as_rows: bool = False
    # What the table did to follow its source, in the order of the source's log.
    events: tuple[SchemaEvent, ...] = ()
    # The table lets columns of its key be null as soon as the source does.
    relaxes: bool = False
    # Only which rows have changed is asked, so that other columns may be whatever they are.
    keys_only: bool = False

    def has_room(self, schema: SourceSchema) -> bool:
        """Whether the table takes rows of a schema as it is."""
        if self.schema is None:
            return False
        if self.keys_only:
            return True
        if schema in self.known:
            return not (self.relaxes and self._may_be_null(schema))
        # An inferred schema is as long as the columns that had values: too many to know them all.
        guessed = {column.name for column in self.declared.guessed}
        known = {column for told in self.known for column in told.columns}
        keyed = bool(self.table_key) and not self.key
        return (
            schema.inferred
            # A column without a value may be one of a new name: the catalog tells.
            and not (schema.unseen and self.declared.columns)
            and schema.form is Form.ENVELOPE
            and (schema.key == self.table_key or not keyed)
            and all(column.name in guessed or column in known for column in schema.columns)
        )

    def _may_be_null(self, schema: SourceSchema) -> bool:
        """Whether the source lets a column be null that the table does not."""
        if self.schema is None:
            return False
        required = {field.name for field in self.schema if not field.nullable}
        return any(column.optional and column.name in required for column in schema.columns)

    @property
    def wanted(self) -> frozenset[str]:
        """The columns to read of a message: the table's, and what they were called before."""
        if self.schema is None:
            return frozenset()
        return frozenset((*self.schema.names, *(event.column for event in self.events)))

    def of_keys(self) -> "DecodePlan":
        """Ask for nothing but the keys of the rows that have changed."""
        assert self.schema is not None
        schema = pa.schema([self.schema.field(name) for name in self.table_key])
        return replace(self, schema=schema, keys_only=True)

    @property
    def infers(self) -> bool:
        """Whether messages without a schema are read; one among others that have it is a fault."""
        return bool(self.declared.columns) or all(schema.inferred for schema in self.known)

    @property
    def flat(self) -> bool:
        """Whether the topic holds flat rows, of which a tombstone is the only sign of a delete."""
        return any(schema.form is Form.FLAT for schema in self.known)

    @property
    def row_key(self) -> tuple[str, ...]:
        """Key columns of the table that the keys of some records do not have."""
        rekeyed = any(event.kind == ChangeKind.CHANGE_KEY for event in self.events)
        return self.key or (self.table_key if rekeyed else ())

    @property
    def reads_before(self) -> bool:
        """Whether rows as they were before a change are of use."""
        return self.schema is not None and (self.images or bool(self.row_key))
