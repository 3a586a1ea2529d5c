"""`quarantine replay` and `quarantine drop`, with Spark and Kafka around them."""

from pyspark.sql import SparkSession

from cdc.commands.quarantine_view import Chosen
from cdc.commit import IcebergCatalog
from cdc.config import MirrorConfig
from cdc.observe.replay_report import ReplayReport
from cdc.runtime.follow.context import open_context
from cdc.runtime.replay.replay import Replayer
from cdc.runtime.stream.session import build_session
from cdc.runtime.tables.quarantine import Quarantine
from cdc.source.topic_log import KafkaLog
from cdc.source.topics import open_topics
from connectors import DIALECTS


def replay_quarantine(
    config: MirrorConfig, table: str | None, *, dry_run: bool, anyway: bool
) -> ReplayReport:
    """Apply what is in quarantine and can be read now. It may run beside the mirror.

    Run twice, the second run finds only what could not be applied.

    Raises:
        MirrorError: The config, Kafka or the catalog does not allow a start.
    """
    with open_topics(config.kafka.client_options()) as topics:
        topics.matching(config.source.topics)  # a broker that is away is told before Spark starts
    spark = build_session(config)
    try:
        replayer = open_replayer(spark, config, dry_run=dry_run, anyway=anyway)
        return ReplayReport(tuple(replayer.run(table)), dry_run)
    finally:
        spark.stop()


def open_replayer(
    spark: SparkSession, config: MirrorConfig, *, dry_run: bool = False, anyway: bool = False
) -> Replayer:
    """Prepare a replay in a session that is there."""
    dialect = DIALECTS[config.source.connector]
    return Replayer(
        spark,
        open_context(config, dialect, IcebergCatalog(spark, config.name), dry_run=dry_run),
        KafkaLog(spark, config),
        anyway=anyway,
    )


def drop_quarantined(config: MirrorConfig, chosen: Chosen) -> int:
    """Remove records for good; say how many. Run twice, the second run finds none."""
    spark = build_session(config)
    try:
        quarantine = Quarantine(config, IcebergCatalog(spark, config.name))
        return quarantine.drop(spark, chosen.values)
    finally:
        spark.stop()
