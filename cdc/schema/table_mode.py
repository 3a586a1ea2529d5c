"""Which mode a table was made for, as its own columns tell."""

from typing import Final

from pyiceberg.schema import Schema

from cdc.config import ApplyMode, OnDelete, ResolvedRule
from cdc.errors import OtherModeError
from cdc.model import RESERVED
from cdc.schema.mapping import own_columns

MADE_FOR: Final = {
    frozenset(column.name for column in own_columns(rule)): rule.kind
    for rule in (
        *(ResolvedRule(mode=mode) for mode in ApplyMode),
        ResolvedRule(on_delete=OnDelete.SOFT),
    )
}
NONE_OF_THEM: Final = "no mode of this version"


def mode_of(schema: Schema) -> str:
    """Tell for which mode a table was made."""
    own = frozenset(c.name for c in schema.fields if c.name.startswith(RESERVED))
    return MADE_FOR.get(own, NONE_OF_THEM)


def check_mode(schema: Schema, rule: ResolvedRule, table: str) -> None:
    """See that a table's rows mean what its rule says.

    Rows of a current state are no versions, and nobody knows which of them had been deleted: a
    table cannot be turned from one mode into another.

    Raises:
        OtherModeError: It was made for another mode.
    """
    made_for = mode_of(schema)
    if made_for != rule.kind:
        raise OtherModeError(table, made_for, rule.kind)
