"""The command answers at once: no Spark is loaded for help or for a wrong config."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

WRONG = "name = 'shop'\n[source]\nconnector = 'postgre'\n"
RIGHT = """
name = "shop"
[source]
connector = "postgres"
topics = ["shop.public.*"]
[kafka]
"bootstrap.servers" = "localhost:9"
"""
MOST_CPU = 0.5  # seconds
HEAVY = {"pyspark", "pyiceberg", "confluent_kafka", "pyarrow", "numpy"}

RUN = "import sys; from cdc.cli import cli; cli(sys.argv[1:], standalone_mode=False)"
SHOW = "import sys\nfrom cdc.cli import cli\ntry:\n    cli(sys.argv[1:], prog_name='x')\nfinally:\n"
SHOW += "    print('\\n' + ' '.join(sys.modules))"


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    path = tmp_path / "wrong.toml"
    path.write_text(WRONG)
    return str(path)


@pytest.fixture
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which modules are compiled once, as they are where it is installed."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return env | {"PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("compiled"))}


def cpu_seconds(arguments: list[str], env: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", RUN, *arguments], env=env, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def loaded(arguments: list[str]) -> set[str]:
    done = subprocess.run([sys.executable, "-c", SHOW, *arguments], capture_output=True, text=True)
    modules = set(done.stdout.splitlines()[-1].split())
    assert "cdc.cli" in modules
    return modules


def test_help_loads_neither_spark_nor_the_validation() -> None:
    assert loaded(["--help"]) & (HEAVY | {"pydantic"}) == set()


@pytest.mark.parametrize("command", ["list", "show", "replay", "drop"])
def test_help_on_the_quarantine_loads_no_more(command: str) -> None:
    assert loaded(["quarantine", command, "--help"]) & (HEAVY | {"pydantic"}) == set()


@pytest.mark.parametrize("command", ["list", "show"])
def test_the_quarantine_is_looked_at_without_spark(command: str, tmp_path: Path) -> None:
    config = tmp_path / "shop.toml"
    config.write_text(RIGHT)

    modules = loaded(["quarantine", command, str(config)])

    assert "pyiceberg" in modules
    assert "pyspark" not in modules


def test_a_wrong_config_is_found_without_spark(wrong: str) -> None:
    modules = loaded(["check", wrong])

    assert "pydantic" in modules
    assert modules & HEAVY == set()


@pytest.mark.parametrize("command", ["run", "status"])
def test_a_wrong_config_is_refused_without_spark(command: str, wrong: str) -> None:
    assert loaded([command, wrong]) & HEAVY == set()


@pytest.mark.parametrize("arguments", [["--help"], ["check"]], ids=["help", "check"])
def test_the_answer_costs_little(
    arguments: list[str], wrong: str, compiled: dict[str, str]
) -> None:
    arguments = [*arguments, *([wrong] if arguments == ["check"] else [])]
    cpu_seconds(arguments, compiled)  # compiles

    assert min(cpu_seconds(arguments, compiled) for _ in range(3)) < MOST_CPU
