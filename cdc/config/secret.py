"""Secrets by reference: `env:NAME` and `file:PATH`, read only at the moment they are used."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from cdc.errors import Problem, SecretError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# `file://` begins a location, such as a warehouse folder, and not the name of a secret file.
_REFERENCE = re.compile(r"env:|file:(?!//)")


@dataclass(frozen=True, slots=True)
class Secret:
    """The name of a secret. It never keeps the value, so nothing that shows or ships it leaks."""

    reference: str  # env:NAME or file:PATH
    setting: str = field(default="", compare=False, repr=False)  # where the config names it
    folder: str = field(default="", compare=False, repr=False)  # the config file's folder

    def __str__(self) -> str:
        return self.reference

    def reveal(self) -> str:
        """Read the value now.

        Raises:
            SecretError: There is no such variable, or the file cannot be read.
        """
        kind, _, name = self.reference.partition(":")
        return self._variable(name) if kind == "env" else self._file(name)

    def _variable(self, name: str) -> str:
        if not _VARIABLE.fullmatch(name):
            raise self._unreadable("env: must be followed by the name of a variable")
        value = os.environ.get(name)
        if value is None:
            raise self._unreadable(f"the environment variable {name} is not set")
        return value

    def _file(self, name: str) -> str:
        if not name:
            raise self._unreadable("file: must be followed by a path")
        location = "; a location needs two slashes, file://" if name.startswith("/") else ""
        try:
            content = Path(self.folder, name).read_bytes()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "that is no path"
            raise self._unreadable(f"{reason}{location}") from None
        text = content.decode("utf-8", errors="replace")
        # A decoding error would carry the secret in its fields, so it is not raised but noticed.
        if text.encode() != content:
            raise self._unreadable(f"the file is not UTF-8 text{location}")
        return text.rstrip("\r\n")

    def _unreadable(self, reason: str) -> SecretError:
        return SecretError(self.setting, self.reference, reason)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> dict[str, Any]:
        """Let validation pass a Secret through, and never build one from a table of the file."""
        return {"type": "is-instance", "cls": cls}


def is_reference(text: str) -> bool:
    """Tell a reference to a secret from plain text."""
    return _REFERENCE.match(text) is not None


def reveal(value: Secret | str) -> str:
    """Read a value that may be a secret."""
    return value.reveal() if isinstance(value, Secret) else value


def revealed(options: Mapping[str, Secret | str]) -> dict[str, str]:
    """Read the secrets among the options, for the client that takes them."""
    return {name: reveal(value) for name, value in options.items()}


def unreadable(settings: object) -> list[Problem]:
    """Try all secrets that a config, or a part of it, names; list those that cannot be read."""
    problems = []
    for secret in _secrets(settings):
        try:
            secret.reveal()
        except SecretError as error:
            problems.append(
                Problem(error.setting, f"{error.reference} cannot be read", error.reason)
            )
    return problems


def _secrets(value: object) -> Iterator[Secret]:
    if isinstance(value, Secret):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _secrets(item)
    elif is_dataclass(value):
        for item in fields(value):
            yield from _secrets(getattr(value, item.name))
