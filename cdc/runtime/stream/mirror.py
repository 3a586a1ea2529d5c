"""The stream of one mirror: started from the tables' ledgers, stopped between batches."""

import logging
import shutil
import signal
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
)

from cdc.commit import IcebergCatalog
from cdc.config import MirrorConfig, interval_seconds
from cdc.errors import MirrorError, StreamFailedError
from cdc.observe import RunSummary
from cdc.runtime.follow.columns import ColumnFollower
from cdc.runtime.follow.context import open_context
from cdc.runtime.follow.follower import TableFollower
from cdc.runtime.follow.source_tables import SourceTablesFollower
from cdc.runtime.stream.batch import BatchRunner
from cdc.runtime.stream.heartbeat import beat
from cdc.runtime.stream.session import build_session
from cdc.runtime.stream.start import starting_offsets
from cdc.runtime.tables.open_tables import OpenTables
from cdc.runtime.tables.scratch import stream_folder
from cdc.source.stream import open_stream
from cdc.source.topic_log import KafkaLog
from cdc.source.topics import open_topics
from connectors import DIALECTS

logger = logging.getLogger(__name__)

ATTEMPTS = 5
# How long the main thread waits for the stream at a time; a signal wakes it sooner.
WAIT_SECONDS = 1
# How often a run that is to end begins anew: a renamed table first reads up its old topic.
MOST_ROUNDS = 4


def run_mirror(config: MirrorConfig, *, once: bool) -> RunSummary:
    """Mirror until the topics are read up (`once`), or until SIGTERM or SIGINT.

    Run twice, the second run finds every record in the tables' ledgers and changes nothing.

    Raises:
        MirrorError: The config, Kafka or the catalog does not allow a start, or retries ran out.
    """
    with open_topics(config.kafka.client_options()) as topics:
        topics.matching(config.source.topics)  # a broker that is away is told before Spark starts
    spark = build_session(config)
    try:
        with stop_on_signal() as stop:
            return Mirror(spark, config, stop).run(once=once)
    finally:
        spark.stop()


class Mirror:
    """Keeps a stream going: whatever fails and may pass is tried again from the ledgers."""

    def __init__(self, spark: SparkSession, config: MirrorConfig, stop: threading.Event) -> None:
        self._spark = spark
        self._config = config
        self._dialect = DIALECTS[config.source.connector]
        self._stop = stop
        self._summary = RunSummary()
        self._between_batches = threading.Lock()
        self._pause = threading.Event()
        self._failure: Exception | None = None
        self._streamed = False
        self._unsettled = False
        self._rounds = 0

    def run(self, *, once: bool) -> RunSummary:
        """Stream until told to stop, or until the topics are read up."""
        retrying = Retrying(
            retry=retry_if_exception(self._may_pass),
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential(max=30),
            before_sleep=_log_retry,
            reraise=True,
        )
        while not self._stop.is_set():
            batches = self._summary.batches
            try:
                retrying(self._stream, once=once)
                if once and not self._goes_on():
                    break
            except MirrorError as error:
                if not error.retryable or self._summary.batches == batches:
                    raise
                # It got on in between, so the count of attempts starts anew.
        return self._summary

    def _goes_on(self) -> bool:
        """Say whether a stream ended with something left for the start of another one."""
        self._rounds += 1
        return self._unsettled and self._rounds < MOST_ROUNDS

    def _may_pass(self, error: BaseException) -> bool:
        """Whether to try again; what keeps the very first start from working is told at once."""
        return self._streamed and isinstance(error, MirrorError) and error.retryable

    def _stream(self, *, once: bool) -> None:
        catalog = IcebergCatalog(self._spark, self._config.name)
        context = open_context(self._config, self._dialect, catalog)
        source_tables = SourceTablesFollower(context)
        follower = TableFollower(context, ColumnFollower(context), source_tables.arrive)
        start = starting_offsets(context, follower, source_tables)
        runner = BatchRunner(
            self._spark,
            context,
            KafkaLog(self._spark, self._config),
            arrivals=source_tables.arrive,
        )
        self._failure = None
        self._pause.clear()

        def apply(records: DataFrame, number: int) -> None:
            with self._between_batches:
                if self._stop.is_set() or self._pause.is_set():
                    return  # the tables hold the truth: what Spark thinks is done does not matter
                try:
                    self._summary.add(*runner.run(records, number))
                except Exception as error:
                    self._failure = error
                    raise

        with self._checkpoint() as checkpoint:
            writer = (
                open_stream(self._spark, self._config, start)
                .writeStream.foreachBatch(apply)
                .option("checkpointLocation", checkpoint)
            )
            if once:
                query = writer.trigger(availableNow=True).start()
            else:
                query = writer.trigger(processingTime=self._config.stream.trigger).start()
            self._streamed = True
            try:
                self._wait(query, context.tables, source_tables, once=once)
                self._unsettled = source_tables.due
            finally:
                self._summary.parked = {t: str(r) for t, r in context.tables.reasons().items()}

    def _wait(
        self,
        query: StreamingQuery,
        tables: OpenTables,
        source_tables: SourceTablesFollower,
        *,
        once: bool,
    ) -> None:
        """Wait for the stream's end; when told to stop, let the batch in hand finish first.

        A stream with parked tables ends by itself after a while: the next one starts from the
        ledgers, so the parked tables are tried again and catch up, and the others lose nothing. So
        does one whose tables were dropped or renamed at the source: that is followed at a start.
        """
        patience = interval_seconds(self._config.stream.retry_parked)
        started = looked = time.monotonic()
        try:
            while not query.awaitTermination(WAIT_SECONDS):
                if not self._between_batches.locked():
                    beat()
                if tables.parked and time.monotonic() - started > patience:
                    logger.info("trying again parked=%d", len(tables.parked))
                    self._pause.set()
                if time.monotonic() - looked > patience:
                    looked = time.monotonic()
                    with self._between_batches:
                        source_tables.tick()
                if source_tables.due and not once and not self._pause.is_set():
                    logger.info("starting again for what became of tables at the source")
                    self._pause.set()
                if self._stop.is_set() or self._pause.is_set():
                    with self._between_batches:
                        pass
                    query.stop()
        except StreamingQueryException as error:
            if self._failure is not None:
                raise self._failure from error
            raise StreamFailedError(_first_lines(str(error))) from error

    @contextmanager
    def _checkpoint(self) -> Iterator[str]:
        """Give Spark a fresh scratch folder: the start comes from the tables, never from here."""
        scratch = stream_folder(self._config)
        shutil.rmtree(scratch, ignore_errors=True)
        folder = scratch / uuid.uuid4().hex
        try:
            yield str(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """Turn SIGTERM and SIGINT into an event while the block runs."""
    stop = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        logger.info("stopping signal=%s", signal.Signals(number).name)
        stop.set()

    old = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _log_retry(state: RetryCallState) -> None:
    reason = state.outcome.exception() if state.outcome else None
    logger.warning("trying again attempt=%d reason=%s", state.attempt_number, reason)


def _first_lines(text: str) -> str:
    return "\n".join(text.splitlines()[:5])
