"""A file whose age tells a container's health check that the stream is alive."""

import os
from pathlib import Path

HEARTBEAT_VARIABLE = "DATABASE_MIRROR_HEARTBEAT"


def beat() -> None:
    """Renew the file's time; called between batches, so that a batch that hangs shows."""
    chosen = os.environ.get(HEARTBEAT_VARIABLE)
    if chosen:
        Path(chosen).touch()
