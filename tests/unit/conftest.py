"""What several unit tests of the sandbox share."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdc.downloads.cache import Cache
from cdc.downloads.processes import Processes
from cdc.sandbox.server import Bench


@pytest.fixture
def bench() -> Iterator[Bench]:
    """What the servers of a sandbox work with, over an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        processes = Processes(Path(folder))
        cache = Cache(
            Path(folder) / "cache",
            check_cancelled=processes.check_cancelled,
            progress=lambda line: None,
        )
        yield Bench(processes=processes, cache=cache, progress=lambda line: None)
        processes.close()
