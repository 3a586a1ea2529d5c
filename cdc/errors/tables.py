"""What keeps a table from being mirrored, committed or compared."""

from cdc.errors.base import MirrorError


class UnmappableTypeError(MirrorError):
    """A source column has no exact form in the type that it has, or that the config chooses."""

    def __init__(
        self,
        table: str,
        column: str,
        source_type: str,
        wanted: str | None = None,
        choices: tuple[str, ...] = (),
    ) -> None:
        super().__init__(table, column, source_type, wanted, choices)
        self.table, self.column, self.source_type = table, column, source_type
        self.wanted, self.choices = wanted, choices

    def __str__(self) -> str:
        where = f"{self.table}.{self.column} has type {self.source_type}"
        if self.wanted is None:
            return (
                f"{where}, which has no exact Iceberg type. "
                "Leave the column out with the connector's column.exclude.list."
            )
        if not self.choices:
            return (
                f"{where}, but types in the config says that it is {self.wanted}. "
                "Remove that: its messages say themselves what it is."
            )
        return (
            f"{where}, which cannot be {self.wanted} without loss. "
            f"Choose one of {', '.join(self.choices)} for it under types in the config."
        )


class UntypedColumnsError(MirrorError):
    """Messages carry no schema, and the table has columns whose values cannot be guessed at."""

    def __init__(self, table: str, columns: tuple[str, ...]) -> None:
        super().__init__(table, columns)
        self.table, self.columns = table, columns

    def __str__(self) -> str:
        return (
            f"The messages of {self.table} carry no schema, and do not tell how they write "
            f"{', '.join(self.columns)}. Set source.url, so that the database tells it, or name "
            "these columns under types in the config, or let the connector send schemas."
        )


class UnmirrorableColumnError(MirrorError):
    """A source column cannot be one of the mirrored table."""

    def __init__(self, table: str, column: str, reason: str) -> None:
        super().__init__(table, column, reason)
        self.table, self.column, self.reason = table, column, reason

    def __str__(self) -> str:
        return (
            f"{self.table}.{self.column} cannot be mirrored: {self.reason}. "
            "Rename it, or leave it out with the connector's column.exclude.list."
        )


class UnmirrorableValueError(MirrorError):
    """A table of the source holds a value that has no form in any mirror."""

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(table, reason)
        self.table, self.reason = table, reason

    def __str__(self) -> str:
        return (
            f"{self.table} holds a value that no mirror can have: {self.reason}. "
            "Change it at the source, or leave the column out of the connector."
        )


class PartitionError(MirrorError):
    """A table cannot be partitioned as its rule says."""

    def __init__(self, table: str, reasons: tuple[str, ...]) -> None:
        super().__init__(table, reasons)
        self.table, self.reasons = table, reasons

    def __str__(self) -> str:
        return (
            f"{self.table} cannot be partitioned as its rule says: {'; '.join(self.reasons)}. "
            "Change partition in its rule of the config."
        )


class NoKeyError(MirrorError):
    """A source table has no key, so that its rows cannot be told apart."""

    def __init__(self, table: str, missing: tuple[str, ...]) -> None:
        super().__init__(table, missing)
        self.table, self.missing = table, missing

    def __str__(self) -> str:
        if self.missing:
            return (
                f"The key of {self.table} names columns that its rows do not have: "
                f"{', '.join(self.missing)}. Leave them in the connector's column.include.list."
            )
        return (
            f"{self.table} has no primary key, so its rows cannot be told apart. Add one at the "
            "source, name the columns that are unique as key in its rule of the config or in the "
            "connector's message.key.columns, or mirror its changes with mode = append."
        )


class UnknownKeyError(MirrorError):
    """The config names a key that the source table does not have."""

    def __init__(self, table: str, missing: tuple[str, ...], columns: tuple[str, ...]) -> None:
        super().__init__(table, missing, columns)
        self.table, self.missing, self.columns = table, missing, columns

    def __str__(self) -> str:
        return (
            f"The key that the config gives {self.table} names columns that it does not have: "
            f"{', '.join(self.missing)}. It has {', '.join(self.columns)}. Change key in its rule "
            "of the config."
        )


class ForeignTableError(MirrorError):
    """A table stands where the mirror wants to write, and is not its own."""

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(table, reason)
        self.table, self.reason = table, reason

    def __str__(self) -> str:
        return (
            f"The table {self.table} cannot be written by this mirror: {self.reason}. "
            "Choose another target.table in the config, or move that table away."
        )


class SharedFolderError(MirrorError):
    """Another catalog of the same SQL database has its own table in the folder of this one."""

    def __init__(self, table: str, other: str, folder: str) -> None:
        super().__init__(table, other, folder)
        self.table, self.other, self.folder = table, other, folder

    def __str__(self) -> str:
        return (
            f"The table {self.table} and one of the mirror {self.other}, which has the same "
            f"catalog.uri and catalog.warehouse, would be in one folder, {self.folder}: the upkeep "
            "of one would delete files of the other. Choose another target.table or "
            f"catalog.warehouse in one of the two configs, or drop the table of {self.other}."
        )


class UnreplayableTableError(MirrorError):
    """Records in quarantine belong to a table that the mirror does not have, or not any more."""

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.table = table

    def __str__(self) -> str:
        return (
            f"The records of {self.table} cannot be replayed: no table of the config is theirs, "
            "or it does not exist. Let the mirror make it first (`database-mirror run --once`), "
            "or remove the records with `database-mirror quarantine drop`."
        )


