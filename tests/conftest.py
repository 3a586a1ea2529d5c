"""One real Spark and one real stack for the whole run; every test marked by its folder."""

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cdc.cli.logs import OURS
from cdc.config import MirrorConfig
from tests.durations import slowest_files
from tests.java_classes import SPARK_OPTIONS
from tests.left_out import reason_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cdc.sandbox import MysqlEndpoint
    from tests.integration.databases import Source
    from tests.integration.stack import Stack

os.environ.setdefault("SPARK_SUBMIT_OPTS", SPARK_OPTIONS)

# A job in a shell's background begins with SIGINT ignored, and so would all that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent
MARKED = ("unit", "fuzz", "conformance", "spark", "integration", "chaos")
# What a process has only once: servers with a Spark, a Spark alone, and servers alone, for tests
# that start the command as users do, or kill servers. With three processes each has one of its own.
SHARED = ("stack", "spark", "commands")
SPREAD = ("unit", "fuzz")  # each test goes where there is time

Configure = Callable[..., MirrorConfig]
OpenSource = Callable[[str], "Source"]


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark by folder, and put what needs no servers first.

    Among several processes what must stay together comes first, and the rest fills the time.
    """
    for item in items:
        if not item.path.is_relative_to(TESTS):
            continue
        folder = item.path.relative_to(TESTS).parts[0]
        if folder in MARKED:
            item.add_marker(folder)
        if folder not in SPREAD:
            item.add_marker(pytest.mark.xdist_group(_group(item, folder)))
        for name, reason in reason_of(item.nodeid).items():
            item.add_marker(getattr(pytest.mark, name)(reason))
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in MARKED])
    if hasattr(config, "workerinput"):
        items.sort(key=_group_place)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Add up the durations by file, where durations were asked for."""
    if terminalreporter.config.getoption("durations") is None:
        return
    reports = [
        report
        for found in terminalreporter.stats.values()
        for report in found
        if isinstance(report, pytest.TestReport)
    ]
    terminalreporter.section("slowest files", sep="=")
    terminalreporter.write_line("\n".join(slowest_files(reports)))


def _group(item: pytest.Item, folder: str) -> str:
    """Name the tests that an item stays together with."""
    needed = {"stack", "spark"} & {*getattr(item, "fixturenames", ())}
    if not needed:
        return item.path.stem
    if needed == {"stack"}:
        return "commands"
    return "stack" if "stack" in needed else "spark"


def _group_place(item: pytest.Item) -> int:
    mark = item.get_closest_marker("xdist_group")
    if mark is None:
        return len(SHARED) + 1
    return SHARED.index(mark.args[0]) if mark.args[0] in SHARED else len(SHARED)


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """Undo what a command that runs within a test does to the log."""
    loggers = [logging.getLogger(name) for name in (None, *OURS)]
    before = [(logger, logger.level, [*logger.handlers]) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the shared catalog and its warehouse."""
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="session")
def configure(lake: Path) -> Configure:
    """Make a config over the shared catalog; `topics` and `target` keep the tests apart."""
    from cdc.config.load import parse_config

    def make(
        *,
        name: str = "shop",
        topics: str = "*",
        target: str = "{server}.{table}",
        servers: str = "localhost:9",
        connector: str = "postgres",
        more: str = "",
    ) -> MirrorConfig:
        text = f"""
            name = "{name}"
            [source]
            connector = "{connector}"
            topics = ["{topics}"]
            [kafka]
            "bootstrap.servers" = "{servers}"
            [target]
            table = "{target}"
            [spark]
            master = "local[2]"
            {more}
        """
        return parse_config(text.encode(), lake / "shop.toml")

    return make


@pytest.fixture(scope="session")
def spark(configure: Configure) -> "Iterator[SparkSession]":
    """One real local Spark with a real Iceberg catalog on disk, started as `run` starts it."""
    from cdc.runtime.stream.session import build_session

    session = build_session(configure())
    yield session
    session.stop()


@pytest.fixture(scope="session")
def stack() -> "Iterator[Stack]":
    """The servers, each started when a test first asks for it."""
    from tests.integration.stack import open_stack

    with open_stack(lambda line: logging.getLogger("stack").info("%s", line)) as servers:
        yield servers


@pytest.fixture(scope="session")
def mysql(stack: "Stack") -> "MysqlEndpoint":
    """MySQL; its tests are skipped where no server can be had, and only there."""
    from cdc.errors import ServerUnavailableError

    try:
        return stack.mysql
    except ServerUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def open_source(stack: "Stack", request: pytest.FixtureRequest) -> "Iterator[OpenSource]":
    """Make a database of the test's own on the server of a connector, such as `mysql`."""
    from tests.integration.databases import SOURCES

    opened: list[Source] = []

    def open_(connector: str) -> "Source":
        if connector == "mysql":
            request.getfixturevalue("mysql")
        opened.append(SOURCES[connector](stack, f"{connector}{time.time_ns() % 10**10}"))
        return opened[-1]

    yield open_
    for source in opened:
        source.close()
