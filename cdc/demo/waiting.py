"""Wait for the mirror, and notice at once when waiting is in vain."""

import time
from collections.abc import Callable
from typing import Final

from cdc.demo.mirror_process import MirrorProcess
from cdc.errors import ConnectorFailedError, MirrorStalledError
from cdc.sandbox import ConnectEndpoint

POLL_SECONDS: Final = 0.3
CHECK_SECONDS: Final = 2.0
STALL_SECONDS: Final = 180.0  # a small machine may need two minutes to start Spark


class Waiting:
    """Waits for what the connector and the mirror do together."""

    def __init__(self, mirror: MirrorProcess, connect: ConnectEndpoint, connector: str) -> None:
        self._mirror = mirror
        self._connect = connect
        self._connector = connector
        self._checked = time.monotonic()

    def until(self, awaited: str, goal: int, reached: Callable[[], int]) -> None:
        """Wait until a number has reached its goal.

        Args:
            awaited: What is waited for, in words.
            goal: The number that ends the waiting.
            reached: Gives the number as it is; called again and again.

        Raises:
            ConnectorFailedError: Debezium gave up.
            MirrorEndedError: The mirror ended.
            MirrorStalledError: The number has long been the same.
        """
        number, since = reached(), time.monotonic()
        while number != goal:
            self.check_now_and_then()
            time.sleep(POLL_SECONDS)
            before, number = number, reached()
            if number != before:
                since = time.monotonic()
            if time.monotonic() - since > STALL_SECONDS:
                raise MirrorStalledError(
                    f"{awaited} ({number:,} of {goal:,})",
                    STALL_SECONDS,
                    self._mirror.log,
                    self._mirror.last_lines(),
                )

    def check_now_and_then(self) -> None:
        """Check, unless that was done a moment ago; for loops that turn fast."""
        if time.monotonic() - self._checked > CHECK_SECONDS:
            self.check()
            self._checked = time.monotonic()

    def check(self) -> None:
        """See that the connector and the mirror run.

        Raises:
            ConnectorFailedError: Debezium gave up.
            MirrorEndedError: The mirror ended.
        """
        self._mirror.check()
        status = self._connect.status(self._connector)
        for part in [status["connector"], *status["tasks"]] if status else []:
            if part["state"] == "FAILED":
                raise ConnectorFailedError(self._connector, str(part.get("trace", "no reason")))
