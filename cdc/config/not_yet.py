"""Settings that are understood but not applied yet, so that they are refused and never ignored."""

from collections.abc import Iterator

from cdc.config.choices import SchemaChange
from cdc.config.settings import MirrorConfig
from cdc.config.table_rules import TableDefaults, TableRule
from cdc.errors import Problem


def not_yet(config: MirrorConfig) -> list[Problem]:
    """List the settings of a valid config that this version cannot apply."""
    problems = [*_choices("tables.defaults", config.tables.defaults)]
    for index, rule in enumerate(config.tables.rules):
        problems.extend(_choices(f"tables.rules[{index}]", rule))
    return problems


def _choices(place: str, settings: TableDefaults | TableRule) -> Iterator[Problem]:
    value = settings.schema_change
    if value not in (None, SchemaChange.EVOLVE):
        yield Problem(
            f"{place}.schema_change",
            f'"{value}" is not applied by this version yet',
            f'Use "{SchemaChange.EVOLVE}".',
        )
