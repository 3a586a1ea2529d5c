"""Short lines that tell a waiting user what goes on."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str], None]

_HEARTBEAT_SECONDS = 5.0


@contextmanager
def reporting(progress: Progress, action: str) -> Iterator[None]:
    """Report that an action begins, every few seconds that it goes on, and how long it took."""
    started = time.monotonic()
    done = threading.Event()

    def report_until_done() -> None:
        while not done.wait(_HEARTBEAT_SECONDS):
            progress(f"{action} ... {time.monotonic() - started:.0f} s")

    heartbeat = threading.Thread(target=report_until_done, daemon=True)
    progress(f"{action} ...")
    heartbeat.start()
    try:
        yield
    finally:
        done.set()
        heartbeat.join()
    progress(f"{action} took {time.monotonic() - started:.0f} s")
