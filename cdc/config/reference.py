"""The table of all settings, for docs/config.md: `python -m cdc.config.reference` prints it."""

import sys
from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any, get_args, get_origin

from cdc.config.settings import MirrorConfig
from cdc.config.shape import OPEN_TABLES, OPTIONS, Setting, all_settings, settings_of, written

HEAD = ("| Setting | Value | Default | Meaning |", "|---|---|---|---|")


def option_table() -> str:
    """Write all settings as a Markdown table, in the order of the file."""
    return "\n".join([*HEAD, *(_row(setting) for setting in all_settings())]) + "\n"


def _row(setting: Setting) -> str:
    cells = (_name(setting), _value(setting), _default(setting), setting.text)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _name(setting: Setting) -> str:
    table, *rest = setting.path
    if table in OPEN_TABLES and rest == [OPTIONS]:
        return f"`{table}.*`"
    return f"`{written(setting.path)}`"


def _value(setting: Setting) -> str:
    if setting.choices:
        return " ".join(f"`{choice}`" for choice in setting.choices)
    if setting.path[-1] == OPTIONS:
        return "text"
    if int in get_args(setting.hint):
        return "number or share"
    kinds = {int: "whole number", bool: "true or false", tuple: "list", Mapping: "table"}
    return kinds.get(get_origin(setting.hint) or setting.hint, "text")


def _default(setting: Setting) -> str:
    default: Any = setting.default
    if default is MISSING:
        table = str(setting.path[0])
        optional = settings_of(MirrorConfig)[table].default is None
        return f"required in `[{table}]`" if optional else "required"
    if default is None or default in ((), {}, ""):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`"


if __name__ == "__main__":
    sys.stdout.write(option_table())
