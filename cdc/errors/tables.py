"""What keeps a table from being mirrored, committed or compared."""

from cdc.errors.base import MirrorError

# A table that is dropped alone is created again from the oldest records that its topic still has.
_REBUILD = (
    "drop the mirrored table, delete the older records of its topic (kafka-delete-records) and "
    "have the connector take a new snapshot"
)


class UnmappableTypeError(MirrorError):
    """A source column has no exact form in the type that it has, or that the config chooses."""

    table: str
    column: str
    source_type: str
    wanted: str | None = None
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f"{self.table}.{self.column} has type {self.source_type}"
        if self.wanted is None:
            return (
                f"{where}, which has no exact Iceberg type. Leave the column out with exclude in "
                "the table's rule, or with the connector's column.exclude.list."
            )
        if not self.choices:
            return (
                f"{where}, but types in the table's rule says that it is {self.wanted}. Remove "
                "that: the schema of its messages says what it is."
            )
        return (
            f"{where}, which cannot be {self.wanted} without loss. Choose one of "
            f"{', '.join(self.choices)} for it in types of the table's rule."
        )


class UntypedColumnsError(MirrorError):
    """Messages carry no schema, and types of the table cannot be inferred from their values."""

    table: str
    columns: tuple[str, ...]
    text = (
        "The messages of {table} carry no schema, and the types of {columns} cannot be inferred "
        "from their values. Set source.url, so that they are read from the source database, or "
        "name them in types of the table's rule, or set schemas.enable = true in the connector's "
        "converters."
    )


class UnmirrorableColumnError(MirrorError):
    """A source column cannot be one of the mirrored table."""

    table: str
    column: str
    reason: str
    text = (
        "{table}.{column} cannot be mirrored: {reason}. Change that at the source or in the "
        "table's rule, or leave the column out with exclude in the rule; a key column must stay."
    )


class UnmirrorableValueError(MirrorError):
    """A table of the source holds a value that has no form in any mirror."""

    table: str
    reason: str
    text = (
        "{table} holds a value that cannot be mirrored: {reason}. Change it at the source, or "
        "leave its column out with the connector's column.exclude.list."
    )


class PartitionError(MirrorError):
    """A table cannot be partitioned as its rule says."""

    table: str
    reasons: tuple[str, ...]
    text = (
        "{table} cannot be partitioned as its rule says: {reasons:; }. Change partition in its "
        "rule of the config."
    )


class NoKeyError(MirrorError):
    """A source table has no key, so that its rows cannot be told apart."""

    table: str
    missing: tuple[str, ...]

    def __str__(self) -> str:
        if self.missing:
            return (
                f"The key of {self.table} names columns that its rows do not have: "
                f"{', '.join(self.missing)}. Do not leave them out in the connector "
                "(column.include.list, column.exclude.list)."
            )
        return (
            f"{self.table} has no primary key, so its rows cannot be told apart. Add one at the "
            "source, name the columns that are unique as key in its rule of the config or in the "
            "connector's message.key.columns, or mirror its changes with mode = append."
        )


class UnknownKeyError(MirrorError):
    """The config names a key that the source table does not have."""

    table: str
    missing: tuple[str, ...]
    columns: tuple[str, ...]
    text = (
        "The key that the config gives {table} names columns that it does not have: {missing}. "
        "It has {columns}. Change key in its rule of the config."
    )


class ForeignTableError(MirrorError):
    """A table stands where the mirror wants to write, and is not its own."""

    table: str
    reason: str
    text = (
        "The table {table} cannot be written by this mirror: {reason}. Choose another target.table "
        "in the config, or rename that table."
    )


class SharedFolderError(MirrorError):
    """Another catalog of the same SQL database has its own table in the folder of this one."""

    table: str
    other: str
    folder: str
    text = (
        "The table {table} and one of the mirror {other}, which has the same catalog.uri and "
        "catalog.warehouse, would be in one folder, {folder}: removing orphan files of one would "
        "delete files of the other. Choose another target.table or catalog.warehouse in one of the "
        "two configs, or drop the table of {other}."
    )


class UnreplayableTableError(MirrorError):
    """Records in quarantine belong to a table that the mirror does not have, or not any more."""

    table: str
    text = (
        "The quarantined records of {table} cannot be replayed: the config names no such table, or "
        "it does not exist. Have it created first (`database-mirror run --once`), or remove the "
        "records with `database-mirror quarantine drop`."
    )


