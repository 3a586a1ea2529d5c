"""The `database-mirror` command: one file per command."""

import gc
from typing import Any

import click

from cdc import __version__
from cdc.cli.check import check
from cdc.cli.demo import demo
from cdc.cli.quarantine import quarantine
from cdc.cli.run import run
from cdc.cli.status import status
from cdc.errors import MirrorError

INTERRUPTED = 130  # what a shell reports for a command that Ctrl-C ended


class MirrorGroup(click.Group):
    """Shows a deliberate error as a message; a bug keeps its traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and turn its error into a message and an exit code."""
        try:
            return super().invoke(ctx)
        except MirrorError as error:
            # click drops the colour where stderr is no terminal.
            click.echo(f"{click.style('error:', fg='red')} {error}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.group(
    cls=MirrorGroup,
    commands=[check, demo, quarantine, run, status],
    context_settings={
        "auto_envvar_prefix": "DATABASE_MIRROR",
        "help_option_names": ["-h", "--help"],
        "show_default": True,
    },
)
@click.version_option(__version__, prog_name="database-mirror")
def cli() -> None:
    """Mirror a database into Apache Iceberg tables from its Debezium topics.

    Every option can also be set by a variable, such as DATABASE_MIRROR_RUN_ONCE=1, and CONFIG by
    DATABASE_MIRROR_CONFIG.
    """


def main() -> None:
    """Run the command line."""
    # Imports make many objects and no garbage: looking for it is a fifth of a quick command's time.
    gc.set_threshold(50_000)
    cli(prog_name="database-mirror")
