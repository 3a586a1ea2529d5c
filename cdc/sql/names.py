"""How names, keys and their bounds are written in SQL."""

from collections.abc import Mapping, Sequence
from typing import Any

KeyBounds = Mapping[str, tuple[Any, Any]]


def quoted(name: str) -> str:
    """Quote the name of a column."""
    return "`" + name.replace("`", "``") + "`"


def doubled(text: str) -> str:
    """Keep the braces in a name from being taken for a place to fill."""
    return text.replace("{", "{{").replace("}", "}}")


def same_key(key: Sequence[str]) -> list[str]:
    """Render that the rows `t` and `s` have one key; nulls are equal, as they are in a batch."""
    return [f"t.{quoted(name)} <=> s.{quoted(name)}" for name in key]


def within(bounds: KeyBounds) -> tuple[list[str], dict[str, Any]]:
    """Render the bounds of the key of row `t`, and their arguments; bounds never cut off nulls.

    Without them on the table's side, every file of the table is read.
    """
    conditions: list[str] = []
    arguments: dict[str, Any] = {}
    for place, (name, (least, greatest)) in enumerate(bounds.items()):
        column = f"t.{quoted(name)}"
        between = f"{column} BETWEEN :least{place} AND :greatest{place}"
        conditions.append(f"({between} OR {column} IS NULL)")
        arguments |= {f"least{place}": least, f"greatest{place}": greatest}
    return conditions, arguments
