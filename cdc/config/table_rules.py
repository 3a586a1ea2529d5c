"""How single tables are mirrored: defaults, rules, and the targets of a rule."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Annotated

from cdc.config import checks, partitioning
from cdc.config.ceiling import USUAL, Ceiling, ceiling
from cdc.config.checks import Check, Misfit, Settings, check_settings
from cdc.config.choices import (
    ApplyMode,
    ChangeKind,
    DeleteKind,
    Lookup,
    OnDelete,
    SchemaChange,
)
from cdc.errors import Problem

# What may be set for a table is declared once, in three parts, since not everything may be set
# everywhere; None stands for what is not set there. The parts have no slots, for Python lets only
# one base of a class have some.


@dataclass(frozen=True, kw_only=True)
class _Everywhere(Settings):
    """What may be set for all tables, by a rule, and for one target of a rule."""

    mode: Annotated[
        ApplyMode | None, "Current state, every change as a row, or every version with its times"
    ] = None
    deletes: Annotated[
        DeleteKind | None, "Fast and readable everywhere, or lowest latency with slower readers"
    ] = None
    lookup: Annotated[
        Lookup | None,
        "How positional deletes find their rows: by a key index on local disk, or by MERGE",
    ] = None
    on_delete: Annotated[OnDelete | None, "Remove a deleted row, or keep and mark it"] = None
    schema_change: Annotated[SchemaChange | None, "What a change of columns does to the mirror"] = (
        None
    )
    format_version: Annotated[
        int | None,
        Check(checks.format_version, before=True),
        "Iceberg's format of new tables; 3 has deletion vectors",
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Policies(Settings):
    """What may be set for all tables and by a rule: it is the same for all targets of a table."""

    schema_policies: Annotated[
        Mapping[ChangeKind, SchemaChange] | None,
        "Instead of `schema_change` for some kinds: `add_column` `drop_column` `rename_column` "
        "`widen_type` `change_type` `nullability` `change_key` `comment` `drop_table` "
        "`rename_table`",
    ] = None
    schema_allow: Annotated[
        tuple[ChangeKind, ...] | None, "The only kinds of change that are followed; empty means all"
    ] = None
    schema_deny: Annotated[
        tuple[ChangeKind, ...] | None, "Kinds of change that are not followed"
    ] = None
    max_quarantined: Annotated[
        Ceiling | None,
        Check(ceiling, before=True),
        "Most bad records of one batch; with more, the table is parked and none goes into "
        "quarantine. A share, such as 0.05, always allows 100",
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Columns(Settings):
    """What may be set by a rule and for one target of it: it names columns."""

    partition: Annotated[
        tuple[str, ...] | None,
        Check(partitioning.partition),
        "Partition fields: `day(created_at)`, `bucket(16, id)`, `truncate(4, name)`, `status` …",
    ] = None
    exclude: Annotated[
        tuple[str, ...] | None, Check(checks.column_names), "Columns that are not mirrored"
    ] = None
    hash: Annotated[
        tuple[str, ...] | None,
        Check(checks.column_names),
        "Columns of which only a hash is mirrored",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDefaults(_Policies, _Everywhere):
    """How a table is mirrored that no rule changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRule(_Columns, _Everywhere):
    """One of several tables that a source table is mirrored to."""

    table: Annotated[
        str, Check(checks.table_template), "Name of this target, written as `target.table` is"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRule(_Columns, _Policies, _Everywhere):
    """How the source tables that match one pattern are mirrored."""

    match: Annotated[
        str,
        Check(checks.table_glob),
        "Glob over `schema.table`, or `database.table` where there are no schemas; "
        "the first matching rule wins",
    ]
    key: Annotated[
        tuple[str, ...] | None,
        Check(checks.column_names),
        "Key columns of a table without a primary key",
    ] = None
    types: Annotated[
        Mapping[str, str] | None,
        Check(checks.type_choices),
        'Iceberg types by column, such as `{ price = "decimal(38,2) or null" }`; '
        "docs/types.md says which there are",
    ] = None
    renames: Annotated[
        Mapping[str, str] | None,
        "New names of the source's columns by their old ones, where nothing else tells a renamed "
        "column from a new one",
    ] = None
    renamed_from: Annotated[
        str | None,
        Check(checks.former_name),
        "The name that the table had before, as `schema.table`, where nothing else tells a renamed "
        "table from a new one",
    ] = None
    targets: Annotated[
        tuple[TargetRule, ...], "Several tables of one source table, written in one pass"
    ] = ()

    def __post_init__(self) -> None:
        check_settings(self)
        own = ResolvedRule.of(self)
        problems = [
            Problem("exclude", "holds a key column", "A key must be mirrored.")
            for column in own.key
            if column in own.exclude
        ]
        problems += checks.hashed_and_more(own.hash, own.exclude, own.types)
        problems += checks.renamed_globs(self.match, own.renamed_from)
        if own.key and own.mode is ApplyMode.APPEND and not self.targets:
            problems.append(Problem("key", "is set, but append mode has no key", "Remove one."))
        names = [target.table for target in self.targets]
        problems += [
            Problem(f"targets[{index}].table", "is that of another target", "Name it otherwise.")
            for index, name in enumerate(names)
            if name in names[:index]
        ]
        if problems:
            raise Misfit(*problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedRule:
    """Everything that is set for one target of a source table, with the defaults of the rest."""

    mode: ApplyMode = ApplyMode.MIRROR
    deletes: DeleteKind = DeleteKind.POSITIONAL
    lookup: Lookup = Lookup.INDEX
    on_delete: OnDelete = OnDelete.HARD
    schema_change: SchemaChange = SchemaChange.EVOLVE
    schema_policies: Mapping[ChangeKind, SchemaChange] = field(default_factory=dict)
    schema_allow: tuple[ChangeKind, ...] = ()
    schema_deny: tuple[ChangeKind, ...] = ()
    renames: Mapping[str, str] = field(default_factory=dict)
    renamed_from: str = ""
    format_version: int = 2
    max_quarantined: Ceiling = USUAL
    partition: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hash: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    # The template of the target's name; empty stands for `target.table`.
    table: str = ""

    @classmethod
    def of(cls, *settings: Settings) -> "ResolvedRule":
        """Resolve what is set: for all tables, by a rule, for a target; the last one wins."""
        return cls(
            **{
                name: value
                for each in settings
                for name in cls.__dataclass_fields__
                if (value := getattr(each, name, None)) is not None
            }
        )

    def policy(self, kind: ChangeKind) -> SchemaChange:
        """What a change of one kind does to the mirror."""
        if kind in self.schema_deny or (self.schema_allow and kind not in self.schema_allow):
            return SchemaChange.IGNORE
        if kind is ChangeKind.DROP_TABLE and self.schema_change is SchemaChange.EVOLVE:
            # A whole table goes only where somebody asks for it by name.
            return self.schema_policies.get(kind, SchemaChange.LENIENT)
        return self.schema_policies.get(kind, self.schema_change)

    @property
    def soft(self) -> bool:
        """Whether deleted rows stay and are marked."""
        return self.mode is ApplyMode.MIRROR and self.on_delete is OnDelete.SOFT

    @property
    def wipes(self) -> bool:
        """Whether a truncate removes the rows of the table; others mark, close or log them."""
        return self.mode is ApplyMode.MIRROR and self.on_delete is OnDelete.HARD

    @property
    def kind(self) -> str:
        """The mode in words, with what it does to deleted rows where that is a choice."""
        return f"{self.mode} (soft)" if self.soft else self.mode.value


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesConfig(Settings):
    """How the tables are mirrored."""

    defaults: Annotated[TableDefaults, "How tables are mirrored where no rule says more"] = field(
        default_factory=TableDefaults
    )
    rules: Annotated[tuple[TableRule, ...], "How the tables that match are mirrored"] = ()

    def __post_init__(self) -> None:
        matches = [rule.match for rule in self.rules]
        problems = [
            Problem(
                f"rules[{index}].match",
                f"is that of rules[{matches.index(match)}], which wins",
                "Join the two rules.",
            )
            for index, match in enumerate(matches)
            if match in matches[:index]
        ]
        for index, rule in enumerate(self.rules):
            targets = self._targets(rule)
            if any(target.deletes is DeleteKind.POSITIONAL for target in targets):
                problems += checks.unmergeable_types(f"rules[{index}].types", targets[0].types)
            for number, target in enumerate(targets if rule.targets else ()):
                problems += [
                    Problem(f"rules[{index}].targets[{number}].{p.path}", p.text, p.advice)
                    for p in checks.hashed_and_more(target.hash, target.exclude, target.types)
                ]
        if problems:
            raise Misfit(*problems)

    def rule_for(self, schema: str, table: str) -> ResolvedRule:
        """Resolve what is set for one source table: the first matching rule over the defaults.

        Args:
            schema: The table's schema; its database, where the source has no schemas.
            table: The table's name.
        """
        return ResolvedRule.of(self.defaults, *self._matching(schema, table))

    def targets_for(self, schema: str, table: str) -> tuple[ResolvedRule, ...]:
        """Resolve what is set for each table that one source table is mirrored to."""
        rules = self._matching(schema, table)
        return self._targets(rules[0]) if rules else (ResolvedRule.of(self.defaults),)

    def _matching(self, schema: str, table: str) -> list[TableRule]:
        """Find the rule that wins, if there is one."""
        name = f"{schema}.{table}"
        return [rule for rule in self.rules if fnmatchcase(name, rule.match)][:1]

    def _targets(self, rule: TableRule) -> tuple[ResolvedRule, ...]:
        return tuple(ResolvedRule.of(self.defaults, rule, target) for target in rule.targets) or (
            ResolvedRule.of(self.defaults, rule),
        )
