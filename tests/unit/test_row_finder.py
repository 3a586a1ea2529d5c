"""What a write task is told of a table's data files."""

from datetime import date
from decimal import Decimal

from cdc.model import LiveFile
from cdc.runtime.task.row_finder import IndexPlan


def test_a_task_sees_the_files_of_its_partition_and_those_that_may_hold_any_key() -> None:
    mine = LiveFile("a/p00001-x.parquet", 7, 100, 1, 3, (date(2026, 1, 2), Decimal("1.50"), None))
    others = LiveFile("a/p00000-y.parquet", 8, 50, 0)
    shared = LiveFile("a/compacted.parquet", 5, 10)

    plan = IndexPlan.of("index", [mine, others, shared])

    assert plan.of_lane(1) == (mine, shared)
