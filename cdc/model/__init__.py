"""The words all stages share: names, source schemas, ledgers, file descriptions, reports."""

from cdc.model.account import (
    Account,
)
from cdc.model.changes import (
    EARLIEST,
    NO_POSITION,
    Cutoff,
    CutoffCause,
    Op,
    PartitionMark,
    cutoffs_in_order,
)
from cdc.model.columns import (
    Form,
    SourceColumn,
    SourceSchema,
    SourceType,
)
from cdc.model.files import (
    FileKind,
    LiveFile,
    PartitionField,
    WrittenFile,
    lane_of,
)
from cdc.model.names import (
    CURRENT,
    DELETED,
    MISSING,
    OFFSET,
    OP,
    PARTITION,
    POSITION,
    RESERVED,
    TIME,
    VALID_FROM,
    VALID_TO,
)
from cdc.model.reports import (
    BadRecord,
    Failed,
    Outcome,
    PartitionReport,
    Unplanned,
    Unsent,
    Written,
)
from cdc.model.source import (
    SchemaEvent,
    SchemaPlace,
    SourceTable,
    TableName,
    TargetId,
)

__all__ = [
    "CURRENT",
    "DELETED",
    "EARLIEST",
    "MISSING",
    "NO_POSITION",
    "OFFSET",
    "OP",
    "PARTITION",
    "POSITION",
    "RESERVED",
    "TIME",
    "VALID_FROM",
    "VALID_TO",
    "Account",
    "BadRecord",
    "Cutoff",
    "CutoffCause",
    "Failed",
    "FileKind",
    "Form",
    "LiveFile",
    "Op",
    "Outcome",
    "PartitionField",
    "PartitionMark",
    "PartitionReport",
    "SchemaEvent",
    "SchemaPlace",
    "SourceColumn",
    "SourceSchema",
    "SourceTable",
    "SourceType",
    "TableName",
    "TargetId",
    "Unplanned",
    "Unsent",
    "Written",
    "WrittenFile",
    "cutoffs_in_order",
    "lane_of",
]
