"""Where the types of messages without schemas come from.

The source database's own catalog tells them, if the config has its URL; what `types` in the config
says of a column counts more. Everything else is inferred from the values, and said so.
"""

import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from pyiceberg.schema import Schema

from cdc.config import MirrorConfig, reveal
from cdc.config.type_choices import parse_type_choice
from cdc.dialect import ColumnFacts, Dialect
from cdc.errors import MirrorError
from cdc.model import Form, SourceColumn, SourceSchema, SourceTable, SourceType
from cdc.model.column_types import KnownColumns, known_columns
from cdc.schema import guessable_columns
from cdc.state.column_types import TypeMemory, catalog_types

logger = logging.getLogger(__name__)

ASKING_THREADS = 4
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
    batch: int  # in which it was learned


class Declarations:
    """The declared columns of all topics of a mirror."""

    def __init__(self, config: MirrorConfig, dialect: Dialect) -> None:
        self._config = config
        self._dialect = dialect
        self._told: dict[str, _Told] = {}
        self._batch = 0
        self._asks = config.source.url is not None and dialect.columns is not None
        self._warned: set[tuple[str, str]] = set()

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of which something was learned."""
        return tuple(self._told)

    def begin(self) -> None:
        """Begin a batch: what was learned before it may be out of date for its messages."""
        self._batch += 1

    def tells(self, topic: str) -> bool:
        """Whether the source's catalog tells the types of a topic's columns."""
        return self._asks and topic in self._told

    def of(
        self, topic: str, table: Schema | None = None, memory: TypeMemory | None = None
    ) -> KnownColumns:
        """Give what the decoder may rely on; the types of a table that exists are kept."""
        known = self._told.get(topic)
        catalog = known.columns if known else ()
        plain = self._chosen(known.table, plain=True) if known else ()
        if table is None:
            return known_columns(declared=catalog, inferred=plain)
        if memory is None or not self._asks:
            memory = {}  # nobody would say what has changed since
        chosen = {c.name for c in self._chosen(known.table, plain=False)} if known else set()
        columns = catalog_types(memory, catalog, table.column_names, chosen, self._dialect)
        return known_columns(columns, inferred=(*guessable_columns(table), *plain))

    def defaults(self, topic: str) -> dict[tuple[str, SourceType], Any]:
        """Give what rows hold in columns that came after them, where the catalog tells it."""
        known = self._told[topic].columns if topic in self._told else ()
        return {(column.name, column.type): column.default for column in known}

    def learn(self, topic: str, table: SourceTable, schemas: Iterable[SourceSchema]) -> bool:
        """Look up the columns that had to be inferred; say whether more is known now than before.

        Raises:
            MirrorError: The catalog does not tell; retryable if the database is down.
        """
        inferred = [schema for schema in schemas if schema.inferred]
        told = self._told.get(topic)
        known = {column.name for column in told.columns} if told else set()
        names = {n for s in inferred for n in (*(c.name for c in s.columns), *s.untyped)}
        if names <= known or (told is not None and told.batch == self._batch):
            return False
        if any(schema.form is Form.FLAT for schema in inferred) and table.database == table.server:
            table = replace(table, database="")  # a flat row does not name it
        self._told[topic] = now = _Told(table, self._read(table), self._batch)
        if now.columns:
            logger.info("catalog table=%s columns=%d", table, len(now.columns))
        if told is None:
            return bool(now.columns) or bool(self._chosen(table, plain=True))
        return now.columns != told.columns

    def ask(self, tables: Mapping[str, SourceTable]) -> dict[str, MirrorError]:
        """Ask the catalog about the tables of some topics, unless it was asked in this batch.

        Since it is asked after the batch's messages were written, no message is newer than what it
        says. A table that it does not have any more is as it was.

        Returns:
            Why it does not tell, for topics where it refuses.

        Raises:
            SourceDownError: The database does not answer.
        """
        if not self._asks:
            return {}
        told = {
            topic: self._told.get(topic) or _Told(table, (), self._batch - 1)
            for topic, table in tables.items()
        }
        late = {topic: known for topic, known in told.items() if known.batch != self._batch}
        refused = {}
        with ThreadPoolExecutor(ASKING_THREADS, thread_name_prefix="catalog") as threads:
            answers = {t: threads.submit(self._read, known.table) for t, known in late.items()}
        for topic, known in late.items():
            try:
                columns = answers[topic].result() or known.columns
            except MirrorError as error:
                if error.retryable:
                    raise
                refused[topic] = error
                continue
            if columns != known.columns:
                logger.info("catalog table=%s columns=%d", known.table, len(columns))
            self._told[topic] = _Told(known.table, columns, self._batch)
        return refused

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

    def warn(
        self,
        topic: str,
        table: str,
        columns: Iterable[SourceColumn],
        declared: Iterable[str],
    ) -> None:
        """Say once which of a table's columns have inferred types."""
        declared = set(declared)
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
