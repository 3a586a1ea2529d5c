"""The folder that keeps downloads between runs, and how an entry gets into it whole."""

import fcntl
import os
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import IO

from cdc.downloads.progress import Progress

CACHE_VARIABLE = "DATABASE_MIRROR_CACHE"
_PART_PREFIX = ".part-"
_POLL_SECONDS = 0.1


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the user's cache folder of this program, which may not exist yet."""
    if chosen := environment.get(CACHE_VARIABLE):
        return Path(chosen).expanduser().absolute()
    if shared := environment.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser().absolute() / "database-mirror"
    return Path.home() / ".cache" / "database-mirror"


class Cache:
    """Folders that are built once and never change afterwards.

    An entry is built beside its final place and renamed into it, so whoever sees the entry sees all
    of it. A lock file per entry lets one process build while the others wait.
    """

    def __init__(
        self, folder: Path, *, check_cancelled: Callable[[], None], progress: Progress
    ) -> None:
        self.folder = folder
        self._check_cancelled = check_cancelled
        self._progress = progress
        self._of_this_process: defaultdict[str, Lock] = defaultdict(Lock)

    def entry(self, name: str, build: Callable[[Path], None]) -> Path:
        """Return the folder of an entry, building it if it is not there.

        Run twice, the second call returns at once. A build that fails or is killed leaves no entry.

        Args:
            name: The entry's folder name; it must change when the wanted content changes.
            build: Fills the empty folder it is given.
        """
        final = self.folder / name
        if final.is_dir():
            return final
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked(name):
            if final.is_dir():  # built by another process while this one waited
                return final
            self._remove_parts_of(name)
            part = Path(tempfile.mkdtemp(prefix=f"{_PART_PREFIX}{name}-", dir=self.folder))
            try:
                build(part)
                part.chmod(0o755)
                part.rename(final)
            finally:
                shutil.rmtree(part, ignore_errors=True)
        return final

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        lock = self._of_this_process[name]
        while not lock.acquire(timeout=_POLL_SECONDS):
            self._check_cancelled()
        try:
            with (self.folder / f".{name}.lock").open("w") as file:
                if not _try_lock(file):
                    self._progress(f"waiting for another process to finish {name} ...")
                while not _try_lock(file):
                    self._check_cancelled()
                    time.sleep(_POLL_SECONDS)
                yield
        finally:
            lock.release()

    def _remove_parts_of(self, name: str) -> None:
        # Only a killed builder leaves one, and while this process has the lock nobody else builds.
        for part in self.folder.glob(f"{_PART_PREFIX}{name}-*"):
            shutil.rmtree(part, ignore_errors=True)


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
