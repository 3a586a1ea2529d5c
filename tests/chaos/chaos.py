"""The workload while all dies: mirror, Kafka, Connect, the checkpoint; compaction beside.

python -m tests.chaos.chaos --seed 1 --statements 200000 --kills 50 --database postgres

The last line is one line of JSON; the exit code is 0 only if no row was lost, doubled or stale.
"""

import argparse
import json
import os
import queue
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cdc.downloads.processes import Command, Process, Processes
from cdc.sandbox import Service
from tests.chaos.mirror import ROOT, Books, Layout, Mirror, MirrorFailed, environment
from tests.chaos.pipeline import Ends, Pipeline
from tests.chaos.shapes import SHAPES, Database
from tests.chaos.verdict import Verdict, judge
from tests.chaos.workload import Workload, summary
from tests.integration.stack import Stack, open_stack
from tests.patience import wait_until

# The workload lasts until this part of the kills is done.
WORKLOAD_UNTIL = 0.9
USUAL_LIFE = 12.0  # seconds of a mirror between start and kill
START_SECONDS = 10.0
AFTER_BATCH_SECONDS = 4.0
KILLED_ALONE = 0.3
KILLED_EARLY = 0.35

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What shall happen."""

    seed: int
    statements: int = 200_000
    kills: int = 50
    kafka_restarts: int = 5
    connect_restarts: int = 5
    lost_checkpoints: int = 2
    compaction: bool = True

    def __post_init__(self) -> None:
        if self.lost_checkpoints + self.kafka_restarts + self.connect_restarts > self.kills:
            raise ValueError("there must be at least as many kills as other accidents")


@dataclass(slots=True)
class Outcome:
    """What came of it."""

    verdict: Verdict = field(default_factory=Verdict)
    kills: int = 0
    read: int = 0
    records: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)

    def line(self, seed: int) -> str:
        """Write the last line."""
        facts: dict[str, Any] = {
            "seed": seed,
            "kills": self.kills,
            "read": self.read,
            "lost": self.verdict.lost,
            "duplicated": self.verdict.duplicated,
            "stale": self.verdict.stale,
        }
        if self.failures:
            facts["failures"] = [text.splitlines()[0] for text in self.failures]
        return json.dumps(facts)

    @property
    def good(self) -> bool:
        return not self.failures and self.verdict.differences == 0


class Chaos:
    """One run."""

    def __init__(
        self, stack: Stack, folder: Path, database: Database, plan: Plan, tell: Tell
    ) -> None:
        self._stack = stack
        self._folder = folder
        self._database = database
        self._plan = plan
        self._tell = tell
        self._rng = random.Random(plan.seed)
        self._outcome = Outcome()
        self._last_kill = time.monotonic()
        self._accidents: queue.Queue[Service | None] = queue.Queue()
        self._kafka_up = threading.Event()
        self._kafka_up.set()
        self._kafka_outages = 0

    def run(self) -> Outcome:
        """Let it all happen, then compare; what goes wrong is among the outcome's failures."""
        started = time.monotonic()
        pipeline = Pipeline(self._stack, self._database, f"c{time.time_ns() % 10**10}")
        try:
            self._run(pipeline)
        except Exception as error:
            self._tell(traceback.format_exc())
            self._fail(error)
        finally:
            pipeline.close()
        self._outcome.seconds = time.monotonic() - started
        return self._outcome

    def _run(self, pipeline: Pipeline) -> None:
        workload = Workload(
            pipeline.connect,
            self._database,
            seed=self._plan.seed,
            statements=self._plan.statements,
            tell=self._tell,
            columns=pipeline.columns,
            allowed=self._allowed,
        )
        workload.create()
        pipeline.register()
        with Mirror(self._folder, pipeline, Layout()) as mirror, pipeline.watched(self._tell):
            with self._compaction(mirror), self._in_background(workload):
                self._last_kill = time.monotonic()
                try:
                    self._kill_again_and_again(mirror)
                except MirrorFailed as error:
                    self._fail(error)
                    workload.stop()
                self._accidents.put(None)
            self._tell(f"workload: {summary(workload)}")
            ends = self._finish(pipeline, mirror)
            self._account(pipeline, mirror, ends)
            judge(self._outcome.verdict, pipeline, mirror, ends, self._tell)

    def _kill_again_and_again(self, mirror: Mirror) -> None:
        """Kill the mirror at random moments, and start it again at once."""
        plan, rng = self._plan, self._rng
        accidents = [
            *[Service.KAFKA] * plan.kafka_restarts,
            *[Service.CONNECT] * plan.connect_restarts,
            *[None] * plan.lost_checkpoints,
        ]
        rng.shuffle(accidents)
        moments = sorted(rng.sample(range(1, plan.kills + 1), len(accidents)))
        due = dict(zip(moments, accidents, strict=True))
        mirror.start()
        for number in range(1, plan.kills + 1):
            moment = self._wait_for_moment(mirror)
            alone = rng.random() < KILLED_ALONE
            mirror.kill(alone=alone)
            self._last_kill = time.monotonic()
            self._outcome.kills = number
            how = "the command alone" if alone else "all of it"
            self._tell(f"kill {number}: {moment}, {how}; {mirror.batches()} batches so far")
            if number in due and due[number] is None:
                shutil.rmtree(self._folder / "mirror" / "checkpoint", ignore_errors=True)
                self._tell("the checkpoint is deleted")
            elif number in due:
                self._accidents.put(due[number])
            # What cannot be reached at the very start is told at once, by intent.
            self._kafka_up.wait()
            mirror.start()

    def _wait_for_moment(self, mirror: Mirror) -> str:
        rng, started, before = self._rng, time.monotonic(), mirror.batches()
        outages = self._kafka_outages
        if rng.random() < KILLED_EARLY:
            deadline, moment = started + rng.uniform(0, START_SECONDS), "while it starts"
        else:
            more = rng.uniform(0, AFTER_BATCH_SECONDS)
            ended = wait_until(lambda: mirror.batches() > before or mirror.exit_code() is not None)
            deadline = time.monotonic() + more
            moment = f"{more:.1f} s after a batch" if ended else "without any batch"
        wait_until(
            lambda: mirror.exit_code() is not None or time.monotonic() > deadline,
            deadline - time.monotonic(),
        )
        if mirror.exit_code() is None:
            return f"{moment}, after {time.monotonic() - started:.1f} s"
        if mirror.batches() == before and self._kafka_outages > outages:
            self._tell("the mirror found no Kafka at its start; it is started again")
            self._kafka_up.wait()
            mirror.start()
            return self._wait_for_moment(mirror)
        raise MirrorFailed(
            f"the mirror ended by itself with {mirror.exit_code()}:\n{mirror.last_lines()}"
        )

    @contextmanager
    def _in_background(self, workload: Workload) -> Iterator[None]:
        """Let the workload and the accidents of the servers happen while the block runs."""
        work = threading.Thread(target=self._noting(workload.run), name="workload")
        servers = threading.Thread(target=self._noting(self._restart_servers), name="servers")
        work.start()
        servers.start()
        try:
            yield
        except BaseException:
            workload.stop()
            self._accidents.put(None)
            raise
        finally:
            servers.join()
            work.join()

    def _noting(self, action: Callable[[], None]) -> Callable[[], None]:
        def noted() -> None:
            try:
                action()
            except Exception as error:
                self._fail(error)

        return noted

    def _restart_servers(self) -> None:
        """Restart the servers that are asked for, some seconds later."""
        rng = random.Random(f"{self._plan.seed}/servers")
        while (service := self._accidents.get()) is not None:
            time.sleep(rng.uniform(0, 8))
            # Connect is killed: what it has not yet noted as sent, it sends again.
            killed = service is Service.CONNECT or rng.random() < 0.5
            if service is Service.KAFKA:
                self._kafka_outages += 1
                self._kafka_up.clear()
            try:
                (self._stack.kill if killed else self._stack.stop)(service)
                time.sleep(rng.uniform(0, 2))
                self._stack.start(service)
            finally:
                self._kafka_up.set()
            self._tell(f"{service.value} was {'killed' if killed else 'stopped'} and is back")

    @contextmanager
    def _compaction(self, mirror: Mirror) -> Iterator[None]:
        """Compact the mirror's tables beside it, as a job of somebody else would."""
        if not self._plan.compaction:
            yield
            return
        namespaces = [mirror.layout.namespace(mirror.pipeline, k) for k in mirror.layout.kinds]
        log = self._folder / "compactor.log"
        arguments = [str(mirror.config), str(self._plan.seed), str(self._books_file), *namespaces]
        processes = Processes(Path(tempfile.gettempdir()))
        try:
            process: Process = processes.spawn(
                Command(
                    argv=[sys.executable, "-m", "tests.chaos.compactor", *arguments],
                    log=log,
                    cwd=ROOT,
                    env=environment(),
                )
            )
            yield
            if process.poll() is not None:
                self._fail(RuntimeError(f"the compactor ended:\n{log.read_text()[-2000:]}"))
            # To the program alone: Spark, in its group, ends after the call in hand.
            os.kill(process.pid, signal.SIGTERM)
            process.wait(60)
            self._tell(f"compaction {log.read_text().splitlines()[-1]}")
        finally:
            processes.close()

    @property
    def _books_file(self) -> Path:
        return self._folder / "books.jsonl"

    def _allowed(self) -> float:
        """Spread the statements over the kills."""
        plan = self._plan
        lived = min(1.0, (time.monotonic() - self._last_kill) / USUAL_LIFE)
        return plan.statements * (self._outcome.kills + lived) / max(plan.kills * WORKLOAD_UNTIL, 1)

    def _finish(self, pipeline: Pipeline, mirror: Mirror) -> Ends:
        """Let the mirror read all there is."""
        ends = pipeline.finish()
        mirrored = {pipeline.topic(shape.name) for shape in SHAPES}
        self._outcome.records = sum(end for (topic, _), end in ends.items() if topic in mirrored)
        self._tell(f"{self._outcome.records} records are in Kafka")
        try:
            if mirror.exit_code() is None:
                mirror.kill()
            mirror.once()
            mirror.once()  # reads nothing, unless the first left something
            mirror.check()
        except MirrorFailed as error:
            self._fail(error)
        return ends

    def _account(self, pipeline: Pipeline, mirror: Mirror, ends: Ends) -> None:
        """Add up the ledgers, also of snapshots that have expired, and see where they end."""
        books = Books(self._books_file)
        books.load()
        catalog = mirror.catalog()
        for kind in mirror.layout.kinds:
            namespace = mirror.layout.namespace(pipeline, kind)
            for shape in SHAPES:
                name = f"{namespace}.{shape.name}"
                books.note(name, catalog.load_table(name))
                self._check_marks(books, name, pipeline.topic(shape.name), ends)
            account = books.account(namespace)
            self._outcome.read = account.read
            self._tell(f"account of {kind}: {account}")
            if not account.balanced or account.quarantined:
                self._fail(RuntimeError(f"the account of {kind} does not balance: {account}"))
            # A record that comes a second time has an offset of its own: each counts once.
            if account.read - account.duplicates != self._outcome.records:
                self._fail(RuntimeError(f"{kind} does not account for every record just once"))

    def _check_marks(self, books: Books, table: str, topic: str, ends: Ends) -> None:
        ledgers = [ledger for (name, _), ledger in books.ledgers.items() if name == table]
        last = max(ledgers, key=lambda ledger: ledger.batch)
        marks = {(topic, part): mark.next_offset for part, mark in last.partitions.items()}
        wanted = {place: end for place, end in ends.items() if place[0] == topic and end > 0}
        if marks != wanted:
            self._fail(RuntimeError(f"{table} has read up to {marks}, not {wanted}"))

    def _fail(self, error: Exception) -> None:
        self._tell(f"FAILED: {error!r}" if not str(error) else f"FAILED: {error}")
        self._outcome.failures.append(str(error) or repr(error))


