"""What `check` says that `run` would do, held against what `run` then logs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from cdc.commands.check import check_mirror
from cdc.commands.table_plans import TablePlan
from cdc.config import MirrorConfig
from cdc.errors import AwaitedTableError
from cdc.runtime.follow.actions import GO_ON

FOLLOWED = "followed table=%s action=%s"
PARKED = "parked topic=%s table=%s reason=%s"


class ActionLog(logging.Handler):
    """Notes what a run logs of each table and topic, in its order."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[str, list[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        if not isinstance(record.args, tuple):
            return
        if record.msg == FOLLOWED:
            table, text = record.args
            self._note(str(table), str(text))
        elif record.msg == PARKED:
            topic, table, reason = record.args
            # Until a table has read up its old topic its new one waits: that is no decision yet.
            if not isinstance(reason, AwaitedTableError):
                self._note(str(topic) if table == "-" else str(table), f"park: {reason}")

    def of(self, plan: TablePlan) -> str:
        """Write what was done with the table of a plan, or with its topic."""
        texts = self._texts.get(plan.table) or self._texts.get(plan.topic) or [GO_ON]
        return "; ".join(texts)

    def _note(self, name: str, text: str) -> None:
        known = self._texts.setdefault(name, [])
        if text not in known:  # a run that starts again says it again
            known.append(text)


# By topic and table what `check` said, and what `run` logged instead.
Differences = dict[tuple[str, str], tuple[str, str]]


@contextmanager
def compared_with_check(config: MirrorConfig) -> Iterator[Differences]:
    """Give, once a run in this block is over, what it did otherwise than `check` said before it."""
    differences: Differences = {}
    plans = check_mirror(config).tables
    log = ActionLog()
    logger = logging.getLogger("cdc")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(log)
    try:
        yield differences
    finally:
        logger.removeHandler(log)
        logger.setLevel(level)
    for plan in plans:
        # What became of tables that were left before says nothing of this run.
        old_news = plan.action.startswith(("left: ", "nothing to read yet"))
        if not old_news and plan.action != log.of(plan):
            differences[plan.topic, plan.table] = plan.action, log.of(plan)
