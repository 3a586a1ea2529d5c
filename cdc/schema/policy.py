"""What a table does about the changes of its source: as the config says, and no more."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import assert_never

from cdc.config import ChangeKind, ResolvedRule, SchemaChange
from cdc.model.column_steps import ColumnStep, StepKind
from cdc.schema.difference import ColumnChange, SchemaDifference

DATED = "{name}_{day}"
DAY = "%Y%m%d"  # how a day is written there


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, and what must not be done."""

    steps: tuple[tuple[ColumnChange, tuple[ColumnStep, ...]], ...]
    refused: tuple[str, ...]

    @property
    def idle(self) -> bool:
        """Whether there is nothing to decide about."""
        return not self.steps and not self.refused

    @property
    def new_key(self) -> tuple[str, ...]:
        """The columns that are the key from now on, if others were until now."""
        kind = ChangeKind.CHANGE_KEY
        return next((change.path for change, _ in self.steps if change.kind is kind), ())


def decide(
    difference: SchemaDifference,
    rule: ResolvedRule,
    taken: Collection[str],
    partitioned: Collection[str],
    day: str,
    former: Collection[str] = (),
) -> Decision:
    """Choose for every change what its rule says.

    Args:
        difference: What differs between the table and its source.
        rule: What the config says of the table.
        taken: The names of the table's columns.
        partitioned: The columns by which the table is partitioned.
        day: Today, as it goes into names.
        former: The columns that were in the key once.
    """
    steps, refused = [], []
    names = set(taken)
    for change in difference.changes:
        policy = rule.policy(change.kind)
        # Nobody promises that the config's key tells rows apart that another one did.
        chosen = change.kind is ChangeKind.CHANGE_KEY and bool(rule.key)
        if chosen or (policy is SchemaChange.FAIL and change.kind is not ChangeKind.COMMENT):
            refused.append(str(change))
            continue
        # Without its column a partition could not be told any more, nor what a delete of the time
        # when it was in the key was about.
        stays = change.column in (*partitioned, *former, *difference.old_key)
        in_key = change.column in (*difference.old_key, *difference.new_key)
        try:
            done = tuple(_steps(change, policy, names, day, in_key, partitioned, stays))
        except Refused:
            refused.append(str(change))
            continue
        if done:
            steps.append((change, done))
            names |= {step.to for step in done if step.to is not None}
    return Decision(tuple(steps), tuple(refused))


class Refused(Exception):
    """A change that a policy does not allow, or that Iceberg cannot follow."""


def _steps(
    change: ColumnChange,
    policy: SchemaChange,
    names: Collection[str],
    day: str,
    in_key: bool,
    partitioned: Collection[str],
    stays: bool,
) -> Iterator[ColumnStep]:
    ignored = policy is SchemaChange.IGNORE
    match change.kind:
        case ChangeKind.ADD_COLUMN:
            if not ignored:
                yield ColumnStep(StepKind.ADD, change.path, change.new, after=change.after)
        case ChangeKind.RENAME_COLUMN:
            if not ignored:
                yield ColumnStep(StepKind.RENAME, change.path, to=change.to)
        case ChangeKind.WIDEN_TYPE:
            if not ignored:
                yield ColumnStep(StepKind.TYPE, change.path, change.new)
        case ChangeKind.NULLABILITY:
            if not ignored:
                yield ColumnStep(StepKind.OPTIONAL, change.path)
        case ChangeKind.COMMENT:
            if policy in (SchemaChange.EVOLVE, SchemaChange.LENIENT):
                yield ColumnStep(StepKind.COMMENT, change.path, to=change.to)
        case ChangeKind.DROP_COLUMN:
            if policy is SchemaChange.EVOLVE and not stays:
                yield ColumnStep(StepKind.DROP, change.path)
        case ChangeKind.CHANGE_TYPE:
            if ignored and not in_key:
                return
            if policy is not SchemaChange.LENIENT or in_key or change.column in partitioned:
                raise Refused
            dated = _free(DATED.format(name=change.column, day=day), names)
            yield ColumnStep(StepKind.RENAME, change.path, to=dated)
            yield ColumnStep(StepKind.ADD, change.path, change.new, after=dated)
        case ChangeKind.CHANGE_KEY:
            if ignored:  # changes and deletes name their rows by the new one
                raise Refused
            yield ColumnStep(StepKind.KEY, change.path)
            for name in change.old_key:
                if name not in change.path:
                    yield ColumnStep(StepKind.OPTIONAL, (name,))
        case ChangeKind.DROP_TABLE | ChangeKind.RENAME_TABLE:
            return  # of a whole table, and of none of its columns
        case _:
            assert_never(change.kind)


def _free(name: str, taken: Collection[str]) -> str:
    """Give a name that no column has."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def statement(step: ColumnStep) -> str:
    """Write a step as SQL would say it."""
    name = ".".join(step.path)
    match step.kind:
        case StepKind.ADD:
            place = f" AFTER {step.after}" if step.after is not None else ""
            return f"ADD COLUMN {name} {step.type}{place}"
        case StepKind.DROP:
            return f"DROP COLUMN {name}"
        case StepKind.RENAME:
            return f"RENAME COLUMN {name} TO {step.to}"
        case StepKind.TYPE:
            return f"ALTER COLUMN {name} TYPE {step.type}"
        case StepKind.OPTIONAL:
            return f"ALTER COLUMN {name} DROP NOT NULL"
        case StepKind.COMMENT:
            comment = (step.to or "").replace("'", "''")
            return f"ALTER COLUMN {name} COMMENT '{comment}'"
        case StepKind.KEY:
            return f"SET KEY ({', '.join(step.path)})"
        case _:
            assert_never(step.kind)
