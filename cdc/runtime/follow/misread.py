"""Which records without a schema were read in other types than those that they were written in.

Such a record does not tell that a column has another type since the record before it. So the
source's catalog is asked about every table of a batch, after its records have been read and before
anything is committed.
"""

from collections.abc import Iterable

from cdc.errors import MirrorError
from cdc.model import TargetId
from cdc.runtime.tables.open_tables import Tables
from cdc.runtime.tables.reports import TargetReports


def misread(tables: Tables, reports: Iterable[TargetReports]) -> dict[TargetId, MirrorError | None]:
    """Name the tables whose records are to be read again, or cannot be read; why, if they cannot.

    Raises:
        SourceDownError: The database does not answer.
    """
    untold = [report.id for report in reports if report.schemaless and report.id in tables]
    refused = tables.declarations.ask({target[0]: tables[target].source for target in untold})
    found: dict[TargetId, MirrorError | None] = {}
    for target in untold:
        try:
            if target[0] in refused:
                raise refused[target[0]]
            if not tables.confirm(target):
                found[target] = None
        except MirrorError as error:
            found[target] = error
    return found
