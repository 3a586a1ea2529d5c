"""`database-mirror demo`."""

import sys
import threading
import time
from pathlib import Path

import click

from cdc.cli.arguments import verbose_option
from cdc.cli.logs import set_up_logging

DEFAULT_ROWS = 50_000
UPDATE_SECONDS = 3.0
CLEAR_LINE = "\r\x1b[K"


class Screen:
    """Shows the demo; progress stays on one line of a terminal, elsewhere it is many lines."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._lock = threading.Lock()  # the servers report from threads of their own
        self._updated = 0.0
        self._passing = False

    def line(self, text: str = "") -> None:
        """Show a line that stays."""
        with self._lock:
            click.echo(f"{CLEAR_LINE if self._passing else ''}{text}")
            self._passing = False

    def update(self, text: str) -> None:
        """Show how far something is."""
        with self._lock:
            if self._terminal:
                click.echo(f"{CLEAR_LINE}{text}", nl=False)
                self._passing = True
            elif time.monotonic() - self._updated >= UPDATE_SECONDS:
                click.echo(text)
                self._updated = time.monotonic()


@click.command()
@click.option("--keep", is_flag=True, help="Leave all running afterwards, and show what arrives.")
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=DEFAULT_ROWS,
    help="Rows of all five tables together to begin with; never fewer than 200.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the demo lives; the tables stay there.  [default: mirror-demo]",
)
@verbose_option
@click.pass_context
def demo(ctx: click.Context, keep: bool, rows: int, folder: Path | None, verbose: bool) -> None:
    """Mirror a real PostgreSQL shop while it changes, and compare every value.

    Everything runs on this machine and ends with the command; what is missing is downloaded once.
    """
    set_up_logging(verbose=verbose)
    from cdc.demo import run_demo  # imports pyspark: late, so that --help stays instant

    ctx.exit(run_demo(keep=keep, rows=rows, folder=folder, screen=Screen()))
