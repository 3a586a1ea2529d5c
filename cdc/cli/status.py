"""`database-mirror status`."""

import json
import sys
import time
from pathlib import Path

import click

from cdc.cli.arguments import config_argument
from cdc.cli.logs import set_up_logging
from cdc.errors import MirrorError

WATCH_SECONDS = 2.0


@click.command()
@config_argument
@click.option("--schema", is_flag=True, help="Show what was done to the tables' columns instead.")
@click.option("--watch", is_flag=True, help="Show it again every 2 seconds until Ctrl-C.")
@click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", help="Form of the result."
)
@click.pass_context
def status(ctx: click.Context, config: Path, schema: bool, watch: bool, output: str) -> None:
    """Show where each table mirrored by CONFIG stands. Changes nothing.

    Exits with 1 when a table is parked.
    """
    from cdc.config import load_config

    settings = load_config(config)
    set_up_logging(verbose=False)
    from cdc.commands.status import open_status  # late: it imports pyiceberg

    def show() -> int:
        """Show it once; while watching, what may pass is told and does not end it."""
        try:
            report = reader.columns() if schema else reader.status()
        except MirrorError as error:
            if not (watch and error.retryable):
                raise
            _clear(watch)
            click.echo(f"error: {error}", err=True)
            return error.exit_code
        _clear(watch)
        if output == "json":
            click.echo(json.dumps(report.as_dict(), indent=None if watch else 2))
        else:
            click.echo("\n".join(report.lines()))
        return report.exit_code

    with open_status(settings) as reader:
        code = show()
        while watch:
            time.sleep(WATCH_SECONDS)
            code = show()
    ctx.exit(code)


def _clear(watch: bool) -> None:
    if watch and sys.stdout.isatty():
        click.clear()
