"""The settings that are a choice among words."""

from enum import StrEnum


class Connector(StrEnum):
    """The database that Debezium reads."""

    POSTGRES = "postgres"
    MYSQL = "mysql"
    MARIADB = "mariadb"
    SQLSERVER = "sqlserver"
    ORACLE = "oracle"
    MONGODB = "mongodb"


class RecordFormat(StrEnum):
    """How the messages are written."""

    AUTO = "auto"
    JSON = "json"
    AVRO = "avro"


class CatalogType(StrEnum):
    """The kind of Iceberg catalog."""

    SQL = "sql"
    REST = "rest"
    HIVE = "hive"
    GLUE = "glue"
    HADOOP = "hadoop"


class ApplyMode(StrEnum):
    """What a change does to the mirrored table."""

    MIRROR = "mirror"
    APPEND = "append"
    HISTORY = "history"


class DeleteKind(StrEnum):
    """Which delete files a change writes."""

    POSITIONAL = "positional"
    EQUALITY = "equality"


class Lookup(StrEnum):
    """How rows that are replaced by position are found."""

    INDEX = "index"
    MERGE = "merge"


class OnDelete(StrEnum):
    """What becomes of a row that the source deleted."""

    HARD = "hard"
    SOFT = "soft"


class ChangeKind(StrEnum):
    """What a source table may do to its columns, or what may be done to it as a whole."""

    ADD_COLUMN = "add_column"
    DROP_COLUMN = "drop_column"
    RENAME_COLUMN = "rename_column"
    WIDEN_TYPE = "widen_type"
    CHANGE_TYPE = "change_type"
    NULLABILITY = "nullability"
    CHANGE_KEY = "change_key"
    COMMENT = "comment"
    DROP_TABLE = "drop_table"
    RENAME_TABLE = "rename_table"


class SchemaChange(StrEnum):
    """What happens when a source table changes its columns."""

    EVOLVE = "evolve"
    LENIENT = "lenient"
    IGNORE = "ignore"
    FAIL = "fail"
