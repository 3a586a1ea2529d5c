"""The page of all settings: `python -m cdc.config.reference` prints what docs show."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING
from typing import Any, get_args, get_origin

from cdc.config.settings import MirrorConfig
from cdc.config.shape import OPTIONS, Part, Setting, settings_of
from cdc.config.table_rules import TableDefaults, TableRule, TargetRule

HEAD = ("| Option | Value | Default | Meaning |", "|---|---|---|---|")
TOP = "At the top of the file"
# Whose settings a rule, or a target, has too, and what is said of them there.
INSTEAD: Mapping[type, tuple[type, str]] = {
    TableRule: (TableDefaults, "Instead of `tables.defaults.{}`"),
    TargetRule: (TableRule, "Instead of the rule's"),
}


def options_page() -> str:
    """Write all settings in Markdown: a heading and a table for each section of the file."""
    return "\n".join(_sections(MirrorConfig, (), ""))


def _sections(table: type, path: tuple[str, ...], lead: str) -> Iterator[str]:
    settings = settings_of(table).values()
    rows = [_row(table, setting) for setting in settings if setting.table is None]
    if rows:
        yield f"## {f'`{path[-1]}`' if path else TOP}\n"
        yield from (f"{lead}\n",) if lead else ()
        yield from (*HEAD, *rows, "")
    for setting in settings:
        if setting.table is not None:
            lead = f"{setting.text}." + (" Required." if setting.default is MISSING else "")
            yield from _sections(setting.table, (*path, _heading(path, setting)), lead)


def _heading(path: tuple[Part, ...], setting: Setting) -> str:
    above = f"{str(path[-1]).strip('[]')}." if path else ""
    name = f"{above}{setting.path[0]}"
    return f"[[{name}]]" if setting.many else f"[{name}]"


def _row(table: type, setting: Setting) -> str:
    name = str(setting.path[0])
    cells = (
        "any other" if name == OPTIONS else f"`{name}`",
        _value(setting),
        _default(setting),
        _meaning(table, setting),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _value(setting: Setting) -> str:
    if setting.choices:
        return " ".join(f"`{choice}`" for choice in setting.choices)
    if setting.path[-1] == OPTIONS:
        return "text"
    if int in get_args(setting.hint):
        return "number or share"
    kinds = {int: "whole number", tuple: "list", Mapping: "table"}
    return kinds.get(get_origin(setting.hint) or setting.hint, "text")


def _default(setting: Setting) -> str:
    default: Any = setting.default
    if default is MISSING:
        return "required"
    if default is None or default in ((), {}, ""):
        return ""
    return f"`{default}`"


def _meaning(table: type, setting: Setting) -> str:
    other, instead = INSTEAD.get(table, (None, ""))
    name = str(setting.path[0])
    return instead.format(name) if other and name in settings_of(other) else setting.text


def main() -> None:
    """Print the page."""
    sys.stdout.write(options_page())


if __name__ == "__main__":
    main()
