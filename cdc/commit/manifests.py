"""Manifests read whole: Java fetches the bytes, Python has them in one call per file.

To ask Java for each entry's values would cost a round trip for each of them.
"""

import io
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NoReturn

from pyiceberg.io import FileIO, InputFile, InputStream
from pyiceberg.manifest import ManifestContent, ManifestFile, read_manifest_list


class ManifestReader:
    """Reads the manifests of one table through its own access to the storage."""

    def __init__(self, java: Any) -> None:
        self.files = TableFiles(java.io())

    def manifests(self, snapshot: Any, content: ManifestContent) -> Iterator[ManifestFile]:
        """Go through the manifests of a Java snapshot that list data, or deletes."""
        found = read_manifest_list(self.files.new_input(str(snapshot.manifestListLocation())))
        return (manifest for manifest in found if manifest.content == content)


class TableFiles(FileIO):
    """A table's files, read by Iceberg's Java library, which alone knows the storage's secrets."""

    def __init__(self, java_io: Any) -> None:
        super().__init__()
        self._java_io = java_io

    def read(self, path: str) -> bytes:
        """Fetch a whole file."""
        with closing(self._java_io.newInputFile(path).newStream()) as stream:
            return bytes(stream.readAllBytes())

    def read_range(self, path: str, start: int, length: int) -> bytes:
        """Fetch a part of a file."""
        with closing(self._java_io.newInputFile(path).newStream()) as stream:
            stream.seek(start)
            return bytes(stream.readNBytes(length))

    def write(self, path: str, content: bytes) -> None:
        """Make a new file."""
        with closing(self._java_io.newOutputFile(path).create()) as stream:
            stream.write(content)

    def new_input(self, location: str) -> InputFile:
        """Fetch a file for one of pyiceberg's readers."""
        return _Fetched(location, self.read(location))

    def new_output(self, location: str) -> NoReturn:
        """Refuse: none of pyiceberg's writers is used."""
        raise NotImplementedError

    def delete(self, location: Any) -> None:
        """Refuse: none of pyiceberg's writers is used."""
        raise NotImplementedError


class _Fetched(InputFile):
    """A file's bytes."""

    def __init__(self, location: str, content: bytes) -> None:
        super().__init__(location)
        self._content = content

    def __len__(self) -> int:
        return len(self._content)

    def exists(self) -> bool:
        return True

    def open(self, seekable: bool = True) -> InputStream:
        return io.BytesIO(self._content)
