"""The local folder that keeps the runs of one table's key index."""

import fcntl
import hashlib
import logging
import os
import secrets
import shutil
import time
import uuid
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress

from cdc.index.run_file import DamagedRunError, Run, read_run, write_run
from cdc.model import lane_of

log = logging.getLogger(__name__)

SUFFIX = ".run"
SECRET = "secret"
SECRET_BYTES = 16
# A file that was just written is not live before its commit, and a rollback may make one live
# again: what nobody asks for goes only after this time.
KEPT_SECONDS = 3600
# Another key, or another secret, has a folder of its own; one of these that nobody writes to goes.
KEPT_FOLDER_SECONDS = 7 * 24 * 3600
MAPPED = 1024  # runs that a process keeps in its address space

# Runs by place, with the identity of the file each was read from. A run is checked once by every
# process; a worker lives for many batches.
_mapped: OrderedDict[str, tuple[tuple[int, int, int], Run]] = OrderedDict()


def load_secret(folder: str) -> bytes:
    """Give the secret of a cache folder; the first who asks makes it.

    A lost or damaged one is replaced: the runs made with it are then no longer found.
    """
    os.makedirs(folder, exist_ok=True)
    place = os.path.join(folder, SECRET)
    for _ in range(2):
        with suppress(OSError), open(place, "rb") as source:
            known = source.read()
            if len(known) == SECRET_BYTES:
                return known
            os.unlink(place)
        draft = f"{place}.{uuid.uuid4()}.tmp"
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as sink:
            sink.write(secrets.token_bytes(SECRET_BYTES))
        with suppress(FileExistsError):
            os.link(draft, place)  # unlike a rename, this fails where another was faster
        os.unlink(draft)
    with open(place, "rb") as source:
        return source.read()


class RunStore:
    """Keeps the runs of single data files, and the merged runs (segments) of each lane.

    Everything in it can be lost at any time: what is missing or damaged is made again.
    """

    def __init__(self, folder: str, signature: str) -> None:
        self._parent = folder
        self._signature = signature
        self._folder = os.path.join(folder, _digest(signature))

    def run(self, path: str) -> Run | None:
        """Give the run of one data file, if there is a sound one."""
        run = self._read(self._place(path))
        return run if run and [file.path for file in run.files] == [path] else None

    def keep(self, run: Run) -> Run:
        """Keep the run of one data file."""
        return self._write(run, self._place(run.files[0].path))

    def segments(self, lane: int | None) -> list[Run]:
        """Give the sound segments of a lane, the largest first."""
        folder = self._segments(lane)
        places = {os.path.join(folder, name) for name in _names(folder) if name.endswith(SUFFIX)}
        inside = os.path.join(folder, "")
        for place in [p for p in _mapped if p.startswith(inside) and p not in places]:
            del _mapped[place]  # else the space of a file that is gone would not become free
        found = [run for run in map(self._read, places) if run]
        return sorted(found, key=lambda run: (-len(run), run.place))

    def keep_segment(self, lane: int | None, run: Run) -> Run:
        """Keep a merged run of a lane's files."""
        return self._write(run, os.path.join(self._segments(lane), f"{uuid.uuid4()}{SUFFIX}"))

    def discard(self, run: Run) -> None:
        """Remove a run; whoever has it mapped can still read it."""
        if run.place:
            _remove(run.place)

    def evict(self, lane: int | None, live: Collection[str], used: Collection[str]) -> None:
        """Remove what has been of no use for a while.

        Args:
            lane: Only what this lane keeps is looked at.
            live: The paths of all live data files.
            used: The places of the segments that answer for some live file.
        """
        names = {os.path.basename(self._place(path)) for path in live}
        runs = os.path.join(self._folder, "runs", _lane_name(lane))
        _remove_old(runs, names, KEPT_SECONDS)
        segments = {os.path.basename(place) for place in used}
        _remove_old(self._segments(lane), segments, KEPT_SECONDS)
        for other in os.scandir(self._parent):
            is_old = other.stat().st_mtime < time.time() - KEPT_FOLDER_SECONDS
            if other.is_dir() and other.path != self._folder and is_old:
                shutil.rmtree(other.path, ignore_errors=True)
        with suppress(OSError):
            os.utime(self._folder)

    @contextmanager
    def alone(self, what: str, *, wait: bool) -> Iterator[bool]:
        """Hold a lock among all processes that use the folder, and say whether it was got.

        It only saves work that another does already: whatever two do at once is harmless.
        """
        folder = os.path.join(self._folder, "locks")
        with ExitStack() as stack:
            try:
                os.makedirs(folder, exist_ok=True)
                lock = stack.enter_context(open(os.path.join(folder, what), "wb"))
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                got = True
            except OSError:
                got = False
            yield got

    def lock_of(self, path: str) -> str:
        """Name the lock under which the run of a data file is built; few, not one for each."""
        return f"build-{_digest(path)[:2]}"

    def _place(self, path: str) -> str:
        lane = _lane_name(lane_of(path))
        return os.path.join(self._folder, "runs", lane, _digest(path) + SUFFIX)

    def _segments(self, lane: int | None) -> str:
        return os.path.join(self._folder, "segments", _lane_name(lane))

    def _write(self, run: Run, place: str) -> Run:
        try:
            write_run(run, place, self._signature)
        except OSError as error:
            # A full disk makes the next lookup slower, but must not fail this batch.
            log.warning("the key index cannot keep %s: %s", place, error)
            return run
        return self._read(place) or run

    def _read(self, place: str) -> Run | None:
        try:
            told = os.stat(place)
            identity = (told.st_ino, told.st_mtime_ns, told.st_size)
            known = _mapped.get(place)
            if known and known[0] == identity:
                _mapped.move_to_end(place)
                return known[1]
            run = read_run(place, self._signature)
        except FileNotFoundError:
            return None
        except (OSError, DamagedRunError) as error:
            log.warning("the key index throws away a damaged file: %r", error)
            _remove(place)
            return None
        _mapped[place] = (identity, run)
        while len(_mapped) > MAPPED:
            _mapped.popitem(last=False)
        return run


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _lane_name(lane: int | None) -> str:
    return "shared" if lane is None else f"p{lane:05d}"


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _remove(place: str) -> None:
    _mapped.pop(place, None)
    with suppress(OSError):
        os.unlink(place)


def _remove_old(folder: str, wanted: Collection[str], seconds: float) -> None:
    """Remove files that nobody wants; drafts that a killed process left are among them."""
    for name in set(_names(folder)) - set(wanted):
        place = os.path.join(folder, name)
        with suppress(OSError):
            if os.stat(place).st_mtime < time.time() - seconds:
                _remove(place)
