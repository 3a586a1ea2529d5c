"""`database-mirror check`."""

import json
from pathlib import Path

import click

from cdc.cli.arguments import config_argument
from cdc.cli.logs import set_up_logging
from cdc.errors import ConfigError


@click.command()
@config_argument
@click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", help="Form of the result."
)
@click.option("-v", "--verbose", is_flag=True, help="Log every step to stderr.")
@click.pass_context
def check(ctx: click.Context, config: Path, output: str, verbose: bool) -> None:
    """Check CONFIG and what it points to. Changes nothing."""
    from cdc.config import load_config

    set_up_logging(verbose=verbose)
    try:
        settings = load_config(config)
    except ConfigError as error:
        if output == "text":
            raise
        click.echo(json.dumps(_as_dict(error), indent=2))
        ctx.exit(error.exit_code)
    from cdc.commands.check import check_mirror

    report = check_mirror(settings)
    if output == "json":
        click.echo(json.dumps(report.as_dict(), indent=2))
    else:
        for line in report.lines():
            click.echo(line)
    ctx.exit(report.exit_code)


def _as_dict(error: ConfigError) -> dict[str, object]:
    return {
        "config": error.path,
        "problems": [
            {"path": problem.path, "text": problem.text, "advice": problem.advice}
            for problem in error.problems
        ],
    }
