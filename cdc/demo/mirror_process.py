"""`database-mirror run` as a process that ends with the demo, however the demo ends."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from cdc.demo.folder import DemoFolder
from cdc.downloads.processes import Command, Process, Processes
from cdc.errors import MirrorEndedError, MirrorStalledError

PROGRAM: Final = "database-mirror"
# A batch that is in hand is finished first.
STOP_SECONDS: Final = 30.0
LAST_LINES: Final = 25


class MirrorProcess:
    """The mirror of a demo; a context manager.

    It has a guard of its own: should the demo be killed, the guard ends the mirror.
    """

    def __init__(self, folder: DemoFolder, java: Path) -> None:
        self._folder = folder
        self._processes = Processes(Path(tempfile.gettempdir()))
        command = Command(
            argv=[*_program(), "run", folder.config.name],
            log=folder.log,
            cwd=folder.path,
            env=_environment(os.environ, java),
        )
        try:
            self._process: Process = self._processes.spawn(command)
        except BaseException:
            self._processes.close()
            raise

    @property
    def pid(self) -> int:
        """The process id of the command; Spark's are below it."""
        return self._process.pid

    @property
    def log(self) -> str:
        """The log's path."""
        return str(self._folder.log)

    def last_lines(self, count: int = LAST_LINES) -> str:
        """Give the end of the log."""
        text = self._folder.log.read_text(errors="replace") if self._folder.log.exists() else ""
        return "\n".join(text.splitlines()[-count:])

    def check(self) -> None:
        """See that it runs.

        Raises:
            MirrorEndedError: It has ended.
        """
        code = self._process.poll()
        if code is not None:
            raise MirrorEndedError(code, self.log, self.last_lines())

    def stop(self) -> None:
        """Let the batch in hand finish, and end.

        Raises:
            MirrorEndedError: It had ended before, or ended with a failure.
            MirrorStalledError: It had to be killed.
        """
        self.check()
        # To the command alone: the group has Spark in it, which shall end after the batch.
        os.kill(self.pid, signal.SIGTERM)
        code = self._process.wait(STOP_SECONDS)
        self._process.kill()
        if code is None:
            raise MirrorStalledError("its end", STOP_SECONDS, self.log, self.last_lines())
        if code != 0:
            raise MirrorEndedError(code, self.log, self.last_lines())

    def close(self) -> None:
        """End it in the middle of a batch; the tables are exact at any moment. Safe to repeat."""
        self._processes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _program() -> list[str]:
    """Give the command that belongs to this Python, also where no script of it is installed."""
    script = shutil.which(PROGRAM, path=str(Path(sys.executable).parent))
    return [script] if script else [sys.executable, "-c", "from cdc.cli import main; main()"]


def _environment(own: Mapping[str, str], java: Path) -> dict[str, str]:
    # The user's settings for `run` are not meant for this one.
    kept = {k: v for k, v in own.items() if not k.startswith("DATABASE_MIRROR_RUN_")}
    # It runs for a minute: compiling Spark's code to the last degree costs more than it gains.
    kept.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    # The Java that was found good: a JAVA_HOME that is too old would come first with Spark.
    return kept | {"JAVA_HOME": str(java.resolve().parent.parent)}
