"""What several commands take."""

from pathlib import Path

import click

config_argument = click.argument(
    "config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="DATABASE_MIRROR_CONFIG",
)
