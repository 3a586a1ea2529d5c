"""Relative paths of a config file start at that file."""

import os.path
import re

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_RELATIVE_SQLITE = re.compile(r"(sqlite(?:\+\w+)?:///)(?!/)(.+)", re.DOTALL)


def absolute_path(path: str, folder: str) -> str:
    """Put a relative path behind the folder; a URI stays as it is."""
    if _SCHEME.match(path):
        return path
    return os.path.abspath(os.path.join(folder, os.path.expanduser(path)))


def absolute_uri(uri: str, folder: str) -> str:
    """Put the path within a relative SQLite address behind the folder; other URIs stay."""
    relative = _RELATIVE_SQLITE.fullmatch(uri)
    if relative is None:
        return uri
    return relative[1] + absolute_path(relative[2], folder)
