"""`database-mirror check`."""

from dataclasses import asdict
from pathlib import Path

import click

from cdc.cli.arguments import config_argument, read_config, verbose_option
from cdc.cli.show import output_option, show, show_json
from cdc.errors import ConfigError


@click.command()
@config_argument
@output_option
@verbose_option
@click.pass_context
def check(ctx: click.Context, config: Path, output: str, verbose: bool) -> None:
    """Check CONFIG and what it points to. Changes nothing."""
    try:
        settings = read_config(config, verbose=verbose)
    except ConfigError as error:
        if output == "text":
            raise
        problems = [asdict(problem) for problem in error.problems]
        show_json({"config": error.path, "problems": problems})
        ctx.exit(error.exit_code)
    from cdc.commands.check import check_mirror

    ctx.exit(show(check_mirror(settings), output))
