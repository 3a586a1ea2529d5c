"""`database-mirror status`."""

import sys
import time
from pathlib import Path

import click

from cdc.cli.arguments import config_argument, read_config
from cdc.cli.show import output_option, show
from cdc.errors import MirrorError

WATCH_SECONDS = 2.0


@click.command()
@config_argument
@click.option("--schema", is_flag=True, help="Show what was done to the tables' columns instead.")
@click.option("--watch", is_flag=True, help="Show it again every 2 seconds until Ctrl-C.")
@output_option
@click.pass_context
def status(ctx: click.Context, config: Path, schema: bool, watch: bool, output: str) -> None:
    """Show the status of each table mirrored by CONFIG. Changes nothing.

    Exits with 1 when a table is parked.
    """
    settings = read_config(config)
    from cdc.commands.status import open_status  # late: it imports pyiceberg

    def show_status() -> int:
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
        return show(report, output, indent=None if watch else 2)

    with open_status(settings) as reader:
        code = show_status()
        while watch:
            time.sleep(WATCH_SECONDS)
            code = show_status()
    ctx.exit(code)


def _clear(watch: bool) -> None:
    if watch and sys.stdout.isatty():
        click.clear()
