"""What became of a source table, as the database's own catalog tells."""

from dataclasses import dataclass
from enum import StrEnum

from cdc.config import ApplyMode, ChangeKind, ResolvedRule, SchemaChange
from cdc.dialect import SourceTables
from cdc.model import SourceTable
from cdc.state.source_identity import Identity, Moment

# What is done about it, as the schema log says it.
STAYS = "DROP TABLE at the source: stays"
GOES = "DROP TABLE"
ROWS_GO = "DROP TABLE, CREATE TABLE at the source: rows from before go"
ROWS_STAY = "DROP TABLE, CREATE TABLE at the source: rows from before stay"


class Fate(StrEnum):
    """What may have become of a table."""

    UNTOLD = "untold"  # the catalog does not say
    LIVES = "lives"
    REMADE = "remade"  # another table has its name
    RENAMED = "renamed"
    GONE = "gone"
    MISSING = "missing"  # gone, or renamed: nothing tells the one from the other


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of a table, its identity now, and the name that it has if that is another."""

    fate: Fate
    identity: Identity | None = None
    name: tuple[str, str] | None = None


def standing(
    known: Identity | None,
    table: SourceTable,
    found: SourceTables,
    *,
    lasting: bool,
    dropped: bool = False,
) -> Standing:
    """Tell what became of a table.

    Only what is known of the same server is compared: a restored copy has other numbers, and an
    address of another server would make every table look dropped.

    Args:
        known: What the catalog knew the table by.
        table: The table, under the name that it had then.
        found: What the catalog has now.
        lasting: Whether a number changes only with its table.
        dropped: Whether somebody has seen that there was no such table.
    """
    if not found.server or not found.covers(table):
        return Standing(Fate.UNTOLD)
    name = table.schema, table.table
    comparable = known is not None and known.server == found.server
    if name in found.numbers:
        now = Identity(found.server, found.numbers[name])
        same = known == now and now.number is not None
        if dropped:
            return Standing(Fate.LIVES if same and lasting else Fate.REMADE, now)
        told = comparable and known is not None and None not in (known.number, now.number)
        return Standing(Fate.REMADE if lasting and told and not same else Fate.LIVES, now)
    if known is None or not comparable:
        return Standing(Fate.UNTOLD)
    if known.number is None:
        return Standing(Fate.MISSING)
    for other, number in found.numbers.items():
        if number == known.number:
            return Standing(Fate.RENAMED, known, other)
    return Standing(Fate.GONE)


def on_drop(rule: ResolvedRule, fate: Fate) -> str | None:
    """Say what a table does that is gone at the source; None where it is parked."""
    policy = rule.policy(ChangeKind.DROP_TABLE)
    if policy is SchemaChange.FAIL:
        return None
    # Where it may have been renamed, too, nothing is removed.
    return GOES if policy is SchemaChange.EVOLVE and fate is Fate.GONE else STAYS


def on_remake(rule: ResolvedRule, dropped: Moment | None) -> str | None:
    """Say what a table does whose name another one has got at the source; None: it is parked.

    The connector sends no delete for the old rows, and nothing where the new ones begin. That is
    known only if somebody saw that there was no such table.

    Args:
        rule: What the config says of the table.
        dropped: When that was.
    """
    policy = rule.policy(ChangeKind.DROP_TABLE)
    if policy is SchemaChange.FAIL:
        return None
    if policy is SchemaChange.IGNORE or rule.mode is ApplyMode.APPEND:
        return ROWS_STAY
    return ROWS_GO if dropped is not None and dropped.position is not None else None
