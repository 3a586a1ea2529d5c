"""Start processes for a parent program, and end every one of them when that program is gone.

Run as a script, with the folder in which to make the scratch folder as its only argument. It
imports nothing of this project and nothing that must be installed, so it
starts in milliseconds.

Requests come as lines of JSON on stdin, each answered by one line on stdout. When stdin closes, as
the kernel sees to even for a killed parent, the guard ends what it started, removes the scratch
folder and exits. It runs in a session of its own, so a Ctrl-C in the terminal does not reach it.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

GRACE_SECONDS = 3.0  # between the polite signal and SIGKILL
_KILL_SECONDS = 10.0
_PARENT_CHECK_SECONDS = 1.0
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, argument: int) -> None:
    try:
        ctypes.CDLL(None).prctl(option, argument, 0, 0, 0)
    except (AttributeError, OSError):
        return  # not Linux: the process groups alone have to do


class Guard:
    """The processes of one parent, by process id."""

    def __init__(self, scratch: str) -> None:
        self.scratch = scratch
        self._pid = os.getpid()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._close_signals: dict[int, int] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one request: spawn, poll, signal or kill."""
        action = request["action"]
        if action == "spawn":
            return {"pid": self._spawn(request)}
        process = self._processes[request["pid"]]
        if action == "signal" and process.poll() is None:
            os.killpg(process.pid, request["signal"])
        elif action == "kill":
            self._kill([process.pid])
        return {"code": process.poll()}

    def end_all(self) -> None:
        """End every process, politely first, and whatever they left running."""
        for pid, process in self._processes.items():
            if process.poll() is None:
                _signal_group(pid, self._close_signals[pid])
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline:
            if all(process.poll() is not None for process in self._processes.values()):
                break
            time.sleep(0.02)
        self._kill(list(self._processes))

    def _spawn(self, request: dict[str, Any]) -> int:
        identity: dict[str, Any] = {}
        if request["user"] is not None:
            uid, gid = request["user"]
            identity = {"user": uid, "group": gid, "extra_groups": []}
        with open(request["log"], "ab") as log:
            process = subprocess.Popen(
                request["argv"],
                cwd=request["cwd"],
                env=request["env"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=self._die_with_guard,  # safe: the guard has one thread
                **identity,
            )
        self._processes[process.pid] = process
        self._close_signals[process.pid] = request["close_signal"]
        return process.pid

    def _die_with_guard(self) -> None:
        # Even a guard that is killed takes its processes along, though not its scratch folder.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self._pid:
            os._exit(1)

    def _kill(self, pids: list[int]) -> None:
        """Kill processes with all their descendants, and return when they are gone."""
        family = [pid for pid in pids if self._processes[pid].poll() is None]
        for pid in list(family):
            family += _descendants(pid)  # PostgreSQL gives each backend a process group of its own
        for pid in family:
            if pid in self._processes:
                _signal_group(pid, signal.SIGKILL)
            _signal(pid, signal.SIGKILL)
        deadline = time.monotonic() + _KILL_SECONDS
        while time.monotonic() < deadline:
            alive = [pid for pid in pids if self._processes[pid].poll() is None]
            if not self._reap_orphans() and not alive:
                return
            time.sleep(0.01)

    def _reap_orphans(self) -> bool:
        """Kill and reap what a dead process left to the guard; say whether something remains."""
        orphans = [pid for pid in _children(self._pid) if pid not in self._processes]
        for pid in orphans:
            _signal(pid, signal.SIGKILL)
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue
        return bool(orphans)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return


def _parents() -> dict[int, int]:
    """Map each process of the machine to its parent; empty where there is no /proc."""
    parents = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                stat = file.read()
        except OSError:
            continue  # it ended meanwhile
        # The command's name stands in brackets and may itself hold brackets and spaces.
        parents[int(name)] = int(stat[stat.rindex(b")") + 2 :].split()[1])
    return parents


def _children(pid: int) -> list[int]:
    return [child for child, parent in _parents().items() if parent == pid]


def _descendants(pid: int) -> list[int]:
    parents, found = _parents(), [pid]
    for ancestor in found:
        found += [child for child, parent in parents.items() if parent == ancestor]
    return found[1:]


def _serve(guard: Guard) -> None:
    """Answer requests until the parent closes the pipe or is gone."""
    parent, pending = os.getppid(), b""
    while True:
        ready, _, _ = select.select([0], [], [], _PARENT_CHECK_SECONDS)
        if os.getppid() != parent:
            return  # a fork of the parent may still hold the pipe open
        if not ready:
            continue
        received = os.read(0, 65536)
        if not received:
            return
        *lines, pending = (pending + received).split(b"\n")
        for line in lines:
            request = json.loads(line)
            try:
                reply = guard.answer(request)
            except (OSError, subprocess.SubprocessError) as error:
                reply = {"error": str(error)}
            os.write(1, json.dumps({"id": request["id"], **reply}).encode() + b"\n")


def main() -> None:
    """Make the scratch folder, report it, serve, and clean up in every case."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    guard = Guard(tempfile.mkdtemp(prefix="database-mirror-", dir=sys.argv[1]))
    try:
        os.chmod(guard.scratch, 0o711)  # servers that run as another user pass through it
        os.write(1, json.dumps({"scratch": guard.scratch}).encode() + b"\n")
        _serve(guard)
    except BrokenPipeError:
        pass
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        guard.end_all()
        shutil.rmtree(guard.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
