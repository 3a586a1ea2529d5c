"""Java's exceptions as the mirror's own errors."""

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from cdc.errors import CatalogError, CommitConflictError

# Another writer was faster, and the commit is surely not made. Where Iceberg does not know whether
# it is, nothing may be taken back: that is an error of the catalog.
CONFLICTS = ("CommitFailedException", "ValidationException")


@contextmanager
def translated(table: str) -> Iterator[None]:
    """Turn what Iceberg or its catalog throws into a `MirrorError` that names the table."""
    try:
        yield
    except Py4JJavaError as error:
        name = java_name(error)
        reason = str(error.java_exception.getMessage() or name).split("\n")[0]
        if name.endswith(CONFLICTS):
            raise CommitConflictError(table, reason) from error
        raise CatalogError(table, f"{name.rpartition('.')[2]}: {reason}") from error
    except CapturedException as error:
        reason = str(error).split("\n")[0]
        if any(conflict in str(error) for conflict in CONFLICTS):
            raise CommitConflictError(table, reason) from error
        raise CatalogError(table, reason) from error


def java_name(error: Py4JJavaError) -> str:
    """Give the class name of what Java threw."""
    return str(error.java_exception.getClass().getName())


def was_refused(error: Py4JJavaError) -> bool:
    """Tell whether a commit has surely not been made."""
    return java_name(error).endswith(("CommitFailedException", "ValidationException"))
