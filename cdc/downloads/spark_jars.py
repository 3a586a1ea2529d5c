"""The jars that Spark needs beside its own: Iceberg, the Kafka source, SQLite.

They are downloaded once into the user's cache. An image has them in a folder of its own, made by
`python -m cdc.downloads.spark_jars FOLDER` and named by a variable.
"""

import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from cdc.downloads.cache import Cache, cache_folder
from cdc.downloads.jars import fetch_lock, read_lock
from cdc.downloads.processes import Processes
from cdc.downloads.progress import reporting
from cdc.errors import JarsMissingError

logger = logging.getLogger(__name__)

JARS_VARIABLE = "DATABASE_MIRROR_JARS"


def spark_jars() -> list[Path]:
    """List the jars, downloading them the first time. Run twice, the second run downloads nothing.

    Raises:
        DownloadError: They are neither cached nor reachable.
        JarsMissingError: The folder that the variable names has none.
    """
    chosen = os.environ.get(JARS_VARIABLE)
    folder = Path(chosen) if chosen else cached_jars(f"spark-{spark_version()}")
    jars = sorted(folder.glob("*.jar"))
    if not jars:
        raise JarsMissingError(str(folder))
    return jars


def cached_jars(name: str) -> Path:
    """Give the cache's folder of a locked set of jars, downloading them the first time."""
    lock = read_lock(name)

    def download(into: Path) -> None:
        processes = Processes(Path(tempfile.gettempdir()))
        try:
            with reporting(logger.info, f"downloading {name} ({lock.extent})"):
                fetch_lock(lock, into, processes)
        finally:
            processes.close()

    cache = Cache(cache_folder(), check_cancelled=lambda: None, progress=logger.info)
    return cache.entry(lock.entry_name, download)


def spark_version() -> str:
    """Give the minor version of the Spark that is installed, which names the sets of jars."""
    return ".".join(version("pyspark").split(".")[:2])


def main(arguments: Sequence[str] = sys.argv[1:]) -> None:
    """Copy all jars into a folder."""
    (target,) = arguments
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    for jar in spark_jars():
        shutil.copy(jar, folder)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main()
