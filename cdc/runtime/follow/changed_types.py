"""Which records without a schema were read in other types than those that they were written in.

Such a record does not tell that a column has another type since the record before it. So the
source's catalog is asked about every table of a batch, after its records have been read and before
anything is committed.
"""

from collections.abc import Callable, Iterable

from cdc.errors import MirrorError
from cdc.model import TargetId
from cdc.model.column_types import KnownColumns
from cdc.runtime.follow.columns import ColumnFollower
from cdc.runtime.follow.context import MirrorContext

# Gives the types in which the records of a table were read.
ReadIn = Callable[[TargetId], KnownColumns]


def tables_with_changed_types(
    context: MirrorContext, columns: ColumnFollower, schemaless: Iterable[TargetId], read_in: ReadIn
) -> dict[TargetId, MirrorError | None]:
    """Name the tables whose records are to be read again, or cannot be read; why, if they cannot.

    Args:
        context: The run.
        columns: Follows their columns.
        schemaless: The tables of which some records have no schema.
        read_in: Gives the types in which the records of a table were read.

    Raises:
        SourceDownError: The database does not answer.
    """
    tables = context.tables
    targets = [target for target in schemaless if target in tables]
    refused = context.declarations.ask({t[0]: tables[t].view.source for t in targets})
    found: dict[TargetId, MirrorError | None] = {}
    for target in targets:
        view = tables[target].view
        try:
            if target[0] in refused:
                raise refused[target[0]]
            columns.confirm(tables[target])
        except MirrorError as error:
            found[target] = error
        else:
            known = context.declarations.of(view.topic, view.schema, view.state.types)
            if known != read_in(target):
                found[target] = None
    return found
