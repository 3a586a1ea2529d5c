"""The shape of a config file, read from the classes: its tables and their settings."""

import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from cdc.config.settings import MirrorConfig
from cdc.config.table_rules import ResolvedRule, TableDefaults

# Tables in which any option of a client may stand. It is kept under `options`.
OPEN_TABLES = ("kafka", "registry", "catalog", "spark")
OPTIONS = "options"

_BARE = re.compile(r"[A-Za-z0-9_-]+(\[\])?")  # [] stands for any item of a list

Part = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting of one table."""

    path: tuple[Part, ...]
    hint: Any  # its type, without `None` and without what `Annotated` adds
    text: str
    default: Any  # MISSING where the setting is required

    @property
    def table(self) -> type | None:
        """The class of the table that this setting is, if it is one; of a list, its items'."""
        hint = get_args(self.hint)[0] if get_origin(self.hint) is tuple else self.hint
        return hint if isinstance(hint, type) and is_dataclass(hint) else None

    @property
    def many(self) -> bool:
        """Whether the setting is a list."""
        return get_origin(self.hint) is tuple

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that are allowed, where only some are."""
        if isinstance(self.hint, type) and issubclass(self.hint, StrEnum):
            return tuple(choice.value for choice in self.hint)
        return ()


@cache
def settings_of(table: type) -> dict[str, Setting]:
    """Describe the settings of one table by name, those that are required first."""
    hints = get_type_hints(table, include_extras=True)
    defaults = {item.name: _default(item) for item in fields(table)}
    if table is TableDefaults:
        defaults = {item.name: _default(item) for item in fields(ResolvedRule)}
    described = {}
    for item in sorted(fields(table), key=lambda item: defaults[item.name] is not MISSING):
        hint, *marks = get_args(hints[item.name])
        text = next((mark for mark in marks if isinstance(mark, str)), "")
        described[item.name] = Setting(
            path=(item.name,), hint=_required(hint), text=text, default=defaults[item.name]
        )
    return described


def all_settings(table: type = MirrorConfig, path: tuple[Part, ...] = ()) -> Iterator[Setting]:
    """Walk through the settings that are values, from the top of the file to its end."""
    for name, setting in settings_of(table).items():
        here = (*path, f"{name}[]" if setting.many and setting.table else name)
        if setting.table is None:
            yield Setting(path=here, hint=setting.hint, text=setting.text, default=setting.default)
        else:
            yield from all_settings(setting.table, here)


def table_at(path: tuple[Part, ...]) -> type | None:
    """Find the class of the table at a path of the prepared file."""
    table: type | None = MirrorConfig
    for part in path:
        if isinstance(part, int):
            continue
        if table is None or part not in settings_of(table):
            return None
        table = settings_of(table)[part].table
    return table


def setting_at(path: tuple[Part, ...]) -> Setting | None:
    """Find the setting at a path of the prepared file."""
    names = [part for part in path if isinstance(part, str)]
    table = table_at(tuple(names[:-1])) if names else None
    return settings_of(table).get(names[-1]) if table else None


def written(path: tuple[Part, ...]) -> str:
    """Write a path as it stands in the file: `tables.rules[2].deletes`, `kafka."sasl.password"`."""
    if len(path) > 1 and path[0] in OPEN_TABLES and path[1] == OPTIONS:
        path = (path[0], *path[2:])
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if _BARE.fullmatch(part) else quoted(part))
    return text


def quoted(text: str) -> str:
    """Quote text as TOML does, with control characters escaped, and not more than a line of it."""
    short = text if len(text) <= 60 else text[:57] + "..."
    shown = short.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in shown) + '"'


def _required(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return _required(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        kept = [part for part in get_args(hint) if part is not NoneType]
        return kept[0] if len(kept) == 1 else hint
    return hint


def _default(item: "Field[Any]") -> Any:
    return item.default_factory() if item.default_factory is not MISSING else item.default
