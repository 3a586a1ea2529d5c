"""The guard: nothing it started outlives the program that asked for it."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdc.downloads.processes import Command, Process, Processes
from cdc.errors import SandboxClosedError

# A program that starts scripts through the guard, tells where the guard is, and waits.
PARENT = """
import os, sys, time
from pathlib import Path
from cdc.downloads.processes import Command, Processes

processes = Processes(Path(sys.argv[1]))
for script in sys.argv[2:]:
    command = Command(
        argv=["sh", "-c", script], log=processes.scratch / "log", cwd=Path("/"), env=os.environ
    )
    processes.spawn(command)
time.sleep(0.3)
print(processes.guard_pid, processes.scratch, flush=True)
{then}
time.sleep(600)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: a scratch folder must be open to other users.
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture
def processes(folder: Path) -> Iterator[Processes]:
    opened = Processes(folder)
    yield opened
    opened.close()


def spawn(processes: Processes, script: str) -> Process:
    return processes.spawn(
        Command(
            argv=["sh", "-c", script],
            log=processes.scratch / "log",
            cwd=processes.scratch,
            env=os.environ,
        )
    )


def start_parent(
    folder: Path, *scripts: str, then: str = ""
) -> tuple[subprocess.Popen[str], list[int], Path]:
    """Return the program, the ids of its guard and of all below that, and the scratch folder."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(then=then), str(folder), *scripts],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout is not None
    guard, scratch = parent.stdout.readline().split()
    family = [int(guard)]
    for pid in family:
        family += children(pid)
    return parent, family, Path(scratch)


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def survivors(pids: list[int], within: float) -> list[int]:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline and any(map(is_alive, pids)):
        time.sleep(0.02)
    return [pid for pid in pids if is_alive(pid)]


def finish(parent: subprocess.Popen[str]) -> None:
    parent.kill()
    parent.communicate()


def test_killed_parent_leaves_no_process_and_no_scratch_folder(folder: Path) -> None:
    parent, family, scratch = start_parent(folder, "sleep 600", "sleep 600 & sleep 600")
    assert len(family) >= 4
    assert scratch.is_dir()

    parent.kill()
    parent.communicate()

    assert survivors(family, within=5) == []
    assert not scratch.exists()


def test_process_that_ignores_the_polite_signal_is_killed_after_the_grace(folder: Path) -> None:
    parent, family, _ = start_parent(folder, "trap '' TERM; while :; do sleep 0.1; done")

    finish(parent)

    assert survivors(family, within=10) == []


def test_process_that_left_its_group_is_killed_too(folder: Path) -> None:
    parent, family, _ = start_parent(folder, "setsid sleep 600 & sleep 600")
    assert len(family) >= 4

    finish(parent)

    assert survivors(family, within=5) == []


def test_fork_of_a_killed_parent_does_not_keep_the_processes_alive(folder: Path) -> None:
    # The fork inherits the pipe, so the guard never sees it close.
    fork = "if os.fork() == 0:\n    os.close(1); time.sleep(600)"
    parent, family, _ = start_parent(folder, "sleep 600", then=fork)
    time.sleep(0.3)

    parent.kill()
    parent.communicate()
    remaining = survivors(family, within=5)
    os.killpg(parent.pid, signal.SIGKILL)

    assert remaining == []


def test_killed_guard_takes_its_processes_along(folder: Path) -> None:
    parent, family, _ = start_parent(folder, "exec sleep 600")

    os.kill(family[0], signal.SIGKILL)
    remaining = survivors(family, within=5)
    finish(parent)

    assert remaining == []


def test_interrupt_of_the_terminal_does_not_reach_the_processes(folder: Path) -> None:
    ignore = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    parent, family, _ = start_parent(folder, "exec sleep 600", then=ignore)
    time.sleep(0.3)

    os.killpg(parent.pid, signal.SIGINT)
    time.sleep(0.5)
    remaining = [pid for pid in family if is_alive(pid)]
    finish(parent)

    assert remaining == family


def test_closed_twice_is_closed_once(folder: Path) -> None:
    processes = Processes(folder)
    process = spawn(processes, "sleep 600")

    processes.close()
    processes.close()

    assert not is_alive(process.pid)
    assert list(folder.iterdir()) == []
    with pytest.raises(SandboxClosedError):
        process.poll()


def test_close_in_a_fork_leaves_the_owner_its_processes(processes: Processes) -> None:
    process = spawn(processes, "exec sleep 600")

    if os.fork() == 0:
        processes.close()
        os._exit(0)
    os.wait()

    assert process.poll() is None


def test_exit_code_and_output_are_kept(processes: Processes) -> None:
    process = spawn(processes, "echo one; echo two >&2; exit 7")

    assert process.wait(10) == 7
    assert (processes.scratch / "log").read_text() == "one\ntwo\n"


def test_wait_ends_when_the_time_is_over(processes: Processes) -> None:
    process = spawn(processes, "sleep 600")

    assert process.wait(0.2) is None


def test_cancel_ends_a_wait(processes: Processes) -> None:
    process = spawn(processes, "sleep 600")
    processes.cancel()

    with pytest.raises(SandboxClosedError):
        process.wait(600)


def test_program_that_does_not_exist_is_an_error_of_its_start_alone(processes: Processes) -> None:
    with pytest.raises(OSError, match="no-such-program"):
        processes.spawn(
            Command(
                argv=["/no-such-program"],
                log=processes.scratch / "log",
                cwd=processes.scratch,
                env={},
            )
        )

    assert spawn(processes, "exit 0").wait(10) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_root_runs_a_process_as_another_user_without_groups(processes: Processes) -> None:
    process = processes.spawn(
        Command(
            argv=["id"], log=processes.scratch / "log", cwd=Path("/"), env={}, user=(65534, 65534)
        )
    )

    assert process.wait(10) == 0
    shown = (processes.scratch / "log").read_text()
    assert "uid=65534" in shown
    assert "root" not in shown
