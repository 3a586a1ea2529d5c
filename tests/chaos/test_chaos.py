"""A mirror that is killed while its connector dies and its tables are compacted stays exact."""

import logging
from pathlib import Path

from tests.chaos.chaos import Chaos, Plan
from tests.chaos.shapes import Database
from tests.integration.stack import Stack


def test_kills_of_mirror_and_connector_lose_double_and_spoil_no_row(
    stack: Stack, tmp_path: Path
) -> None:
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        logging.getLogger(__name__).info("%s", line)

    plan = Plan(
        seed=3,
        statements=5000,
        kills=3,
        kafka_restarts=0,
        connect_restarts=1,
        lost_checkpoints=1,
    )
    outcome = Chaos(stack, tmp_path, Database.POSTGRES, plan, tell).run()

    assert outcome.good, "\n".join(told)
    assert outcome.kills == 3
    assert outcome.records > 5000
