"""How long the tests wait for what other processes do."""

import time
from collections.abc import Callable

# What takes longer has failed. A machine with more to do than it can may stand still for a minute.
PATIENCE_SECONDS = 300.0


def wait_until(
    holds: Callable[[], object], seconds: float = PATIENCE_SECONDS, *, pause: float = 0.05
) -> bool:
    """Wait until something is so, for at most some seconds; say whether it is."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True
