"""Where a table's files are: the local disk, or what pyiceberg can reach."""

from collections.abc import Mapping
from functools import lru_cache

import pyarrow.fs as pafs

LOCAL = pafs.LocalFileSystem()


def filesystem(path: str, properties: Mapping[str, str]) -> tuple[pafs.FileSystem, str]:
    """Find the file system of a path, and the path in its words.

    Args:
        path: A path of this machine, or a URI.
        properties: How to reach the storage, as pyiceberg names it.
    """
    scheme, separator, rest = path.partition(":")
    if not separator:
        return LOCAL, path
    if scheme == "file":
        return LOCAL, "/" + rest.lstrip("/")
    from pyiceberg.io.pyarrow import PyArrowFileIO  # costs half a second: only where needed

    scheme, host, place = PyArrowFileIO.parse_location(path)
    return _remote(scheme, host, tuple(sorted(properties.items()))), place


# A client of an object store opens connections and asks for credentials: one for each process.
@lru_cache(maxsize=16)
def _remote(scheme: str, host: str, properties: tuple[tuple[str, str], ...]) -> pafs.FileSystem:
    from pyiceberg.io.pyarrow import PyArrowFileIO

    return PyArrowFileIO(dict(properties)).fs_by_scheme(scheme, host)
