"""Whether a table that exists is the one that a rule of the config describes."""

from collections.abc import Mapping

from pyiceberg.schema import Schema

from cdc.config import ResolvedRule
from cdc.config.partitioning import partition_fields
from cdc.errors import ExcludedColumnError, ForeignTableError
from cdc.schema import check_mode, check_partition
from cdc.state.names import MIRROR_PROPERTY, TOPIC_PROPERTY
from cdc.state.version import migrate


def check_adoptable(
    table: str,
    properties: Mapping[str, str],
    schema: Schema,
    rule: ResolvedRule,
    owner: tuple[str, str],
) -> None:
    """See that a mirror may write to a table, in the mode and the partitions of its rule.

    Args:
        table: The table's name, for errors.
        properties: Its properties, which say who made it.
        schema: Its columns.
        rule: What the config says of it now.
        owner: The mirror that wants to write to it, and from which topic.

    Raises:
        ForeignTableError: Somebody else made it, or it belongs to another topic.
        UnknownStateVersionError: A newer version of the program wrote it.
        OtherModeError: It was made for another mode.
        ExcludedColumnError: It has columns that the rule leaves out.
        PartitionError: It cannot be partitioned as the rule says.
    """
    found = properties.get(MIRROR_PROPERTY), properties.get(TOPIC_PROPERTY)
    if found == (None, None):
        raise ForeignTableError(table, "no mirror made it")
    if found != owner:
        reason = f"it belongs to topic {found[1]} of the mirror {found[0]}"
        raise ForeignTableError(table, reason)
    migrate(properties, schema, table)  # nothing is written where that leads nowhere
    check_mode(schema, rule, table)
    excluded = tuple(column.name for column in schema.fields if column.name in rule.exclude)
    if excluded:  # they would be mirrored on
        raise ExcludedColumnError(table, excluded)
    check_partition(partition_fields(rule.partition), schema, table, rule.exclude)
