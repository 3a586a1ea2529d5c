"""From what validation found to problems with a path, a plain text and advice."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from cdc.config.checks import Misfit, nearest
from cdc.config.secret import Secret
from cdc.config.shape import Part, all_settings, quoted, setting_at, settings_of, table_at, written
from cdc.errors import Problem

UNKNOWN = "unexpected_keyword_argument"
# Sections of commands that are to come.
NOT_YET = ("connect", "maintenance")

_SHAPES = (  # the beginning of the kind of error, and what should have been there
    ("string", "must be text"),
    ("is_instance", "must be text"),
    ("int", "must be a whole number"),
    ("tuple", "must be a list"),
    ("dataclass", "must be a table"),
    ("dict", "must be a table"),
    ("mapping", "must be a table"),
)


def problems_of(
    errors: Iterable[Mapping[str, Any]],
    data: dict[str, Any],
    read: Mapping[tuple[Part, ...], Secret],
) -> dict[tuple[Part, ...], list[Problem]]:
    """Explain what validation found, by path. No text shows a value that was read as a secret.

    Args:
        errors: The findings, each with `type`, `loc`, `input`, `msg` and perhaps `ctx`.
        data: What was validated.
        read: The secrets whose value validation had to see, by path.
    """
    found: dict[tuple[Part, ...], list[Problem]] = {}
    for error in errors:
        path = path_of(error["loc"], data, missing=error["type"].startswith("missing"))
        for problem in _explained(error, path, read):
            known = found.setdefault(path, [])
            if problem not in known:
                known.append(problem)
    return found


def path_of(loc: tuple[Part, ...], data: Any, *, missing: bool) -> tuple[Part, ...]:
    """Cut a path off where it leaves the file; what follows is the alternative that was tried."""
    for depth, part in enumerate(loc):
        inside = isinstance(part, int) if isinstance(data, list) else isinstance(data, dict)
        if not inside or (isinstance(data, dict) and part not in data):
            return loc[: depth + 1] if missing else loc[:depth]
        data = data[part]
    return loc


def _explained(
    error: Mapping[str, Any], path: tuple[Part, ...], read: Mapping[tuple[Part, ...], Secret]
) -> Iterable[Problem]:
    kind = error["type"]
    subject = _subject(error["input"], read.get(path))
    if kind == UNKNOWN and path in [(name,) for name in NOT_YET]:
        text = "is no setting of this version"
        yield Problem(written(path), text, "Nothing would read it yet: remove it.")
    elif kind == UNKNOWN:
        yield Problem(written(path), "is unknown", _meant(path))
    elif kind.startswith("missing"):
        yield Problem(written(path), "is missing", _meaning(path))
    elif kind == "enum":
        setting = setting_at(path)
        choices = setting.choices if setting else ()
        plain = isinstance(error["input"], str) and path not in read
        near = nearest(error["input"], choices) if plain else None
        text = f"{subject} is not one of {', '.join(choices)}"
        yield Problem(written(path), text, f"Did you mean {quoted(near)}?" if near else "")
    elif isinstance(misfit := (error.get("ctx") or {}).get("error"), Misfit):
        for problem in misfit.problems:
            text = f"{subject} does not fit" if path in read else problem.text
            yield Problem(_below(path, problem.path), text, problem.advice)
    else:
        shape = next((text for start, text in _SHAPES if kind.startswith(start)), error["msg"])
        text = f"{subject} {shape}" if path in read else shape
        yield Problem(written(path), text, _form(path, kind))


def _subject(value: object, secret: Secret | None) -> str:
    if secret is not None:
        return f"the value of {secret}"
    return quoted(value) if isinstance(value, str) else "this value"


def _below(path: tuple[Part, ...], inner: str) -> str:
    """Write the path of a problem that a check found somewhere below its own place."""
    if not inner:
        return written(path)
    if inner.startswith("["):
        return written(path) + inner
    if table_at(path) is None:  # a mapping: the inner path is one name, whatever it looks like
        return written((*path, inner))
    return ".".join(filter(None, (written(path), inner)))


def _meant(path: tuple[Part, ...]) -> str:
    """Say which setting an unknown name probably means, here or in another table."""
    name = str(path[-1])
    elsewhere = [written(setting.path) for setting in all_settings() if setting.path[-1] == name]
    if elsewhere:
        return f"Did you mean {' or '.join(elsewhere)}?"
    table = table_at(path[:-1])
    near = nearest(name, settings_of(table)) if table else None
    if near:
        return f"Did you mean {written((*path[:-1], near))}?"
    return f"Known here: {', '.join(settings_of(table))}." if table else ""


def _meaning(path: tuple[Part, ...]) -> str:
    setting = setting_at(path)
    if setting is None:
        return ""
    return (
        f"{setting.text}: {', '.join(setting.choices)}." if setting.choices else f"{setting.text}."
    )


def _form(path: tuple[Part, ...], kind: str) -> str:
    """Show how a setting of this shape is written."""
    setting = setting_at(path)
    if setting is None:
        return ""
    name = written(path)
    if kind.startswith("tuple"):
        return f"Write [[{name}]]." if setting.table else f'Write {path[-1]} = ["..."].'
    if kind.startswith("dataclass"):
        bare = re.sub(r"\[\d+\]", "", name)
        return f"Write [[{bare}]]." if setting.many else f"Write [{bare}]."
    return f"{setting.text}."
