"""Read a config file. Nothing else in the project knows TOML or pydantic."""

import os.path
import re
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from cdc.config.explain import UNKNOWN, path_of, problems_of
from cdc.config.paths import absolute_path, absolute_uri
from cdc.config.prepare import prepare
from cdc.config.secret import Secret
from cdc.config.settings import LOCAL_CATALOGS, CatalogConfig, MirrorConfig
from cdc.config.shape import Part
from cdc.errors import ConfigError, Problem, SecretError

SMALLEST = 'It needs name, [source] with connector and topics, and [kafka] "bootstrap.servers".'

_POSITION = re.compile(r" \(at line (\d+), column (\d+)\)$")


def load_config(path: Path | str) -> MirrorConfig:
    """Read, check and complete the config file of one database.

    Raises:
        ConfigError: With every problem of the file at once.
    """
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "that is no path"
        raise ConfigError(str(path), (Problem("", f"cannot be read: {reason}"),)) from None
    return parse_config(content, path)


def parse_config(content: bytes, path: Path | str) -> MirrorConfig:
    """Check and complete the content of a config file that stands, or will stand, at `path`.

    Raises:
        ConfigError: With every problem of the content at once.
    """
    folder = os.path.dirname(os.path.abspath(path))
    try:
        config, problems = _validated(_toml(content), folder)
    except _Unreadable as error:
        config, problems = None, [error.problem]
    except RecursionError:
        config, problems = None, [Problem("", "is nested too deeply", SMALLEST)]
    # Raised out here, so that no error that shows the file's values hangs on to this one.
    if config is None or problems:
        raise ConfigError(str(path), tuple(problems))
    return _located(config, folder)


class _Unreadable(Exception):
    """The content is not TOML."""

    def __init__(self, text: str, path: str = "", advice: str = "") -> None:
        super().__init__(text)
        self.problem = Problem(path, text, advice)


def _toml(content: bytes) -> dict[str, Any]:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _Unreadable("is UTF-16 text", advice="Save it as UTF-8.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _Unreadable("is not UTF-8 text", f"line {line}", "Save it as UTF-8.") from None
    try:
        raw = tomllib.loads(text)
    except ValueError as error:
        message = str(error)
        position = _POSITION.search(message)
        if position:
            where = f"line {position[1]}, column {position[2]}"
            raise _Unreadable(message[: position.start()], where) from None
        raise _Unreadable(message) from None
    if not raw:
        raise _Unreadable("is empty", advice=SMALLEST)
    return raw


@cache
def _adapter() -> TypeAdapter[MirrorConfig]:
    return TypeAdapter(MirrorConfig)


def _validated(raw: dict[str, Any], folder: str) -> tuple[MirrorConfig | None, list[Problem]]:
    prepared = prepare(raw, folder)
    found = {path: [problem] for path, problem in prepared.problems.items()}
    data, read = prepared.data, dict[tuple[Part, ...], Secret]()
    config, errors = _attempt(data)
    # A setting that is no secret, such as `name`, may be a reference too: its value is needed now.
    for error in errors:
        path, secret = path_of(error["loc"], data, missing=False), error["input"]
        if isinstance(secret, Secret) and error["type"] != UNKNOWN and path not in read:
            read[path] = secret
            try:
                _put(data, path, secret.reveal())
            except SecretError as missing:
                found[path] = [Problem(secret.setting, f"{secret} cannot be read", missing.reason)]
    if read:
        config, errors = _attempt(data)
    known = {problem.path for problems in found.values() for problem in problems}
    for path, problems in problems_of(errors, data, read).items():
        found.setdefault(path, []).extend(p for p in problems if p.path not in known)
    in_order = sorted(found, key=lambda path: _order(path, data))
    return config, [problem for path in in_order for problem in found[path]]


def _order(path: tuple[Part, ...], data: Any) -> list[int]:
    """Give the order of a setting in the file; what is missing in a table comes before the rest."""
    order = []
    for part in path:
        if isinstance(data, dict):
            order.append(list(data).index(part) if part in data else -1)
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int):
            order.append(part)
            data = data[part]
    return order


def _attempt(data: dict[str, Any]) -> tuple[MirrorConfig | None, list[Any]]:
    try:
        return _adapter().validate_python(data), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _put(data: Any, path: tuple[Part, ...], value: str) -> None:
    for part in path[:-1]:
        data = data[part]
    data[path[-1]] = value


def _located(config: MirrorConfig, folder: str) -> MirrorConfig:
    """Let every relative path start at the config file."""
    return replace(
        config,
        kafka=replace(config.kafka, options=_located_files(config.kafka.options, folder)),
        registry=config.registry
        and replace(config.registry, options=_located_files(config.registry.options, folder)),
        catalog=_located_catalog(config.catalog, folder),
        stream=replace(config.stream, checkpoint=absolute_path(config.stream.checkpoint, folder)),
    )


def _located_files(options: Any, folder: str) -> dict[str, Secret | str]:
    """Locate certificates and key stores, such as ssl.ca.location."""
    return {
        name: absolute_path(value, folder)
        if name.endswith(".location") and isinstance(value, str) and value != "probe"
        else value
        for name, value in options.items()
    }


def _located_catalog(catalog: CatalogConfig, folder: str) -> CatalogConfig:
    uri, warehouse = catalog.uri, catalog.warehouse
    if isinstance(uri, str):
        uri = absolute_uri(uri, folder)
    if warehouse is not None and catalog.type in LOCAL_CATALOGS:
        warehouse = absolute_path(warehouse, folder)
    return replace(catalog, uri=uri, warehouse=warehouse)
