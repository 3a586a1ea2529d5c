"""`database-mirror demo`."""

from pathlib import Path

import click

from cdc.cli.logs import set_up_logging


@click.command()
@click.option("--keep", is_flag=True, help="Leave the servers running until Ctrl-C.")
@click.option("--rows", type=click.IntRange(min=1), default=1000, help="Rows to begin with.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the demo lives; a temporary folder without it.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log every step to stderr.")
@click.pass_context
def demo(ctx: click.Context, keep: bool, rows: int, folder: Path | None, verbose: bool) -> None:
    """Start a real database, Kafka and Debezium here, and mirror a few tables."""
    set_up_logging(verbose=verbose)
    from cdc.runtime.demo import run_demo  # imports pyspark: late, so that --help stays instant

    ctx.exit(run_demo(keep=keep, rows=rows, folder=folder, report=click.echo))
