"""Which columns tell a table's rows apart, as the table itself keeps it."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pyiceberg.schema import Schema

from cdc.state.names import FORMER_KEY_PROPERTY, KEY_PROPERTY


@dataclass(frozen=True, slots=True)
class TableKey:
    """A table's key columns, and the field ids of those that were in its key once."""

    columns: tuple[str, ...] = ()
    former: frozenset[int] = frozenset()

    @staticmethod
    def read(properties: Mapping[str, str]) -> "TableKey":
        """Read what a table's properties say."""
        return TableKey(
            tuple(json.loads(properties.get(KEY_PROPERTY, "[]"))),
            frozenset(json.loads(properties.get(FORMER_KEY_PROPERTY, "[]"))),
        )

    @property
    def properties(self) -> Iterator[tuple[str, str]]:
        """The properties that keep it."""
        yield KEY_PROPERTY, json.dumps([*self.columns])
        if self.former:
            yield FORMER_KEY_PROPERTY, json.dumps(sorted(self.former))

    def former_columns(self, schema: Schema) -> tuple[str, ...]:
        """Name the columns that were in the key once: deletes may speak of them still."""
        return tuple(column.name for column in schema.fields if column.field_id in self.former)

    def changed(self, columns: Iterable[str], schema: Schema) -> "TableKey":
        """Take another key; the columns of this one are remembered."""
        leave = {c.field_id for c in schema.fields if c.name in set(self.columns)}
        return TableKey(tuple(columns), self.former | leave)
