"""The parent's side of the guard: start, watch and end processes that never outlive it."""

import itertools
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdc.downloads import guard
from cdc.errors import SandboxClosedError

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program to run: what, as whom, and how it likes to be ended."""

    argv: Sequence[str | Path]
    log: Path
    cwd: Path
    env: Mapping[str, str]
    user: tuple[int, int] | None = None  # uid and gid; None means the present user
    stop_signal: signal.Signals = signal.SIGTERM  # when it is to be ended in its own way
    close_signal: signal.Signals = signal.SIGTERM  # when its data is to be removed anyway


class Process:
    """A process that the guard started."""

    def __init__(self, owner: "Processes", pid: int, command: Command) -> None:
        self._owner = owner
        self._command = command
        self.pid = pid

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._ask("poll")

    def wait(self, timeout: float) -> int | None:
        """Wait for the end and return the exit code; None when the time is over first."""
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None and time.monotonic() < deadline:
            self._owner.check_cancelled()
            time.sleep(_POLL_SECONDS)
        return code

    def stop(self, grace: float) -> None:
        """Ask the process to end in its own way; kill it when the grace is over. Safe to repeat."""
        self._ask("signal", signal=int(self._command.stop_signal))
        if self.wait(grace) is None:
            logger.warning("killing process=%s after grace_seconds=%s", self.pid, grace)
            self.kill()

    def kill(self) -> None:
        """Kill the process and its descendants; return when they are gone. Safe to repeat."""
        self._ask("kill")

    def _ask(self, action: str, **details: Any) -> int | None:
        code: int | None = self._owner.request(action=action, pid=self.pid, **details)["code"]
        return code


class Processes:
    """All processes of one sandbox, and the scratch folder that goes with them."""

    def __init__(self, scratch_parent: Path) -> None:
        scratch_parent.mkdir(parents=True, exist_ok=True)
        # -I and -S: the guard needs nothing that is installed, and starts in a few milliseconds.
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, str(scratch_parent)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._owner_pid = os.getpid()
        self._lock = threading.Lock()
        self._ids = itertools.count()
        self._cancelled = threading.Event()
        self._closed = False
        self.scratch = Path(self._receive()["scratch"])

    @property
    def guard_pid(self) -> int:
        """The process id of the guard, the parent of all processes here."""
        return self._guard.pid

    def spawn(self, command: Command) -> Process:
        """Start a program; its output is added to the command's log."""
        self.check_cancelled()
        reply = self.request(
            action="spawn",
            argv=[str(argument) for argument in command.argv],
            log=str(command.log),
            cwd=str(command.cwd),
            env=dict(command.env),
            user=command.user,
            close_signal=int(command.close_signal),
        )
        return Process(self, reply["pid"], command)

    def run(self, *commands: Command, timeout: float) -> list[int | None]:
        """Run programs at the same time, to their end, and return their exit codes.

        None stands for a program whose time was over. Whatever happens, none is left running.
        """
        running: list[Process] = []
        try:
            for command in commands:
                running.append(self.spawn(command))
            return [process.wait(timeout) for process in running]
        finally:
            with suppress(SandboxClosedError):  # then the guard ends them
                for process in running:
                    process.kill()

    def request(self, **request: Any) -> dict[str, Any]:
        """Send one request to the guard and return its reply."""
        with self._lock:
            number = next(self._ids)
            self._send({"id": number, **request})
            reply = self._receive()
            while reply["id"] != number:  # the answer to a request that a Ctrl-C interrupted
                reply = self._receive()
        if "error" in reply:
            raise OSError(reply["error"])
        return reply

    def cancel(self) -> None:
        """Make every wait of other threads end soon, with SandboxClosedError."""
        self._cancelled.set()

    def resume(self) -> None:
        """Allow waiting again after `cancel`."""
        self._cancelled.clear()

    def check_cancelled(self) -> None:
        """Raise SandboxClosedError after `cancel` or `close`."""
        if self._closed or self._cancelled.is_set():
            raise SandboxClosedError()

    def close(self) -> None:
        """End every process and remove the scratch folder. Safe to repeat."""
        if os.getpid() != self._owner_pid:
            return  # a fork of the owner must not end what the owner still uses
        self._closed = True
        pipes = [pipe for pipe in (self._guard.stdin, self._guard.stdout) if pipe is not None]
        for pipe in pipes[:1]:
            pipe.close()
        self._guard.wait()
        for pipe in pipes:
            pipe.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._guard.stdin is not None
        try:
            self._guard.stdin.write(json.dumps(message).encode() + b"\n")
            self._guard.stdin.flush()
        except (OSError, ValueError) as error:  # ValueError: the pipe was closed by `close`
            raise SandboxClosedError() from error

    def _receive(self) -> dict[str, Any]:
        assert self._guard.stdout is not None
        try:
            line = self._guard.stdout.readline()
        except ValueError as error:
            raise SandboxClosedError() from error
        if not line:
            raise SandboxClosedError()
        reply: dict[str, Any] = json.loads(line)
        return reply
