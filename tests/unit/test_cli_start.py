"""The command answers at once: no Spark is loaded for help or for a wrong config."""

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
MOST_FOR_HELP = 200  # modules
MOST_FOR_CHECK = 400
HEAVY = {"pyspark", "pyiceberg", "confluent_kafka", "pyarrow", "numpy"}

RUN = "import sys; from cdc.cli import cli; cli(sys.argv[1:], standalone_mode=False)"
SHOW = "import sys\nfrom cdc.cli import cli\ntry:\n    cli(sys.argv[1:], prog_name='x')\nfinally:\n"
SHOW += "    print('\\n' + ' '.join(sys.modules))"


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    path = tmp_path / "wrong.toml"
    path.write_text(WRONG)
    return str(path)


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


def test_the_answer_loads_little(wrong: str) -> None:
    # Modules are counted, and not seconds: these depend on what else the machine does.
    assert len(loaded(["--help"])) < MOST_FOR_HELP
    assert len(loaded(["check", wrong])) < MOST_FOR_CHECK
