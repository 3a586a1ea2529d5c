"""The command line: thin, with honest exit codes; results on stdout, errors and logs on stderr."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from cdc import __version__
from cdc.cli import cli
from cdc.cli.logs import EchoHandler, set_up_logging
from cdc.errors import MirrorError

VALID = """
name = "shop"
[source]
connector = "postgres"
topics = ["shop.public.*"]
[kafka]
"bootstrap.servers" = "localhost:9092"
"""
COMMANDS = ("check", "demo", "quarantine", "run", "status")


class StalledError(MirrorError):
    """A deliberate error with a code of its own."""

    exit_code = 7

    def __str__(self) -> str:
        return "it stalled"


def invoke(*arguments: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(cli, arguments, env=env)


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    path = tmp_path / "wrong.toml"
    path.write_text(VALID.replace("postgres", "postgre") + "\n[stream]\nmax_records = 0\n")
    return str(path)


@pytest.fixture
def failing(request: pytest.FixtureRequest) -> Iterator[str]:
    """A command that raises what the test asks for."""

    @click.command("failing")
    def failing() -> None:
        raise request.param

    cli.add_command(failing)
    yield "failing"
    del cli.commands["failing"]


@pytest.fixture
def quiet() -> Iterator[None]:
    """Take the log's handler away again."""
    yield
    root = logging.getLogger()
    root.handlers = [one for one in root.handlers if not isinstance(one, EchoHandler)]
    for name in ("cdc", "connectors"):
        logging.getLogger(name).setLevel(logging.NOTSET)


pytestmark = pytest.mark.usefixtures("quiet")


def test_help_names_every_command() -> None:
    result = invoke("--help")

    assert result.exit_code == 0
    assert all(f"\n  {command} " in result.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    result = invoke(command, "--help")

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Usage:")


def test_the_version_is_that_of_the_package() -> None:
    assert invoke("--version").stdout.split()[-1] == __version__


def test_an_unknown_command_is_wrong_usage() -> None:
    assert invoke("mirrror").exit_code == 2


@pytest.mark.parametrize("command", ["check", "run", "status"])
def test_a_missing_config_is_wrong_usage(command: str, tmp_path: Path) -> None:
    assert invoke(command).exit_code == 2
    assert invoke(command, str(tmp_path / "none.toml")).exit_code == 2
    assert invoke(command, str(tmp_path)).exit_code == 2


@pytest.mark.parametrize("rows", ["0", "-1", "many"])
def test_the_demo_needs_rows(rows: str) -> None:
    assert invoke("demo", "--rows", rows).exit_code == 2


@pytest.mark.parametrize("command", ["check", "run", "status"])
def test_a_wrong_config_shows_every_problem_and_exits_with_2(command: str, wrong: str) -> None:
    result = invoke(command, wrong)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert "source.connector" in result.stderr
    assert "stream.max_records" in result.stderr


def test_the_problems_of_a_config_are_readable_by_machines(wrong: str) -> None:
    result = invoke("check", wrong, "--output", "json")

    answer = json.loads(result.stdout)
    assert (result.exit_code, result.stderr, answer["config"]) == (2, "", wrong)
    paths = [problem["path"] for problem in answer["problems"]]
    assert paths == ["source.connector", "stream.max_records"]


def test_the_config_can_come_from_a_variable(wrong: str) -> None:
    result = invoke("check", env={"DATABASE_MIRROR_CONFIG": wrong})

    assert "source.connector" in result.stderr


def test_every_option_can_come_from_a_variable(wrong: str) -> None:
    result = invoke("check", wrong, env={"DATABASE_MIRROR_CHECK_OUTPUT": "json"})

    assert json.loads(result.stdout)["problems"]


@pytest.mark.parametrize("failing", [StalledError()], indirect=True)
def test_a_deliberate_error_is_a_message_and_its_exit_code(failing: str) -> None:
    result = invoke(failing)

    assert (result.exit_code, result.stdout) == (7, "")
    assert result.stderr == "error: it stalled\n"


@pytest.mark.parametrize("failing", [StalledError()], indirect=True)
def test_an_error_is_red_only_for_a_terminal(failing: str) -> None:
    assert "\x1b" not in invoke(failing).stderr
    assert "\x1b[31m" in CliRunner().invoke(cli, [failing], color=True).stderr


@pytest.mark.parametrize("failing", [KeyboardInterrupt()], indirect=True)
def test_an_interrupt_exits_with_130_and_no_traceback(failing: str) -> None:
    result = invoke(failing)

    assert (result.exit_code, result.output) == (130, "")


@pytest.mark.parametrize("failing", [ZeroDivisionError("a bug")], indirect=True)
def test_a_bug_keeps_its_traceback(failing: str) -> None:
    assert isinstance(invoke(failing).exception, ZeroDivisionError)


def test_the_log_goes_to_stderr_with_time_and_level(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(verbose=False)

    logging.getLogger("cdc.runtime").info("batch=1 rows=5")

    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith(" INFO batch=1 rows=5\n")


@pytest.mark.parametrize(("verbose", "shown"), [(True, True), (False, False)])
def test_verbose_shows_every_step(
    verbose: bool, shown: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up_logging(verbose=verbose)

    logging.getLogger("cdc.runtime").debug("step=2")

    assert ("step=2" in capsys.readouterr().err) is shown


def test_verbose_does_not_open_the_log_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(verbose=True)

    logging.getLogger("py4j.clientserver").debug("password=hunter2")

    assert capsys.readouterr().err == ""


def test_setting_up_twice_shows_a_line_once(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(verbose=True)
    set_up_logging(verbose=False)

    logging.getLogger("cdc").info("once")

    assert capsys.readouterr().err.count("once") == 1
