"""What several commands take."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cdc.cli.logs import set_up_logging

if TYPE_CHECKING:
    from cdc.config import MirrorConfig

config_argument = click.argument(
    "config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="DATABASE_MIRROR_CONFIG",
)
verbose_option = click.option("-v", "--verbose", is_flag=True, help="Log every step to stderr.")


def read_config(path: Path, *, verbose: bool = False) -> "MirrorConfig":
    """Begin a command: read its config, and say where its log goes.

    Raises:
        ConfigError: With every problem of the file at once.
    """
    from cdc.config import load_config  # imports pydantic when it is called

    set_up_logging(verbose=verbose)
    return load_config(path)
