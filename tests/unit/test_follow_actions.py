"""What `check` says that `run` would do."""

import pytest
from pyiceberg.types import StringType

from cdc.config import ChangeKind
from cdc.errors import DroppedTableError
from cdc.model import TableName
from cdc.model.column_steps import ColumnStep, StepKind
from cdc.runtime.follow.actions import (
    Action,
    Alter,
    Create,
    FollowSource,
    Leave,
    Park,
    Rename,
    SourceChange,
    action_text,
)
from cdc.schema import ColumnChange, Decision

ALTER = Alter(
    Decision(
        (
            (
                ColumnChange(ChangeKind.CHANGE_TYPE, ("v",)),
                (
                    ColumnStep(StepKind.RENAME, ("v",), to="v_20260131"),
                    ColumnStep(StepKind.ADD, ("v",), StringType(), after="v_20260131"),
                ),
            ),
            (
                ColumnChange(ChangeKind.DROP_COLUMN, ("w",)),
                (ColumnStep(StepKind.DROP, ("w",)),),
            ),
        ),
        (),
    )
)
REASON = DroppedTableError("public.orders", "shop.orders")


@pytest.mark.parametrize(
    ("action", "texts"),
    [
        (Create(), ("create",)),
        (
            ALTER,
            (
                "RENAME COLUMN v TO v_20260131",
                "ADD COLUMN v string AFTER v_20260131",
                "DROP COLUMN w",
            ),
        ),
        (
            Rename(TableName(("lake", "shop"), "orders"), TableName(("lake", "shop"), "sales")),
            ("RENAME TABLE lake.shop.orders TO lake.shop.sales",),
        ),
        (FollowSource(SourceChange.KEEP), ("DROP TABLE at the source: stays",)),
        (FollowSource(SourceChange.DROP), ("DROP TABLE",)),
        (
            FollowSource(SourceChange.ROWS_GO),
            ("DROP TABLE, CREATE TABLE at the source: rows from before go",),
        ),
        (
            FollowSource(SourceChange.ROWS_STAY),
            ("DROP TABLE, CREATE TABLE at the source: rows from before stay",),
        ),
        (Leave(None), ("left: dropped",)),
        (Leave("srv.public.sales"), ("left: goes on as srv.public.sales",)),
        (Park(REASON), (f"park: {REASON}",)),
    ],
)
def test_an_action_says_what_is_done(action: Action, texts: tuple[str, ...]) -> None:
    assert action.texts == texts


def test_several_actions_are_said_in_their_order() -> None:
    kept = FollowSource(SourceChange.KEEP)

    assert action_text([kept, ALTER]) == (
        "DROP TABLE at the source: stays; RENAME COLUMN v TO v_20260131; "
        "ADD COLUMN v string AFTER v_20260131; DROP COLUMN w"
    )


def test_a_table_of_which_nothing_is_asked_goes_on() -> None:
    assert action_text([]) == "go on"