def main() -> int:
    """Run it and print the outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--statements", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--database", type=Database, choices=list(Database), default="postgres")
    parser.add_argument("--folder", type=Path, help="Where the mirror goes; it is kept.")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="chaos-"))
    started = time.monotonic()

    def tell(line: str) -> None:
        print(f"{time.monotonic() - started:7.1f} s  {line}", flush=True)

    few = options.kills < 12
    plan = Plan(
        seed=options.seed,
        statements=options.statements,
        kills=options.kills,
        kafka_restarts=options.kills // 10 if few else 5,
        connect_restarts=min(1, options.kills) if few else 5,
        lost_checkpoints=min(1, options.kills // 2) if few else 2,
    )
    tell(f"{plan} on {options.database}, in {folder}")
    with open_stack(tell) as stack:
        outcome = Chaos(stack, folder, options.database, plan, tell).run()
    tell(
        f"{outcome.kills} kills, {outcome.records} records, {outcome.verdict.rows} rows compared, "
        f"{outcome.seconds:.0f} s"
    )
    if not outcome.good:
        tell(f"the mirror and its log are kept in {folder}")
    elif options.folder is None:
        shutil.rmtree(folder, ignore_errors=True)
    print(outcome.line(options.seed), flush=True)
    return 0 if outcome.good else 1


if __name__ == "__main__":
    sys.exit(main())
