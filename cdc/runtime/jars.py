"""The jars that Spark needs beside its own."""

import os
from pathlib import Path

JARS_VARIABLE = "DATABASE_MIRROR_JARS"


def spark_jars() -> list[Path]:
    """Find the jars."""
    return sorted(Path(os.environ[JARS_VARIABLE]).glob("*.jar"))
