"""Fetch locked sets of Java artifacts with the Ivy program that lies inside the pyspark wheel.

Every artifact is named with its version and checksum in a file under `locks/`. Nothing is left to
resolve, so no POM is read and several Ivy processes share the work: seconds instead of a minute.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import signal
import tarfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from cdc.downloads.java import find_java
from cdc.downloads.processes import Command, Processes
from cdc.errors import DownloadError

_LOCKS = Path(__file__).parent / "locks"
_LOCK_HEADER = "# Written by `python -m cdc.downloads.relock`: change the versions there."
_LANES = 4
_ATTEMPTS = 3
_LANE_SECONDS = 600.0
_PAUSE_SECONDS = 2.0  # before the second attempt; twice as long before the third
# One request costs about as much time as this many bytes: only used to share out the work.
_REQUEST_BYTES = 1_500_000

# The checksums are in the lock; fetching them from the registry would double the requests.
SETTINGS = """\
<ivysettings>
  <property name="ivy.checksums" value="" override="true"/>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="{usepoms}"/></resolvers>
</ivysettings>
"""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file of a Java registry."""

    organisation: str
    module: str
    revision: str
    classifier: str
    extension: str
    sha256: str
    size: int

    @property
    def file_name(self) -> str:
        """The name of the file once it is fetched."""
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.module}-{self.revision}{classifier}.{self.extension}"


@dataclass(frozen=True, slots=True)
class Lock:
    """A set of artifacts that are fetched together."""

    name: str
    artifacts: tuple[Artifact, ...]

    @property
    def entry_name(self) -> str:
        """A folder name that changes with the content."""
        digest = hashlib.sha256("".join(a.sha256 for a in self.artifacts).encode())
        return f"{self.name}-{digest.hexdigest()[:12]}"

    @property
    def extent(self) -> str:
        """How much there is to fetch, in words."""
        megabytes = max(1, round(sum(a.size for a in self.artifacts) / 1e6))
        count = len(self.artifacts)
        return f"{count} files, {megabytes} MB" if count > 1 else f"{megabytes} MB"


def read_lock(name: str) -> Lock:
    """Read the lock of a set, such as `kafka`."""
    lines = (_LOCKS / f"{name}.lock").read_text().splitlines()
    return Lock(name, tuple(_artifact(line) for line in lines if not line.startswith("#")))


def write_lock(lock: Lock) -> None:
    """Write a lock to its file, replacing what was there."""
    rows = (
        f"{a.organisation} {a.module} {a.revision} {a.classifier or '-'} {a.extension} "
        f"{a.sha256} {a.size}"
        for a in lock.artifacts
    )
    (_LOCKS / f"{lock.name}.lock").write_text("\n".join([_LOCK_HEADER, *rows]) + "\n")


def _artifact(line: str) -> Artifact:
    organisation, module, revision, classifier, extension, sha256, size = line.split()
    classifier = "" if classifier == "-" else classifier
    return Artifact(organisation, module, revision, classifier, extension, sha256, int(size))


def fetch_lock(lock: Lock, into: Path, processes: Processes) -> None:
    """Download every artifact of a lock and check it.

    Raises:
        DownloadError: A file could not be fetched, or is not the one that was locked.
    """
    work = into / ".ivy"
    work.mkdir()
    settings = work / "settings.xml"
    settings.write_text(SETTINGS.format(usepoms="false"))
    lanes = []
    for number, artifacts in enumerate(_share_out(lock.artifacts, _LANES)):
        folder = work / str(number)
        folder.mkdir()
        (folder / "ivy.xml").write_text(module_xml(artifacts))
        lanes.append(folder)
    for attempt in range(1, _ATTEMPTS + 1):  # what a lane already has, it does not fetch again
        commands = [ivy_command(lane, settings, into) for lane in lanes]
        codes = processes.run(*commands, timeout=_LANE_SECONDS)
        lanes = [lane for lane, code in zip(lanes, codes, strict=True) if code != 0]
        if not lanes:
            break
        time.sleep(_PAUSE_SECONDS * attempt)
    if lanes:
        raise DownloadError(lock.name, _complaints(lanes[0] / "ivy.log"))
    for artifact in lock.artifacts:
        with (into / artifact.file_name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != artifact.sha256:
                raise DownloadError(lock.name, f"{artifact.file_name} has another checksum")
    shutil.rmtree(work)


def ivy_command(lane: Path, settings: Path, into: Path) -> Command:
    """Run Ivy on the `ivy.xml` of a folder, which will also hold its cache and its log."""
    return Command(
        argv=[
            *(find_java(), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
            *("-jar", _ivy_program(), "-settings", settings, "-cache", lane / "cache"),
            *("-ivy", lane / "ivy.xml", "-confs", "default"),
            *("-retrieve", f"{into}/[artifact]-[revision](-[classifier]).[ext]"),
        ],
        log=lane / "ivy.log",
        cwd=lane,
        env=os.environ,  # it may hold the way to a proxy
        close_signal=signal.SIGKILL,
    )


def module_xml(artifacts: Iterable[Artifact], *, transitive: bool = False) -> str:
    """Render the Ivy module that asks for artifacts."""
    dependencies = "\n".join(
        f"    <dependency org={quoteattr(a.organisation)} name={quoteattr(a.module)}"
        f' rev={quoteattr(a.revision)} transitive="{str(transitive).lower()}" conf="default">'
        f"<artifact name={quoteattr(a.module)} type={quoteattr(a.extension)}"
        f" ext={quoteattr(a.extension)}"
        + (f" m:classifier={quoteattr(a.classifier)}" if a.classifier else "")
        + "/></dependency>"
        for a in artifacts
    )
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">\n'
        '  <info organisation="database-mirror" module="sandbox"/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        f"  <dependencies>\n{dependencies}\n  </dependencies>\n</ivy-module>\n"
    )


def _share_out(artifacts: Iterable[Artifact], lanes: int) -> list[list[Artifact]]:
    shares: list[list[Artifact]] = [[] for _ in range(lanes)]
    loads = [0] * lanes
    for artifact in sorted(artifacts, key=lambda a: a.size, reverse=True):
        lightest = loads.index(min(loads))
        shares[lightest].append(artifact)
        loads[lightest] += artifact.size + _REQUEST_BYTES
    return [share for share in shares if share]


def _complaints(log: Path, lines: int = 5) -> str:
    """Return what Ivy says went wrong; its report ends with tables that do not tell."""
    telling = re.compile(r"Host |Server |SERVER |module not found|FAILED|rror|xception")
    found = [line.strip() for line in log.read_text().splitlines() if telling.search(line)]
    return "\n".join(found[:lines]) or tail_of(log)


def _ivy_program() -> Path:
    pyspark = importlib.util.find_spec("pyspark")
    for folder in (pyspark.submodule_search_locations or ()) if pyspark else ():
        for jar in sorted(Path(folder).glob("jars/ivy-*.jar")):
            return jar
    raise DownloadError("Ivy", "the pyspark wheel, which carries it, is not installed")


def unpack_archive(folder: Path) -> None:
    """Replace the archives of a folder by what they hold."""
    for archive in list(folder.glob("*.tar.gz")):
        with tarfile.open(archive) as tar:
            # As an attribute, because the argument of this name came with Python 3.11.4.
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
            tar.extractall(folder)
        archive.unlink()


def tail_of(log: Path, lines: int = 20) -> str:
    """Return the last lines of a log, or nothing if it was never written."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""
