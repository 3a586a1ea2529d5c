"""How a command shows its result: on stdout, as text or as JSON, with an exit code."""

import json
from collections.abc import Iterable
from typing import Protocol

import click

output_option = click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", help="Form of the result."
)


class Report(Protocol):
    """A result, for people and for scripts."""

    @property
    def exit_code(self) -> int:
        """What the command exits with."""
        ...

    def lines(self) -> Iterable[str]:
        """Write it for people."""
        ...

    def as_json(self) -> object:
        """Give it as plain values, for `--output json`."""
        ...


def show(report: Report, output: str, *, indent: int | None = 2) -> int:
    """Write a result to stdout, and give the exit code that it asks for."""
    if output == "json":
        show_json(report.as_json(), indent)
    else:
        click.echo("".join(f"{line}\n" for line in report.lines()), nl=False)
    return report.exit_code


def show_json(values: object, indent: int | None = 2) -> None:
    """Write plain values to stdout for scripts."""
    click.echo(json.dumps(values, indent=indent))
