"""What the files of this folder share: a source table of the test's own, and mirrors of it.

All of them run on the session of `tests/conftest.py`, in one catalog: a server that no other test
has keeps their tables apart. A file that needs more overrides a fixture, mostly on top of this one.
"""

import uuid
from collections.abc import Callable
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from tests.conftest import Configure
from tests.spark.bench import Bench
from tests.unit.messages import ORDERS, Table

Open = Callable[..., Bench]
Restart = Callable[[], Bench]
DELETES = ("positional", "equality")
# As `pytestmark` of a file: its mirrors replace rows in each way.
IN_EACH_WAY = pytest.mark.parametrize("deletes", DELETES, indirect=True)


@pytest.fixture
def table() -> Table:
    """A source table whose server no other test has."""
    return replace(ORDERS, server=f"s{uuid.uuid4().hex[:8]}")


@pytest.fixture
def deletes(request: pytest.FixtureRequest) -> str:
    """How the mirrors replace rows; a file or a test may ask for each way."""
    return str(getattr(request, "param", DELETES[0]))


@pytest.fixture
def bench(spark: SparkSession, configure: Configure, deletes: str) -> Bench:
    """A mirror of all tables."""
    return Bench(spark, configure(more=f'[tables.defaults]\ndeletes = "{deletes}"'))


@pytest.fixture
def open_bench(spark: SparkSession, configure: Configure, deletes: str) -> Open:
    """Start a mirror; a second one is a restart, which knows only what the tables tell."""

    def open_bench(*settings: str, mode: str = "mirror") -> Bench:
        lines = ["[[tables.rules]]", 'match = "public.orders"', f'mode = "{mode}"']
        lines += [f'deletes = "{deletes}"', *settings]
        return Bench(spark, configure(more="\n".join(lines)))

    return open_bench


@pytest.fixture
def restart(spark: SparkSession, configure: Configure, deletes: str) -> Restart:
    """Start what `bench` is once more: what a restarted process sees."""

    def restart() -> Bench:
        return Bench(spark, configure(more=f'[tables.defaults]\ndeletes = "{deletes}"'))

    return restart
