"""The folder that a demo lives in: its config, its log, and the tables that stay."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cdc.errors import DemoFolderError

DEFAULT_FOLDER: Final = Path("mirror-demo")
MARKER: Final = ".database-mirror-demo"
CONFIG: Final = "shop.toml"
LOG: Final = "run.log"
MIRROR: Final = "mirror"  # where the catalog and the tables go, by the defaults of the config

CONFIG_TEXT: Final = """\
name = "shop"

[source]
connector = "postgres"
topics = ["shop.public.*"]

[kafka]
"bootstrap.servers" = "{servers}"

[stream]
trigger = "1 second"
"""


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """The paths of one demo."""

    path: Path

    @property
    def config(self) -> Path:
        """The mirror's config file."""
        return self.path / CONFIG

    @property
    def log(self) -> Path:
        """All that the mirror prints."""
        return self.path / LOG

    def write_config(self, servers: str) -> None:
        """Write the config of the mirror."""
        self.config.write_text(CONFIG_TEXT.format(servers=servers))


@contextmanager
def open_folder(path: Path) -> Iterator[DemoFolder]:
    """Make the folder of a demo, or clear that of an earlier one; nobody else has it meanwhile.

    Only what a demo makes is removed: whatever else the user has put there stays.

    Raises:
        DemoFolderError: It holds other things than a demo, or a demo that still runs.
    """
    folder = path.absolute()
    marker = folder / MARKER
    if folder.is_dir() and any(folder.iterdir()) and not marker.is_file():
        raise DemoFolderError(str(folder), "it is not empty, and no demo made it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = marker.open("a")
    except OSError as error:
        raise DemoFolderError(str(folder), str(error.strerror)) from error
    with lock:
        try:
            # Unlike a note of the process id, the lock of a killed demo is gone with it.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoFolderError(str(folder), "another demo runs in it") from None
        shutil.rmtree(folder / MIRROR, ignore_errors=True)
        for name in (CONFIG, LOG):
            (folder / name).unlink(missing_ok=True)
        yield DemoFolder(folder)
