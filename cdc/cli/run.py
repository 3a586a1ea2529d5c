"""`database-mirror run`."""

from pathlib import Path

import click

from cdc.cli.arguments import config_argument
from cdc.cli.logs import set_up_logging


@click.command()
@config_argument
@click.option("--once", is_flag=True, help="Apply what the topics hold now, then stop.")
@click.option("-v", "--verbose", is_flag=True, help="Log every step to stderr.")
@click.pass_context
def run(ctx: click.Context, config: Path, once: bool, verbose: bool) -> None:
    """Mirror the database described by CONFIG until stopped."""
    from cdc.config import load_config

    settings = load_config(config)
    set_up_logging(verbose=verbose)
    from cdc.runtime.stream.mirror import (
        run_mirror,  # imports pyspark: late, so that errors come at once
    )

    summary = run_mirror(settings, once=once)
    click.echo(str(summary))
    ctx.exit(summary.exit_code)