class OtherModeError(MirrorError):
    """A table was made for another mode than its rule says now."""

    table: str
    made_for: str
    wanted: str
    text = (
        "The table {table} was made for {made_for}, and the config now says {wanted}: its rows "
        "mean something else. Under targets of the rule name a second table for the new mode, or "
        "drop this one: it is created again from what Kafka has."
    )


class ExcludedColumnError(MirrorError):
    """A table has columns that its rule leaves out."""

    table: str
    columns: tuple[str, ...]
    text = (
        "The table {table} has columns from before they were excluded: {columns}. Drop them (ALTER "
        "TABLE … DROP COLUMN) and expire the snapshots that still show them, or take them out of "
        "exclude in its rule."
    )


class SchemaChangeError(MirrorError):
    """The source changed in a way that the mirror cannot follow."""

    table: str
    changes: tuple[str, ...]
    text = (
        "{table} changed at the source in a way that the mirror cannot follow: {changes:; }. "
        f"Choose another schema_change for it, or {_REBUILD}."
    )


class UnclearTypeError(SchemaChangeError):
    """A column has another type, and messages without a schema are written alike in both."""

    text = (
        "{table} changed at the source: {changes:; }. Its messages carry no schema and are written "
        "alike in both types, so it is not known which of them came before the change. To go on, "
        f"{_REBUILD}. With schemas.enable = true in the connector's converters this cannot happen."
    )


class LackingKeyError(MirrorError):
    """The source has another key now, and rows of the mirror have no value for it."""

    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    text = (
        "{table} has the key ({key}) now, and rows of the mirror have no {columns}: the database "
        "filled in values without sending them. If the column had another name before, name it in "
        f"renames of the table's rule; otherwise {_REBUILD}."
    )


class NotParquetError(MirrorError):
    """A mirrored table has a data file that another writer wrote in another format."""

    table: str
    path: str
    file_format: str
    text = (
        "The table {table} has a data file of format {file_format}: {path}. Rows can be found only "
        "in Parquet files: set write.format.default to parquet and rewrite the table's data files, "
        "or choose deletes = 'equality'."
    )


class CommitConflictError(MirrorError):
    """Somebody else wrote to a table, or the answer to a commit was lost."""

    retryable = True

    table: str
    reason: str
    text = (
        "A commit to {table} conflicts with one of another writer: {reason}. Check that only one "
        "process mirrors into it."
    )


class LostLedgerError(MirrorError):
    """A table was rolled back to a snapshot for which no ledger is left."""

    table: str
    snapshot: int | None

    def __str__(self) -> str:
        state = (
            "a state without snapshots" if self.snapshot is None else f"snapshot {self.snapshot}"
        )
        return (
            f"The table {self.table} was rolled back to {state}, and the snapshots whose ledger "
            "says which offsets it had by then have expired. Roll it back to a snapshot that the "
            "mirror wrote (its summary has _mirror_ledger), or drop the table: it is created again "
            "from what Kafka has."
        )


class CatalogError(MirrorError):
    """Iceberg or its catalog refused something."""

    retryable = True

    table: str
    reason: str
    text = (
        "Iceberg refused an operation on {table}: {reason}. Check [catalog], and that the table "
        "and its files may be read and written."
    )


class IncomparableColumnError(MirrorError):
    """A column has types in the mirror and at the source that share no values."""

    column: str
    mirror_type: str
    source_type: str
    text = (
        "{column} is {mirror_type} in the mirror and {source_type} at the source, which cannot be "
        "compared. Drop the mirrored table to have it created again."
    )


class UnindexableKeyError(MirrorError):
    """A key column has a type whose values the key index cannot find again."""

    column: str
    column_type: str
    text = (
        "The key column {column} has type {column_type}, which a key index cannot hold. Choose "
        "another key for the table, or lookup = 'merge' in its rule."
    )


class UnknownStateVersionError(MirrorError):
    """A table remembers things in a version that this mirror does not know."""

    table: str
    found: int
    known: int
    text = (
        "What the table {table} keeps about itself has version {found}, and this version of "
        "database-mirror knows versions up to {known}. Use the version of database-mirror that "
        "wrote the table last, or a newer one."
    )
