"""The mirrored tables as the catalog has them, read through pyiceberg. Nothing is changed."""

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from cdc.config import CatalogType, MirrorConfig, TargetConfig
from cdc.errors import CatalogUnreachableError, UnlistedCatalogError
from cdc.model import TableName
from cdc.schema import target_pattern
from cdc.state.names import MIRROR_PROPERTY, QUARANTINE, TOPIC_PROPERTY

LOAD_THREADS = 8

T = TypeVar("T")


def sqlite_file(properties: Mapping[str, str]) -> Path | None:
    """Give the file of a catalog that is one; opening it would make it."""
    uri = properties.get("uri", "")
    return Path(uri.partition(":///")[2]) if uri.startswith("sqlite") else None


def namesakes(catalog: Catalog, name: TableName) -> dict[str, str]:
    """Find what an SQL catalog's database has under the same name for other catalogs.

    Returns:
        The metadata file of each table, by the name of its catalog.
    """
    # Late: other catalogs do without.
    from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
    from sqlalchemy import select

    assert isinstance(catalog, SqlCatalog)
    query = select(IcebergTables.catalog_name, IcebergTables.metadata_location).where(
        IcebergTables.catalog_name != catalog.name,
        IcebergTables.table_namespace == ".".join(name.namespace),
        IcebergTables.table_name == name.table,
    )
    with catalog.engine.connect() as connection:
        return {other: file or "" for other, file in connection.execute(query)}


class CatalogReader:
    """Finds the tables of one mirror.

    A table says itself which mirror made it, so those of topics that are gone are found too. To
    ask them all is dear, so only those are asked that are named as the config names tables, and
    what turned out to be somebody else's is not asked again.
    """

    def __init__(self, config: MirrorConfig) -> None:
        self._mirror = config.name
        self._kind = config.catalog.type
        if self._kind is CatalogType.HADOOP:
            raise UnlistedCatalogError(self._kind.value)
        # A reader makes no tables in the catalog: that is for the mirror to do.
        self._properties = {**config.catalog.properties(), "init_catalog_tables": "false"}
        templates = {config.target.table} | {
            target.table for rule in config.tables.rules for target in rule.targets
        }
        self._patterns = [target_pattern(TargetConfig(table=text)) for text in templates]
        self._opened: Catalog | None = None
        self._foreign: set[Identifier] = set()
        # Tables that could not be read, by name, and why.
        self.unreadable: dict[str, str] = {}

    def tables(self) -> list[Table]:
        """Load the mirrored tables as they are now.

        Raises:
            CatalogUnreachableError: The catalog does not answer.
        """
        self.unreadable = {}
        if (catalog := self._catalog()) is None:
            return []
        named = self._asked(lambda: set(self._named(catalog)))
        self._foreign &= named
        with ThreadPoolExecutor(LOAD_THREADS, thread_name_prefix="load") as threads:
            loaded = list(threads.map(self._load, sorted(named - self._foreign)))
        return [table for table in loaded if table is not None and self._is_ours(table)]

    def quarantine(self) -> Table | None:
        """Load the table of bad records; None before there are any.

        Raises:
            CatalogUnreachableError: The catalog does not answer.
        """
        if (catalog := self._catalog()) is None:
            return None

        def load() -> Table | None:
            with suppress(NoSuchTableError, NoSuchNamespaceError):
                return catalog.load_table((self._mirror, QUARANTINE))
            return None

        return self._asked(load)

    def close(self) -> None:
        """Let go of the catalog. Safe to repeat."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _catalog(self) -> Catalog | None:
        """Open the catalog; None where it is a file that is not there yet."""
        file = sqlite_file(self._properties)
        if file is not None and not file.exists():
            return None
        if self._opened is None:
            self._opened = self._asked(lambda: load_catalog(self._mirror, **self._properties))
        return self._opened

    def _named(self, catalog: Catalog) -> Iterator[Identifier]:
        """List the tables that are named like mirrored ones."""
        for namespace in self._namespaces(catalog, ()):
            if any(len(p) == len(namespace) + 1 and _leads(namespace, p) for p in self._patterns):
                with suppress(NoSuchNamespaceError):  # dropped meanwhile
                    for name in catalog.list_tables(namespace):
                        if any(_leads(name, p) and len(p) == len(name) for p in self._patterns):
                            yield name

    def _namespaces(self, catalog: Catalog, parent: Identifier) -> Iterator[Identifier]:
        with suppress(NoSuchNamespaceError):
            for namespace in catalog.list_namespaces(parent):
                yield namespace
                # Most catalogs have one level, and some refuse to be asked for more.
                if any(
                    len(p) > len(namespace) + 1 and _leads(namespace, p) for p in self._patterns
                ):
                    yield from self._namespaces(catalog, namespace)

    def _load(self, name: Identifier) -> Table | None:
        assert self._opened is not None
        try:
            return self._opened.load_table(name)
        except NoSuchTableError:
            return None  # dropped meanwhile
        # One that is damaged hides no other; pyiceberg passes on whatever its parts raise.
        except Exception as error:
            self.unreadable[".".join(name)] = _reason(error)
            return None

    def _is_ours(self, table: Table) -> bool:
        ours = table.properties.get(MIRROR_PROPERTY) == self._mirror
        if not ours or TOPIC_PROPERTY not in table.properties:
            self._foreign.add(table.name())
            return False
        return True

    def _asked(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        # pyiceberg passes on whatever its catalogs' client libraries raise.
        except Exception as error:
            raise CatalogUnreachableError(self._kind.value, _reason(error)) from error


def _leads(name: Identifier, pattern: tuple[re.Pattern[str], ...]) -> bool:
    """Say whether a namespace holds tables of a pattern, or a name is one."""
    return len(name) <= len(pattern) and all(
        level.fullmatch(part) for part, level in zip(name, pattern, strict=False)
    )


def _reason(error: Any) -> str:
    return str(error).split("\n")[0] or type(error).__name__
