"""Where the types of messages without schemas come from.

The source database's own catalog tells them, if the config has its URL; what `types` in the config
says of a column counts more. Everything else is inferred from the values, and said so.
"""

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pyiceberg.schema import Schema

from cdc.config import MirrorConfig, reveal
from cdc.config.type_choices import parse_type_choice
from cdc.dialect import ColumnFacts, Dialect
from cdc.errors import MirrorError
from cdc.model import Declared, Form, SourceColumn, SourceSchema, SourceTable, SourceType
from cdc.schema import guessable_columns

logger = logging.getLogger(__name__)

# Messages do not tell that a column's type was changed: only the catalog can.
OLD_SECONDS = 60.0
# What `types` may say without Debezium's words, since JSON writes it in one way only.
PLAIN = {
    "boolean": SourceType("boolean"),
    "int": SourceType("int32"),
    "long": SourceType("int64"),
    "double": SourceType("double"),
    "string": SourceType("string"),
}


@dataclass(slots=True)
class _Told:
    """What was learned of one topic's table, and when."""

    table: SourceTable
    columns: tuple[SourceColumn, ...]
    vain: set[str]  # what the catalog was asked for and did not know
    asked: float


class Declarations:
    """The declared columns of all topics of a mirror."""

    def __init__(self, config: MirrorConfig, dialect: Dialect) -> None:
        self._config = config
        self._dialect = dialect
        self._told: dict[str, _Told] = {}
        self._warned: set[tuple[str, str]] = set()

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of which something was learned."""
        return tuple(self._told)

    def certain(self, topic: str) -> tuple[SourceColumn, ...]:
        """Give the columns whose types are known."""
        return self._told[topic].columns if topic in self._told else ()

    def of(self, topic: str, table: Schema | None = None) -> Declared:
        """Give what the decoder may rely on; the types of a table that exists are kept."""
        chosen: tuple[SourceColumn, ...] = ()
        if topic in self._told:
            chosen = self._chosen(self._told[topic].table, plain=True)
        kept = guessable_columns(table) if table is not None else ()
        names = {column.name for column in kept}
        guessed = (*kept, *(column for column in chosen if column.name not in names))
        return Declared(self.certain(topic), guessed)

    def learn(self, topic: str, table: SourceTable, schemas: Iterable[SourceSchema]) -> bool:
        """Look up the columns that had to be inferred; say whether more is known now than before.

        Raises:
            MirrorError: The catalog does not tell; retryable if the database is down.
        """
        inferred = [schema for schema in schemas if schema.inferred]
        told = self._told.get(topic)
        known = {column.name for column in told.columns} | told.vain if told else set()
        unknown = {c.name for schema in inferred for c in schema.columns} - known
        if not unknown:
            return False
        if any(schema.form is Form.FLAT for schema in inferred) and table.database == table.server:
            table = replace(table, database="")  # a flat row does not name it
        columns = self._read(table)
        vain = (unknown | known) - {column.name for column in columns}
        self._told[topic] = _Told(table, columns, vain, time.monotonic())
        if told is None:
            return bool(columns) or bool(self._chosen(table, plain=True))
        return columns != told.columns

    def renewed(self) -> list[str]:
        """Look again at what was learned a while ago; give the topics for which it has changed.

        A catalog that does not tell is no reason to stop: what was learned still holds.
        """
        changed = []
        for topic, told in self._told.items():
            if time.monotonic() - told.asked < OLD_SECONDS:
                continue
            told.asked = time.monotonic()
            try:
                columns = self._read(told.table)
            except MirrorError as error:
                logger.warning("catalog table=%s is not read again: %s", told.table, error)
                continue
            if columns and columns != told.columns:
                told.columns = columns
                changed.append(topic)
        return changed

    def facts(self, table: SourceTable) -> Mapping[str, ColumnFacts]:
        """Ask the source's catalog what messages do not say; nothing where nobody tells it.

        Raises:
            MirrorError: The database is down, and may tell later.
        """
        url, read = self._config.source.url, self._dialect.facts
        if url is None or read is None:
            return {}
        try:
            return read(reveal(url), table)
        except MirrorError as error:
            if error.retryable:
                raise
            logger.warning("catalog table=%s tells nothing: %s", table, error)
            return {}

    def warn(self, topic: str, table: str, columns: Iterable[SourceColumn]) -> None:
        """Say once which of a table's columns have inferred types."""
        declared = {column.name for column in self.certain(topic)}
        if topic in self._told:
            chosen = self._chosen(self._told[topic].table, plain=True)
            declared |= {column.name for column in chosen}
        new = [c for c in columns if c.name not in declared and (topic, c.name) not in self._warned]
        if new:
            self._warned.update((topic, column.name) for column in new)
            logger.warning(
                "inferred table=%s columns=%s: the messages carry no schema; set source.url, or "
                "name the types of these columns under types in the config",
                table,
                ",".join(f"{column.name}:{column.type.kind}" for column in new),
            )

    def _read(self, table: SourceTable) -> tuple[SourceColumn, ...]:
        url, read = self._config.source.url, self._dialect.columns
        columns: tuple[SourceColumn, ...] = ()
        if url is not None and read is not None:
            columns = read(reveal(url), table, self._config.source.modes)
            logger.info("catalog table=%s columns=%d", table, len(columns))
        chosen = {column.name: column for column in self._chosen(table, plain=False)}
        told = tuple(chosen.pop(column.name, column) for column in columns)
        return (*told, *chosen.values())

    def _chosen(self, table: SourceTable, *, plain: bool) -> tuple[SourceColumn, ...]:
        """Read what the config says of a table's columns: their plain types, or what they mean."""
        rule = self._config.tables.rule_for(table.schema, table.table)
        found = []
        for name, text in rule.types.items():
            choice = parse_type_choice(text)
            kind = PLAIN.get(choice.iceberg or "") if plain else choice.semantic
            if kind is not None and (choice.semantic is None) == plain:
                found.append(SourceColumn(name, kind))
        return tuple(found)
