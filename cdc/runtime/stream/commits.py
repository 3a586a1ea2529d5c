"""Step 4 of a batch: its tables side by side, each in one atomic commit."""

import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from cdc.errors import CommitConflictError, MirrorError
from cdc.model import TargetId
from cdc.runtime.stream.batch_tools import BatchTools
from cdc.runtime.stream.passes import Passes, Reports
from cdc.runtime.tables.reports import TargetReports

logger = logging.getLogger(__name__)

# How often a table is written again that somebody else changed in the meantime.
MOST_CONFLICTS = 5
COMMIT_THREADS = 4


class Commits:
    """Commits what the passes of one batch wrote."""

    def __init__(self, tools: BatchTools, passes: Passes) -> None:
        self._tools = tools
        self._tables = tools.context.tables
        self._passes = passes

    def commit(self, reports: Reports) -> list[TargetReports]:
        """Commit the tables; one that somebody else changed meanwhile is written again.

        Raises:
            MirrorError: A retryable failure; the tables that are committed stay so.
        """
        committed: list[TargetReports] = []
        for attempt in range(MOST_CONFLICTS + 1):
            done, lost = self._commit_all(reports.values())
            committed += done
            if not lost:
                break
            if attempt == MOST_CONFLICTS:
                raise next(iter(lost.values()))
            for target, conflict in lost.items():
                logger.warning("written again table=%s reason=%s", target[1], conflict)
                self._tools.remove_rows(reports[target])
                self._tables[target].reopen()
                self._passes.findings = self._passes.findings.without_state_of(target)
            again = self._passes.write_again([reports[target] for target in lost])
            reports = self._passes.follow(again)
        return committed

    def _commit_all(
        self, reports: Iterable[TargetReports]
    ) -> tuple[list[TargetReports], dict[TargetId, CommitConflictError]]:
        """Commit tables side by side; give those that are done, and those that lost a race."""
        pending = [r for r in reports if r.id in self._tables and r.is_new]
        # The ledgers must not pass a bad record before it is safe.
        try:
            self._tools.context.quarantine.commit(
                part for report in pending for part in report.written
            )
        except CommitConflictError as conflict:  # those that are new are told by the next attempt
            for report in pending:
                self._tools.remove_bad_records(report)
            return [], {report.id: conflict for report in pending}
        retry: MirrorError | None = None
        committed, lost = [], {}
        with ThreadPoolExecutor(COMMIT_THREADS, thread_name_prefix="commit") as threads:
            futures = {
                report.id: threads.submit(
                    self._tools.commit_table,
                    self._tables[report.id],
                    report,
                    self._passes.findings.of(report.id).cutoffs,
                )
                for report in pending
            }
            for report in pending:
                try:
                    futures[report.id].result()
                    committed.append(report)
                except CommitConflictError as conflict:
                    lost[report.id] = conflict
                except MirrorError as error:
                    if error.retryable:
                        retry = error
                    else:
                        self._tools.remove_rows(report)
                        self._tables.park(report.id, error)
        if retry is not None:
            raise retry
        return committed, lost
