"""Where a source table is mirrored to: its name in the catalog and its folder."""

import hashlib
import re
from collections.abc import Mapping
from string import Formatter

from cdc.config import TargetConfig
from cdc.errors import SharedFolderError
from cdc.model import SourceTable, TableName

# What no catalog carries in a name: separators of levels and folders, control characters.
UNCARRIED = re.compile(r"[./\\\x00-\x1f\x7f]")
# What ends like a hash is left out, lest a table be named like the folder of another.
PLAIN = re.compile(r"(?!.*-[0-9a-f]{12}$)[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
SCHEME = re.compile(r"^([a-z][a-z0-9+.-]*:)?/*", re.IGNORECASE)
UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def target_name(target: TargetConfig, source: SourceTable) -> TableName:
    """Fill the template of `target.table`; a dot in a source name makes no new level."""
    names = target.identifier(
        server=source.server,
        database=source.database,
        schema=source.schema,
        table=source.table,
    )
    carried = tuple(UNCARRIED.sub("_", name) or "_" for name in names)
    return TableName(carried[:-1], carried[-1])


def target_pattern(target: TargetConfig) -> tuple[re.Pattern[str], ...]:
    """Give what the names of mirrored tables look like, level by level."""
    return tuple(
        re.compile(
            "".join(
                re.escape(UNCARRIED.sub("_", text)) + (".+" if name is not None else "")
                for text, name, _, _ in Formatter().parse(level)
            ),
            re.DOTALL | re.IGNORECASE,  # some catalogs keep names in small letters
        )
        for level in target.table.split(".")
    )


def table_location(warehouse: str, name: TableName) -> str | None:
    """Choose the folder of a table whose name is no plain word; None leaves it to the catalog.

    Quotes, spaces and other scripts are fine in a catalog but not in every storage, and a long name
    fits in no folder. The hash keeps apart what looks alike once made plain.
    """
    if all(PLAIN.fullmatch(level) for level in _levels(name)):
        return None
    return table_folder(warehouse, name)


def table_folder(warehouse: str, name: TableName) -> str:
    """Give the folder of a table, also where it is the catalog's own choice."""
    return "/".join([warehouse.rstrip("/"), *(_plain(level) for level in _levels(name))])


def check_alone(name: TableName, folder: str, namesakes: Mapping[str, str]) -> None:
    """See that a table is alone in its folder.

    Args:
        name: The table.
        folder: Its folder, or the one that it would have.
        namesakes: The metadata files of tables of that name, by the mirrors whose they are.

    Raises:
        SharedFolderError: One of them is in the folder too.
    """
    inside = _path(folder).rstrip("/") + "/"
    for mirror, file in sorted(namesakes.items()):
        if _path(file).startswith(inside):
            raise SharedFolderError(str(name), mirror, folder)


def _levels(name: TableName) -> tuple[str, ...]:
    return *name.namespace, name.table


def _path(address: str) -> str:
    """Leave out how a place is reached: s3 and s3a, file:/ and file:/// lead to the same."""
    return SCHEME.sub("/", address)


def _plain(level: str) -> str:
    if PLAIN.fullmatch(level):
        return level
    digest = hashlib.sha256(level.encode()).hexdigest()[:12]
    return f"{UNSAFE.sub('_', level)[:60]}-{digest}"
