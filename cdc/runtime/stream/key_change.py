"""A table's key changes in the middle of a batch: what came before is applied under the old one."""

from functools import partial

from cdc.runtime.stream.batch_tools import BatchTools
from cdc.runtime.stream.commits import Commits
from cdc.runtime.stream.findings import BatchFindings
from cdc.runtime.stream.passes import Passes
from cdc.runtime.tables.mirrored_table import MirroredTable


def settle(tools: BatchTools, mirrored: MirroredTable, key: tuple[str, ...]) -> tuple[str, ...]:
    """Apply all that came before a table's key changed, in a commit of its own.

    A delete names its row by the key of its time, and no other column: under the new key nobody
    could tell which row is meant. So all partitions are read up to the change, as far as Kafka has
    them. Done twice, the second time finds nothing.

    Args:
        tools: The tables, and what reads and writes them.
        mirrored: The table, under its old key.
        key: Columns of the new one.

    Returns:
        Those of them that some row of the table has no value for.
    """
    target, topic = mirrored.id, mirrored.topic
    ranges, marks = tools.log.ranges(topic), mirrored.marks
    first = {
        (topic, partition): marks[partition].next_offset if partition in marks else held.first
        for partition, held in ranges.items()
    }
    next_ = {(topic, partition): held.next for partition, held in ranges.items()}
    if ranges:
        passes = passes_of(tools, BatchFindings().adding(target, until_key_change=True))
        reports = passes.write(tools.log.read(first, next_), [target])
        Commits(tools, passes).commit(passes.follow(reports))
    tables = tools.context.tables
    if target in tables.parked:
        raise tables.parked[target]
    return tools.rows.lacking(mirrored, key)


def passes_of(tools: BatchTools, findings: BatchFindings | None = None) -> Passes:
    """Begin the passes of a batch, with what is known of it beforehand."""
    return Passes(tools, partial(settle, tools), findings or BatchFindings())
