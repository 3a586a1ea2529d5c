"""Folders on local disk that may be lost at any time."""

import tempfile
from pathlib import Path

from cdc.config import MirrorConfig


def stream_folder(config: MirrorConfig) -> Path:
    """Name the folder of Spark's own checkpoints."""
    return Path(config.stream.checkpoint) / config.name / "stream"


def index_folder(config: MirrorConfig) -> str:
    """Name the folder of the key indexes; executors elsewhere have one of the same name."""
    place = config.stream.checkpoint
    if "://" in place:  # on no local disk
        place = str(Path(tempfile.gettempdir()) / "database-mirror")
    return str(Path(place) / config.name / "index")
