"""What may happen around a commit: others come first, or the answer is lost."""

from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JJavaError

from cdc.commit import IcebergTable


class Meddled:
    """A Java object of which one method is another; all else is its own."""

    def __init__(self, real: Any, method: str, instead: Callable[..., Any]) -> None:
        self._real, self._method, self._instead = real, method, instead

    def __getattr__(self, name: str) -> Any:
        return self._instead if name == self._method else getattr(self._real, name)


def around_commit(
    table: IcebergTable,
    *,
    before: Callable[[], None] = lambda: None,
    after: Callable[[], None] = lambda: None,
) -> None:
    """Do something before and after the table's next transactions reach the catalog."""
    real = table.java

    def new_transaction() -> Any:
        transaction = real.newTransaction()

        def commit() -> None:
            before()
            transaction.commitTransaction()
            after()

        return Meddled(transaction, "commitTransaction", commit)

    table.java = Meddled(real, "newTransaction", new_transaction)


def lost_answer(table: IcebergTable, kind: str = "CommitStateUnknownException") -> None:
    """Throw what Iceberg throws when the catalog does not answer."""
    jvm = table.gateway.jvm
    cause = jvm.java.io.IOException("the connection was reset")
    if kind == "CommitStateUnknownException":
        error = jvm.org.apache.iceberg.exceptions.CommitStateUnknownException(cause)
    else:
        nothing = table.gateway.new_array(jvm.java.lang.Object, 0)
        error = getattr(jvm.org.apache.iceberg.exceptions, kind)("the answer was lost", nothing)
    raise Py4JJavaError("commitTransaction failed", error)