class OtherModeError(MirrorError):
    """A table was made for another mode than its rule says now."""

    def __init__(self, table: str, made_for: str, wanted: str) -> None:
        super().__init__(table, made_for, wanted)
        self.table, self.made_for, self.wanted = table, made_for, wanted

    def __str__(self) -> str:
        return (
            f"The table {self.table} was made for {self.made_for}, and the config now says "
            f"{self.wanted}: its rows mean something else. Name a table of its own for the new "
            "mode under targets, or drop this one to have it made anew."
        )


class ExcludedColumnError(MirrorError):
    """A table has columns that its rule leaves out."""

    def __init__(self, table: str, columns: tuple[str, ...]) -> None:
        super().__init__(table, columns)
        self.table, self.columns = table, columns

    def __str__(self) -> str:
        return (
            f"The table {self.table} has columns from before they were excluded: "
            f"{', '.join(self.columns)}. Drop them (ALTER TABLE … DROP COLUMN), and expire the "
            "snapshots that still show them; or take them out of exclude in the config."
        )


class SchemaChangeError(MirrorError):
    """The source changed in a way that the mirror cannot follow."""

    def __init__(self, table: str, changes: tuple[str, ...]) -> None:
        super().__init__(table, changes)
        self.table, self.changes = table, changes

    def __str__(self) -> str:
        return (
            f"{self.table} changed at the source in a way that the mirror cannot follow: "
            f"{'; '.join(self.changes)}. Choose another schema_change for it, or drop the mirrored "
            "table and take a new snapshot."
        )


class UnclearTypeError(SchemaChangeError):
    """A column has another type, and messages without a schema are written alike in both."""

    def __str__(self) -> str:
        return (
            f"{self.table} changed at the source: {'; '.join(self.changes)}. Its messages carry no "
            "schema and are written alike in both types, so nobody can tell which of them are of "
            "which. Drop the mirrored table and take a new snapshot, or let the connector send "
            "schemas before such a change."
        )


class LackingKeyError(MirrorError):
    """The source has another key now, and rows of the mirror have no value for it."""

    def __init__(self, table: str, key: tuple[str, ...], columns: tuple[str, ...]) -> None:
        super().__init__(table, key, columns)
        self.table, self.key, self.columns = table, key, columns

    def __str__(self) -> str:
        return (
            f"{self.table} has the key ({', '.join(self.key)}) now, and rows of the mirror have no "
            f"{', '.join(self.columns)}: the database gave them values without telling. If the "
            "column had another name before, say so under renames in the table's rule; otherwise "
            "drop the mirrored table and take a new snapshot."
        )


class NotParquetError(MirrorError):
    """A mirrored table has a data file that somebody wrote in another format."""

    def __init__(self, table: str, path: str, file_format: str) -> None:
        super().__init__(table, path, file_format)
        self.table, self.path, self.file_format = table, path, file_format

    def __str__(self) -> str:
        return (
            f"The table {self.table} has a data file of format {self.file_format}: {self.path}. "
            "Rows are found in Parquet files alone: set write.format.default to parquet and "
            "rewrite the table's data files, or choose deletes = 'equality'."
        )


class CommitConflictError(MirrorError):
    """Somebody else wrote to a table, or the answer to a commit was lost."""

    retryable = True

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(table, reason)
        self.table, self.reason = table, reason

    def __str__(self) -> str:
        return (
            f"A commit to {self.table} met another writer's: {self.reason}. "
            "See that only one process mirrors into it."
        )


class LostLedgerError(MirrorError):
    """A table was rolled back to a state of which nobody knows how far it had come."""

    def __init__(self, table: str, snapshot: int | None) -> None:
        super().__init__(table, snapshot)
        self.table, self.snapshot = table, snapshot

    def __str__(self) -> str:
        return (
            f"The table {self.table} was set back to snapshot {self.snapshot}, and the snapshots "
            "that told how far the mirror had come by then have expired. Set it to a snapshot "
            "that the mirror wrote (its summary has _mirror_ledger), or drop the table to have it "
            "made anew."
        )


class CatalogError(MirrorError):
    """Iceberg or its catalog refused something."""

    retryable = True

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(table, reason)
        self.table, self.reason = table, reason

    def __str__(self) -> str:
        return f"Iceberg refused {self.table}: {self.reason}. See that [catalog] is right."


class IncomparableColumnError(MirrorError):
    """A column has types in the mirror and at the source that share no values."""

    def __init__(self, column: str, mirror_type: str, source_type: str) -> None:
        super().__init__(column, mirror_type, source_type)
        self.column, self.mirror_type, self.source_type = column, mirror_type, source_type

    def __str__(self) -> str:
        return (
            f"{self.column} is {self.mirror_type} in the mirror and {self.source_type} at the "
            "source, which cannot be compared. Drop the mirrored table to have it made anew."
        )


class UnindexableKeyError(MirrorError):
    """A key column has a type whose values the key index cannot find again."""

    def __init__(self, column: str, column_type: str) -> None:
        super().__init__(column, column_type)
        self.column, self.column_type = column, column_type

    def __str__(self) -> str:
        return (
            f"The key column {self.column} has type {self.column_type}, which no key index can "
            "hold. Choose another key for the table, or another way to look up its rows."
        )


class UnknownStateVersionError(MirrorError):
    """A table remembers things in a version that this mirror does not know."""

    def __init__(self, table: str, found: int, known: int) -> None:
        super().__init__(table, found, known)
        self.table, self.found, self.known = table, found, known

    def __str__(self) -> str:
        return (
            f"What the table {self.table} keeps about itself has version {self.found}, and this "
            f"version of database-mirror knows versions up to {self.known}. Use the version of "
            "database-mirror that wrote the table last, or a newer one."
        )
