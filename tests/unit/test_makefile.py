"""The Makefile sets up once, says what is missing, and `.ci/run` ends with pytest's verdict."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERDICT = "=================== 1 failed, 3 passed in 62.10s (0:01:02) ==================="

# Notes what it is asked to do; what it installs is a Python that does nothing.
UV = """
echo "uv $*" >>uv.log
if [ "$1" = sync ]; then
  mkdir -p .venv/bin
  echo "#!/bin/sh" >.venv/bin/python
  chmod +x .venv/bin/python
fi
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def put_program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A clone on a machine of which only uv and Java are made up; no root, so nothing installs."""
    programs = tmp_path / "programs"
    put_program(programs, "uv", UV)
    put_program(programs, "java", "echo 'openjdk version \"17.0.9\" 2023-10-17' >&2")
    put_program(programs, "id", "echo 1000")
    for name in ("Makefile", "pyproject.toml", "uv.lock"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.fixture
def make(machine: Path) -> Run:
    def run(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        path = f"{machine / 'programs'}:{os.environ['PATH']}"
        kept = ("MAKE", "MFLAGS", "JAVA_HOME")  # those of the make that runs the tests
        given = {name: value for name, value in os.environ.items() if not name.startswith(kept)}
        return subprocess.run(
            ["make", *arguments],
            cwd=machine,
            env=given | {"PATH": path, **variables},
            capture_output=True,
            text=True,
        )

    return run


def test_make_alone_lists_every_target(make: Run) -> None:
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)

    shown = make().stdout

    assert targets is not None
    assert [line.split()[1] for line in shown.splitlines()] == targets[1].split()


@pytest.mark.parametrize(
    ("target", "chosen"),
    [("test", "-m 'not full'"), ("test-fast", "-m 'not slow' tests/unit"), ("test-all", "")],
)
def test_only_one_target_runs_all_tests(make: Run, target: str, chosen: str) -> None:
    make("setup")

    (command,) = [line for line in make("-n", target).stdout.splitlines() if "bin/pytest" in line]

    assert chosen in command
    assert ("-m" in command) is bool(chosen)


def test_setting_up_twice_does_the_work_once(make: Run, machine: Path) -> None:
    first = make("setup")
    work = (machine / "uv.log").read_text()

    start = time.monotonic()
    second = make("setup")

    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert "uv sync --locked --extra sandbox\n" in work
    assert (machine / "uv.log").read_text().count("uv sync") == 1
    assert time.monotonic() - start < 1


def test_changed_dependencies_are_set_up_again(make: Run, machine: Path) -> None:
    make("setup")
    later = time.time() + 5
    os.utime(machine / "uv.lock", (later, later))

    make("setup")

    assert (machine / "uv.log").read_text().count("uv sync") == 2


def test_a_missing_python_is_said_and_nothing_is_fetched(make: Run, machine: Path) -> None:
    put_program(
        machine / "programs",
        "uv",
        'echo "$UV_PYTHON_DOWNLOADS $*" >>uv.log; [ "$1" != python ]',
    )

    done = make("setup")

    assert done.returncode != 0
    assert "Python 3.11 or newer is needed" in done.stderr
    assert (machine / "uv.log").read_text().splitlines()[1:] == ["never python find"]


@pytest.mark.parametrize(
    ("shown", "enough"),
    [
        ('openjdk version "21" 2023-09-19', True),
        ('openjdk version "17-ea" 2021-09-14', True),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "17.0.9" 2023-10-17', True),
        ('java version "1.8.0_392"', False),
        ('openjdk version "11.0.21" 2023-10-17', False),
        ("no such thing", False),
    ],
)
def test_java_must_be_new_enough(make: Run, machine: Path, shown: str, enough: bool) -> None:
    put_program(machine / "programs", "java", f"cat >&2 <<'END'\n{shown}\nEND")

    done = make("setup")

    assert (done.returncode == 0) is enough, done.stderr
    assert ("Java 17 or newer is needed" in done.stderr) is not enough
    assert ("openjdk-17-jre-headless" in done.stderr) is not enough


def test_java_home_decides(make: Run, machine: Path) -> None:
    (machine / "old").mkdir()
    put_program(machine / "old/bin", "java", "echo 'openjdk version \"11.0.2\"' >&2")

    done = make("setup", JAVA_HOME=str(machine / "old"))

    assert done.returncode != 0
    assert "JAVA_HOME" in done.stderr


@pytest.mark.parametrize(
    ("after", "status"),
    [("", 0), ("make: *** [Makefile:48: test] Error 1", 2), ("a server says goodbye", 0)],
    ids=["passed", "failed", "late word"],
)
def test_the_ci_script_ends_with_the_verdict(tmp_path: Path, after: str, status: int) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    said = "\n".join(["collected 4 items", VERDICT, *([after] if after else [])])
    put_program(tmp_path / "programs", "make", f"cat <<'END'\n{said}\nEND\nexit {status}")

    done = subprocess.run(
        [tmp_path / ".ci/run"],
        env={**os.environ, "PATH": f"{tmp_path / 'programs'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )

    assert done.stdout.splitlines()[-1] == VERDICT
    assert done.returncode == status
