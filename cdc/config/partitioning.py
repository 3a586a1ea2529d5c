"""The partition fields that a rule of the config may name: their grammar.

A field is a column, such as `status`, or a transform of one, as Spark's SQL writes it:
`day(created_at)`, `bucket(16, id)`, `truncate(4, name)`. A name with odd characters stands in
backticks.
"""

import re
from collections.abc import Sequence
from typing import Final

from cdc.config.checks import Misfit, nearest
from cdc.errors import Problem
from cdc.model import PartitionField

TIMES: Final = ("year", "month", "day", "hour")
NUMBERED: Final = ("bucket", "truncate")
TRANSFORMS: Final = ("identity", *NUMBERED, *TIMES)
MOST: Final = 2**31 - 1  # Iceberg keeps the number as a Java int
EXAMPLE: Final = 'Such as "day(created_at)", "bucket(16, id)", "truncate(4, name)" or "status".'

_PLURALS = {f"{name}s": name for name in TIMES}  # Spark's SQL knows both
_CALL = re.compile(r"\s*([^\s(`]+)\s*\((.*)\)\s*", re.DOTALL)
_QUOTED = r"`(?:[^`]|``)+`"
_ARGUMENT = re.compile(rf"\s*({_QUOTED}|[^`(),]+?)\s*")
_ARGUMENTS = re.compile(rf"\s*({_QUOTED}|[^`(),]+?)\s*(?:,\s*({_QUOTED}|[^`(),]+?)\s*)?")


def parse_partition_field(text: str) -> PartitionField:
    """Read one partition field.

    Raises:
        Misfit: Says what is wrong with the text and what to write instead.
    """
    if not text.strip():
        raise _misfit("is empty", "Remove it.")
    column = _ARGUMENT.fullmatch(text)
    if column:
        return PartitionField("identity", _name(column[1]))
    call = _CALL.fullmatch(text)
    if call is None:
        quoted = "`" + text.strip().replace("`", "``") + "`"
        raise _misfit(
            "is no partition field", f"{EXAMPLE} A column of this name is written {quoted}."
        )
    transform = _transform(call[1])
    arguments = _ARGUMENTS.fullmatch(call[2])
    if arguments is None:
        raise _misfit("is no partition field", f"Write {_form(transform)}.")
    first, second = arguments.groups()
    if transform not in NUMBERED:
        if second is not None:
            raise _misfit(f"gives {transform} two arguments", f"Write {_form(transform)}.")
        return PartitionField(transform, _name(first))
    if second is None:
        raise _misfit(f"gives {transform} only one argument", f"Write {_form(transform)}.")
    # Spark's order wins where both could be the number, since a column may be named 4.
    number, column_name = (first, second) if _is_number(first) else (second, first)
    if not _is_number(number):
        raise _misfit(f"gives {transform} no number", f"Write {_form(transform)}.")
    if not 1 <= int(number) <= MOST:
        raise _misfit(
            f"gives {transform} the number {number}",
            f"It is a whole number from 1 to {MOST}, as in {_form(transform)}.",
        )
    return PartitionField(transform, _name(column_name), int(number))


def partition_fields(texts: Sequence[str]) -> tuple[PartitionField, ...]:
    """Read the partition fields of a table, in their order."""
    return tuple(parse_partition_field(text) for text in texts)


def partition(value: Sequence[str] | None) -> None:
    """Accept partition fields that can be read, none of which says what another says already."""
    problems = []
    seen: dict[tuple[str, str, int | None], tuple[str, PartitionField]] = {}
    for index, text in enumerate(value or ()):
        try:
            field = parse_partition_field(text)
        except Misfit as misfit:
            problems += [Problem(f"[{index}]", p.text, p.advice) for p in misfit.problems]
            continue
        # Iceberg takes one of the four times for a column: the finer one holds the coarser.
        kind = "time" if field.transform in TIMES else field.transform
        said = seen.setdefault((field.column, kind, field.argument), (text, field))
        if said[1] is field:
            continue
        if said[1] == field:
            problems.append(Problem(f"[{index}]", "is there twice", "Remove it."))
        else:
            finer = max(field.transform, said[1].transform, key=TIMES.index)
            text = f"is redundant: {said[0].strip()} is a time of the same column"
            problems.append(Problem(f"[{index}]", text, f"Keep the finer one, {finer}."))
    if problems:
        raise Misfit(*problems)


def _transform(name: str) -> str:
    lower = name.lower()
    transform = _PLURALS.get(lower, lower)
    if transform not in TRANSFORMS:
        meant = nearest(lower, TRANSFORMS)
        advice = f"Did you mean {meant}?" if meant else f"Known are {', '.join(TRANSFORMS)}."
        raise _misfit(f"has the unknown transform {name}", advice)
    return transform


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]+", text) is not None


def _name(text: str) -> str:
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def _form(transform: str) -> str:
    number = {"bucket": "16, ", "truncate": "4, "}.get(transform, "")
    return f"{transform}({number}column)"


def _misfit(text: str, advice: str) -> Misfit:
    return Misfit(Problem("", text, advice))
