"""How single tables are mirrored: defaults, rules, and the targets of a rule."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

from cdc.config import checks, partitioning
from cdc.config.ceiling import USUAL, Ceiling, ceiling
from cdc.config.checks import STRICT, Check, Misfit, check_settings
from cdc.config.choices import (
    ApplyMode,
    ChangeKind,
    DeleteKind,
    Lookup,
    OnDelete,
    SchemaChange,
)
from cdc.errors import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDefaults:
    """How a table is mirrored that no rule changes."""

    __pydantic_config__: ClassVar = STRICT

    mode: Annotated[
        ApplyMode, "Current state, every change as a row, or every version with its times"
    ] = ApplyMode.MIRROR
    deletes: Annotated[
        DeleteKind, "Fast and readable everywhere, or lowest latency with slower readers"
    ] = DeleteKind.POSITIONAL
    lookup: Annotated[
        Lookup, "How positional deletes find their rows: by a key index on local disk, or by MERGE"
    ] = Lookup.INDEX
    on_delete: Annotated[OnDelete, "Remove a deleted row, or keep and mark it"] = OnDelete.HARD
    schema_change: Annotated[SchemaChange, "What a change of columns does to the mirror"] = (
        SchemaChange.EVOLVE
    )
    schema_policies: Annotated[
        Mapping[ChangeKind, SchemaChange],
        "Instead of `schema_change` for some kinds: `add_column` `drop_column` `rename_column` "
        "`widen_type` `change_type` `nullability` `change_key` `comment` `drop_table` "
        "`rename_table`",
    ] = field(default_factory=dict)
    schema_allow: Annotated[
        tuple[ChangeKind, ...], "The only kinds of change that are followed; empty means all"
    ] = ()
    schema_deny: Annotated[tuple[ChangeKind, ...], "Kinds of change that are not followed"] = ()
    format_version: Annotated[
        int,
        Check(checks.format_version, before=True),
        "Iceberg's format of new tables; 3 has deletion vectors",
    ] = 2
    max_quarantined: Annotated[
        Ceiling,
        Check(ceiling, before=True),
        "Most bad records of one batch; with more, the table is parked and none goes into "
        "quarantine. A share, such as 0.05, always allows 100",
    ] = USUAL

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRule:
    """One of several tables that a source table is mirrored to."""

    __pydantic_config__: ClassVar = STRICT

    table: Annotated[
        str, Check(checks.table_template), "Name of this target, written as `target.table` is"
    ]
    mode: Annotated[ApplyMode | None, "Instead of the rule's"] = None
    deletes: Annotated[DeleteKind | None, "Instead of the rule's"] = None
    lookup: Annotated[Lookup | None, "Instead of the rule's"] = None
    on_delete: Annotated[OnDelete | None, "Instead of the rule's"] = None
    schema_change: Annotated[SchemaChange | None, "Instead of the rule's"] = None
    format_version: Annotated[
        int | None, Check(checks.format_version, before=True), "Instead of the rule's"
    ] = None
    partition: Annotated[
        tuple[str, ...] | None, Check(partitioning.partition), "Instead of the rule's"
    ] = None
    exclude: Annotated[tuple[str, ...] | None, "Instead of the rule's"] = None
    hash: Annotated[tuple[str, ...] | None, "Instead of the rule's"] = None

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRule:
    """How the source tables that match one pattern are mirrored."""

    __pydantic_config__: ClassVar = STRICT

    match: Annotated[
        str,
        Check(checks.table_glob),
        "Glob over `schema.table`, or `database.table` where there are no schemas; "
        "the first matching rule wins",
    ]
    mode: Annotated[ApplyMode | None, "Instead of `tables.defaults.mode`"] = None
    deletes: Annotated[DeleteKind | None, "Instead of `tables.defaults.deletes`"] = None
    lookup: Annotated[Lookup | None, "Instead of `tables.defaults.lookup`"] = None
    on_delete: Annotated[OnDelete | None, "Instead of `tables.defaults.on_delete`"] = None
    schema_change: Annotated[SchemaChange | None, "Instead of `tables.defaults.schema_change`"] = (
        None
    )
    schema_policies: Annotated[
        Mapping[ChangeKind, SchemaChange] | None, "Instead of `tables.defaults.schema_policies`"
    ] = None
    schema_allow: Annotated[
        tuple[ChangeKind, ...] | None, "Instead of `tables.defaults.schema_allow`"
    ] = None
    schema_deny: Annotated[
        tuple[ChangeKind, ...] | None, "Instead of `tables.defaults.schema_deny`"
    ] = None
    renames: Annotated[
        Mapping[str, str],
        "New names of the source's columns by their old ones, where nothing else tells a renamed "
        "column from a new one",
    ] = field(default_factory=dict)
    renamed_from: Annotated[
        str,
        Check(checks.former_name),
        "The name that the table had before, as `schema.table`, where nothing else tells a renamed "
        "table from a new one",
    ] = ""
    format_version: Annotated[
        int | None,
        Check(checks.format_version, before=True),
        "Instead of `tables.defaults.format_version`",
    ] = None
    max_quarantined: Annotated[
        Ceiling | None,
        Check(ceiling, before=True),
        "Instead of `tables.defaults.max_quarantined`",
    ] = None
    partition: Annotated[
        tuple[str, ...],
        Check(partitioning.partition),
        "Partition fields: `day(created_at)`, `bucket(16, id)`, `truncate(4, name)`, `status` …",
    ] = ()
    exclude: Annotated[tuple[str, ...], Check(checks.words), "Columns that are not mirrored"] = ()
    hash: Annotated[
        tuple[str, ...], Check(checks.words), "Columns of which only a hash is mirrored"
    ] = ()
    key: Annotated[
        tuple[str, ...], Check(checks.words), "Key columns of a table without a primary key"
    ] = ()
    types: Annotated[
        Mapping[str, str],
        Check(checks.type_choices),
        'Iceberg types by column, such as `{ price = "decimal(38,2) or null" }`; '
        "docs/types.md says which there are",
    ] = field(default_factory=dict)
    targets: Annotated[
        tuple[TargetRule, ...], "Several tables of one source table, written in one pass"
    ] = ()

    def __post_init__(self) -> None:
        check_settings(self)
        problems = [
            Problem("exclude", "holds a key column", "A key must be mirrored.")
            for column in self.key
            if column in self.exclude
        ]
        problems += checks.hashed_and_more(self.hash, self.exclude, self.types)
        problems += checks.renamed_globs(self.match, self.renamed_from)
        if self.key and self.mode is ApplyMode.APPEND and not self.targets:
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
    """Everything that is set for one target of a source table, defaults included."""

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
class TablesConfig:
    """How the tables are mirrored."""

    __pydantic_config__: ClassVar = STRICT

    defaults: Annotated[TableDefaults, "For every table"] = field(default_factory=TableDefaults)
    rules: Annotated[tuple[TableRule, ...], "For the tables that match"] = ()

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
            resolved = self._targets(rule)
            if any(target.deletes is DeleteKind.POSITIONAL for target in resolved):
                problems.extend(checks.unmergeable_types(f"rules[{index}].types", rule.types))
            for place, target in enumerate(resolved if rule.targets else ()):
                problems += [
                    Problem(f"rules[{index}].targets[{place}].{p.path}", p.text, p.advice)
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
        found = self._rule(schema, table)
        return self._base() if found is None else self._resolved(found)

    def targets_for(self, schema: str, table: str) -> tuple[ResolvedRule, ...]:
        """Resolve what is set for each table that one source table is mirrored to."""
        found = self._rule(schema, table)
        return (self._base(),) if found is None else self._targets(found)

    def _rule(self, schema: str, table: str) -> TableRule | None:
        name = f"{schema}.{table}"
        return next((rule for rule in self.rules if fnmatchcase(name, rule.match)), None)

    def _base(self) -> ResolvedRule:
        return ResolvedRule(**_set_values(self.defaults))

    def _resolved(self, rule: TableRule) -> ResolvedRule:
        return replace(self._base(), **_set_values(rule))

    def _targets(self, rule: TableRule) -> tuple[ResolvedRule, ...]:
        base = self._resolved(rule)
        return tuple(replace(base, **_set_values(target)) for target in rule.targets) or (base,)


def _set_values(settings: TableDefaults | TableRule | TargetRule) -> dict[str, Any]:
    """Give the settings that are set, by the names that a resolved rule has for them."""
    return {
        name: value
        for name in ResolvedRule.__dataclass_fields__
        if (value := getattr(settings, name, None)) is not None
    }
