"""Which columns of a source got another name, as the database's own catalog tells."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from cdc.dialect import ColumnFacts
from cdc.state.names import IDENTITIES_PROPERTY


@dataclass(frozen=True, slots=True)
class Renames:
    """New names by old ones; `complete` where no other column can have been renamed."""

    names: Mapping[str, str]
    complete: bool = False


def told_renames(
    table: Collection[str],
    source: Collection[str],
    identities: Mapping[str, int],
    facts: Mapping[str, ColumnFacts],
) -> Renames:
    """Tell columns that were renamed from those that are gone, or new.

    The catalog is of now, a message may be older: a column can have had two new names since. One
    that lives on, though under a name that the message does not have yet, had another in between;
    if there is only one such name, that was it.

    Args:
        table: The names of the table's columns.
        source: The names that the message has.
        identities: What the catalog knew the table's columns by, when it was asked last.
        facts: What it knows the source's columns by now.
    """
    gone = [name for name in table if name not in source]
    new = [name for name in source if name not in table]
    living = {fact.identity: name for name, fact in facts.items() if fact.identity is not None}
    names = {
        old: living[identities[old]]
        for old in gone
        if identities.get(old) in living and living[identities[old]] in new
    }
    elsewhere = [old for old in gone if old not in names and identities.get(old) in living]
    passing = [name for name in new if name not in names.values() and name not in facts]
    if len(elsewhere) == len(passing) == 1:
        names[elsewhere[0]] = passing[0]
        elsewhere = []
    known = bool(living) and all(name in identities for name in gone)
    return Renames(names, complete=known and not elsewhere)


def read_identities(properties: Mapping[str, str]) -> dict[str, int]:
    """Read what the catalog knew a table's columns by."""
    found: dict[str, int] = json.loads(properties.get(IDENTITIES_PROPERTY, "{}"))
    return found


def identities_property(identities: Mapping[str, int]) -> dict[str, str]:
    """Give the table property that keeps what the catalog knows the columns by."""
    return {IDENTITIES_PROPERTY: json.dumps(identities, sort_keys=True)} if identities else {}


def joined_identities(
    facts: Mapping[str, ColumnFacts], known: Mapping[str, int], names: Mapping[str, str]
) -> dict[str, int]:
    """Add what the catalog says now to what it said before.

    Args:
        facts: What the catalog says now.
        known: What it said before.
        names: The new names of columns that were renamed.
    """
    told = {name: fact.identity for name, fact in facts.items() if fact.identity is not None}
    joined = {names.get(name, name): identity for name, identity in known.items()}
    # One that is known under an earlier name has yet to follow: it is not here under its last one.
    followed = set(joined.values())
    return joined | {name: identity for name, identity in told.items() if identity not in followed}
