"""From a TOML file to the shape that is validated: options gathered, secrets named."""

import re
from dataclasses import dataclass, field
from typing import Any

from cdc.config.secret import Secret, is_reference
from cdc.config.settings import MirrorConfig
from cdc.config.shape import OPEN_TABLES, OPTIONS, Part, settings_of, written
from cdc.errors import Problem

SECRET_ADVICE = "Secrets only by env:NAME or file:PATH."

# Tables that hold credentials. Elsewhere `password` may well be the name of a column.
_GUARDED = ("source", "kafka", "registry", "catalog", "spark")
_SECRET_NAME = re.compile(
    r"password|passwd|secret|token|credential|jaas\.config|auth\.user\.info"
    r"|account-key|connection-string|ssl\.key\.pem|keystore\.key",
    re.IGNORECASE,
)
# Names that speak of a secret and hold none, such as sasl.oauthbearer.token.endpoint.url.
_NO_SECRET_NAME = re.compile(
    r"(url|uri|endpoint|enabled|location|file|path|class|type|provider|ms|seconds|expires-at)$"
    r"|kubernetes\.\w+\.secret",  # how Spark mounts the secrets of Kubernetes, by name
    re.IGNORECASE,
)
_SECRET_TEXT = re.compile(
    # user:password@host, unless the colon begins a port
    r"://[^\s:/@,]*:(?!\d+(?:[/?#,]|$))[^\s]+@"
    # password=… in a connection string
    r"|(?:password|passwd|pwd|secret)\w*\s*=\s*[^\s&;]",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Prepared:
    """What is to be validated, and what was found wrong on the way."""

    data: dict[str, Any] = field(default_factory=dict)
    problems: dict[tuple[Part, ...], Problem] = field(default_factory=dict)


def prepare(raw: dict[str, Any], folder: str) -> Prepared:
    """Gather the options of the open tables, and put a Secret in the place of each reference.

    Args:
        raw: The file, as TOML gives it.
        folder: The file's folder, where relative secret files are looked for.
    """
    prepared = Prepared()
    for name, value in raw.items():
        if name in OPEN_TABLES and isinstance(value, dict):
            value = _gathered(name, value, prepared)
        prepared.data[name] = _named(value, (name,), folder, prepared)
    return prepared


def _gathered(name: str, table: dict[str, Any], prepared: Prepared) -> dict[str, Any]:
    """Split an open table into its own settings and the options, whose dotted names are joined."""
    hint = settings_of(MirrorConfig)[name].table
    own = set(settings_of(hint)) - {OPTIONS} if hint else set()
    options: dict[str, Any] = {}
    for option, value in _flat({key: value for key, value in table.items() if key not in own}):
        path = (name, OPTIONS, option)
        if option in options:
            prepared.problems[path] = Problem(
                written(path), "is there twice, with and without quotes", "Remove one."
            )
        elif not all(option.split(".")):
            prepared.problems[path] = Problem(written(path), "is no option name", "Remove it.")
        elif (text := _as_text(value)) is None:
            prepared.problems[path] = Problem(
                written(path), "must be text, a number, true or false", "Separate many by commas."
            )
        else:
            options[option] = text
    gathered = {key: value for key, value in table.items() if key in own}
    return gathered | {OPTIONS: options} if options or name == "kafka" else gathered


def _flat(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Join the names of nested tables: without quotes, TOML reads `a.b = 1` as a table."""
    pairs: list[tuple[str, Any]] = []
    for name, value in table.items():
        if isinstance(value, dict) and value:
            pairs.extend(_flat(value, f"{prefix}{name}."))
        else:
            pairs.append((prefix + name, value))
    return pairs


def _as_text(value: object) -> str | None:
    """Write a value as clients read it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    return None


def _named(value: Any, path: tuple[Part, ...], folder: str, prepared: Prepared) -> Any:
    """Put a Secret in the place of each reference, and note each secret that is written out."""
    if isinstance(value, dict):
        return {key: _named(item, (*path, key), folder, prepared) for key, item in value.items()}
    if isinstance(value, list):
        return [_named(item, (*path, index), folder, prepared) for index, item in enumerate(value)]
    if isinstance(value, str) and is_reference(value):
        return Secret(value, written(path), folder)
    if path[0] in _GUARDED and _is_secret(str(path[-1]), value):
        prepared.problems[path] = Problem(written(path), "holds a secret", SECRET_ADVICE)
    return value


def _is_secret(name: str, value: object) -> bool:
    """Tell whether a secret stands in the file itself."""
    if isinstance(value, bool) or value in ("", "true", "false"):
        return False
    by_name = bool(_SECRET_NAME.search(name)) and not _NO_SECRET_NAME.search(name)
    return by_name or (isinstance(value, str) and bool(_SECRET_TEXT.search(value)))
