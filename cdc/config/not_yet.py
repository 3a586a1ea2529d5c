"""Settings that are understood but not applied yet, so that they are refused and never ignored."""

from collections.abc import Iterator

from cdc.config.choices import ApplyMode, OnDelete, SchemaChange
from cdc.config.settings import MirrorConfig
from cdc.config.table_rules import TableDefaults, TableRule
from cdc.errors import Problem

_APPLIED = {
    "mode": ApplyMode.MIRROR,
    "on_delete": OnDelete.HARD,
    "schema_change": SchemaChange.EVOLVE,
}
_UNAPPLIED = ("partition", "key", "targets", "format_version")


def not_yet(config: MirrorConfig) -> list[Problem]:
    """List the settings of a valid config that this version cannot apply."""
    problems = [*_choices("tables.defaults", config.tables.defaults)]
    for index, rule in enumerate(config.tables.rules):
        place = f"tables.rules[{index}]"
        problems.extend(_choices(place, rule))
        problems.extend(
            Problem(f"{place}.{name}", "is not applied by this version yet", "Remove it.")
            for name in _UNAPPLIED
            if getattr(rule, name)
        )
    return problems


def _choices(place: str, settings: TableDefaults | TableRule) -> Iterator[Problem]:
    for name, applied in _APPLIED.items():
        value = getattr(settings, name)
        if value not in (None, applied):
            yield Problem(
                f"{place}.{name}",
                f'"{value}" is not applied by this version yet',
                f'Use "{applied}".',
            )
