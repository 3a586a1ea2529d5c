"""The page of all types, docs/types.md: `python -m cdc.commands.types_page` prints it."""

import sys
from collections.abc import Iterable, Sequence

from cdc.dialect import Dialect, DocumentedType
from cdc.model import SourceColumn, SourceSchema, SourceType, logical
from cdc.schema import mirror_columns
from cdc.schema.type_table import ANY_DECIMAL, KINDS, LOGICAL, TypeRow
from connectors import DIALECTS

TITLES = {
    "postgres": "PostgreSQL",
    "mysql": "MySQL",
    "mariadb": "MariaDB",
    "sqlserver": "SQL Server",
    "oracle": "Oracle",
    "mongodb": "MongoDB",
}
PROVEN = "the real server through real Debezium"
DOCUMENTED = "messages in Debezium's documented form"
CONNECT = "org.apache.kafka.connect.data."
INTRODUCTION = """\
# Types

This page says what becomes of each type of each database, and which other types may be chosen.

Made from the code: `python -m cdc.commands.types_page >docs/types.md`.

Nothing is rounded, cut, moved to another time zone or made null on the way, but for what a row
below names. A value that does not fit its column puts its record into quarantine, with its offset
and the reason. JSON and Avro give the same types and values.

A rule of the config may choose another type for a column, and what stands for values that do not
fit it:

```toml
[[tables.rules]]
match = "public.contracts"
types = { valid_to = "timestamptz or nearest", price = "decimal(38,2) or null" }
```

`or nearest` is for `date`, `timestamp` and `timestamptz`: infinity and what they cannot hold become
the first or last value of the years 1 to 9999. A key is never replaced. A choice that would lose
something is refused before anything is written, and the refusal names those there are. On topics
without schemas a type may also say what a column means: `"io.debezium.time.MicroTimestamp"`,
`"org.apache.kafka.connect.data.Decimal(10,2) as double"`.
"""


def types_page() -> str:
    """Write the page."""
    parts = [
        INTRODUCTION,
        "## Databases\n",
        _table(("database", "proven against"), (_proof(d) for d in DIALECTS.values())),
        "## Kinds of Kafka Connect\n",
        _rows(KINDS),
        "## Meanings that Debezium and Kafka Connect give them\n",
        f"`Connect` stands for `{CONNECT[:-1]}`, the others begin with `io.debezium.time` or "
        "`io.debezium.data`.\n",
        _rows(LOGICAL),
    ]
    shown: list[Dialect] = []
    for dialect in DIALECTS.values():
        like = next((other for other in shown if _alike(dialect, other)), None)
        parts.append(f"## {TITLES[dialect.name]}\n")
        if like is not None:
            parts.append(f"As {TITLES[like.name]}, but for these.\n")
        known = like.source_types if like is not None else ()
        parts.append(_source_types(dialect, [t for t in dialect.source_types if t not in known]))
        shown.append(dialect)
    return "\n".join(parts)


def _alike(one: Dialect, other: Dialect) -> bool:
    """Say whether two databases have most types in common."""
    return 2 * len(set(one.source_types) & set(other.source_types)) > len(one.source_types)


def _proof(dialect: Dialect) -> tuple[str, ...]:
    return TITLES[dialect.name], PROVEN if dialect.proven else DOCUMENTED


def _rows(rows: Iterable[TypeRow]) -> str:
    head = ("Debezium", "Iceberg", "or by choice", "at the edges")
    return _table(
        head,
        (
            (
                ", ".join(f"`{_short(n)}`" for n in row.names if n != logical.ESCAPED_ENUM),
                f"`{row.iceberg}`",
                ", ".join(f"`{_any(choice)}`" for choice in row.choices),
                row.edges,
            )
            for row in rows
        ),
    )


def _source_types(dialect: Dialect, rows: Iterable[DocumentedType]) -> str:
    return _table(
        ("type", "with", "Debezium", "Iceberg", "at the edges"),
        (
            (
                row.source,
                f"`{row.settings}`" if row.settings else "",
                _schema(row.schema),
                f"`{_iceberg(row.schema, dialect)}`",
                row.note,
            )
            for row in rows
        ),
    )


def _iceberg(source: SourceType, dialect: Dialect) -> str:
    """Ask the mapping itself, so that the page says what it does."""
    key = SourceColumn("key", SourceType("int32"))
    schema = SourceSchema((key, SourceColumn("value", source)), ("key",))
    kind = mirror_columns(schema, "a table", dialect)[1].type
    return kind.__class__.__name__.removesuffix("Type").lower() if kind.is_struct else str(kind)


def _schema(source: SourceType) -> str:
    if source.element is not None and source.logical is None:
        return f"`array<{source.element.kind}>`"
    if logical.is_unsigned_bigint(source):
        return "`int64`, named unsigned"
    name = f" {_short(source.logical)}" if source.logical else ""
    scale = source.parameter(logical.SCALE)
    if scale is not None:
        precision = source.parameter(logical.PRECISION)
        name += f"({precision}, {scale})" if precision else f"(scale {scale})"
    return f"`{source.kind}{name}`"


def _short(name: str) -> str:
    if name.startswith(CONNECT):
        return "Connect " + name.removeprefix(CONNECT)
    return name.rpartition(".")[2]


def _any(choice: str) -> str:
    return "decimal(p,s)" if choice == ANY_DECIMAL else choice


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    cells = ([f" {cell}".rstrip().replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"|{' |'.join(line)} |" for line in cells) + "\n"


if __name__ == "__main__":
    sys.stdout.write(types_page())
