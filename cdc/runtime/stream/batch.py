"""One micro-batch, from the records of all topics to one commit per table.

1. begin    see what has changed around the tables since the batch before
2. write    one job for all tables: decode, collapse, files
3. follow   only where a task met something new; then step 2 again for those tables alone
4. commit   tables side by side: rows, deletes and ledger in one atomic commit each
5. observe  the account of the batch

A batch that is cut off anywhere before step 4 has changed no table, and one cut off in step 4 has
changed some: whatever runs next starts from the tables' ledgers, so those are not changed again.
"""

import logging
import time
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from cdc.model import Account
from cdc.observe import BatchProgress
from cdc.runtime.follow.context import MirrorContext
from cdc.runtime.follow.follower import Arrivals
from cdc.runtime.stream.batch_tools import BatchTools
from cdc.runtime.stream.commits import Commits
from cdc.runtime.stream.key_change import passes_of
from cdc.runtime.tables.reports import TargetReports
from cdc.source.topic_log import TopicLog

logger = logging.getLogger(__name__)


class BatchRunner:
    """Runs the batches of one stream."""

    def __init__(
        self,
        spark: SparkSession,
        context: MirrorContext,
        log: TopicLog,
        arrivals: Arrivals | None = None,
    ) -> None:
        """Equip the batches.

        Args:
            spark: The session with the mirror's catalog.
            context: The mirror.
            log: What Kafka has beside the records of a batch.
            arrivals: Told of a topic that has no table yet.
        """
        self._tools = BatchTools.of(spark, context, log, arrivals)

    def run(self, records: DataFrame, batch: int) -> tuple[BatchProgress, set[str]]:
        """Apply one batch. Run twice, the second run finds every record in the ledgers.

        Raises:
            MirrorError: A retryable failure; the tables that are committed stay so.
        """
        started = time.monotonic()
        self._begin()
        passes = passes_of(self._tools)
        reports = passes.write(records)
        reports = passes.follow(reports)
        written = time.monotonic()
        committed = Commits(self._tools, passes).commit(reports)
        return self._observe(batch, committed, started, written)

    def _begin(self) -> None:
        """Step 1: see what has changed around the tables since the batch before."""
        context = self._tools.context
        context.declarations.begin()
        for mirrored in context.tables.active:
            self._tools.rows.fill_defaults(mirrored)

    def _observe(
        self, batch: int, committed: list[TargetReports], started: float, written: float
    ) -> tuple[BatchProgress, set[str]]:
        """Step 5: say what the batch did."""
        progress = BatchProgress(
            batch=batch,
            tables=len(committed),
            account=reduce(Account.__add__, (r.account for r in committed), Account()),
            write_seconds=written - started,
            commit_seconds=time.monotonic() - written,
        )
        logger.info("%s", progress)
        parked = self._tools.context.parked
        for report in committed:
            parked.resume(report.id)
        parked.save()
        return progress, {str(report.id[1]) for report in committed}
