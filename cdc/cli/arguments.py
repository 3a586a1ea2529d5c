"""What several commands take."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cdc.config import MirrorConfig

config_argument = click.argument(
    "config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="DATABASE_MIRROR_CONFIG",
)


def load_applicable(path: Path) -> "MirrorConfig":
    """Load a config of which every setting can be applied.

    Raises:
        ConfigError: The config is wrong, or asks for what this version does not do.
    """
    from cdc.config import load_config, not_yet
    from cdc.errors import ConfigError

    config = load_config(path)
    if problems := not_yet(config):
        raise ConfigError(str(path), tuple(problems))
    return config
