"""`database-mirror run`."""

from pathlib import Path

import click

from cdc.cli.arguments import config_argument, read_config, verbose_option


@click.command()
@config_argument
@click.option("--once", is_flag=True, help="Apply what the topics hold now, then stop.")
@verbose_option
@click.pass_context
def run(ctx: click.Context, config: Path, once: bool, verbose: bool) -> None:
    """Mirror the database described by CONFIG until stopped."""
    settings = read_config(config, verbose=verbose)
    # Late, since it imports pyspark: errors of the config come at once.
    from cdc.runtime.stream.mirror import run_mirror

    summary = run_mirror(settings, once=once)
    click.echo(str(summary))
    ctx.exit(summary.exit_code)
