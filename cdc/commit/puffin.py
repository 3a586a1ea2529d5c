"""Deletion vectors as bytes, and the Puffin file that holds them, by Iceberg's specification."""

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyroaring import BitMap64

PUFFIN_MAGIC: Final = b"PFA1"
VECTOR_MAGIC: Final = bytes.fromhex("d1d33964")
# The field id of a row's position.
POSITION_FIELD: Final = 2147483645


@dataclass(frozen=True, slots=True)
class Blob:
    """Where a data file's vector stands in a Puffin file."""

    start: int
    length: int
    rows: int


def vector_bytes(positions: BitMap64) -> bytes:
    """Write a vector: its length, magic, bitmaps and check sum."""
    body = VECTOR_MAGIC + positions.serialize()
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def read_vector(content: bytes) -> BitMap64:
    """Read a vector back.

    Raises:
        ValueError: The bytes are none, or damaged.
    """
    (length,) = struct.unpack(">I", content[:4])
    body, check = content[4 : 4 + length], content[4 + length : 8 + length]
    if body[:4] != VECTOR_MAGIC or struct.pack(">I", zlib.crc32(body)) != check:
        raise ValueError("not a deletion vector, or a damaged one")
    return BitMap64.deserialize(body[4:])


def puffin_bytes(vectors: Mapping[str, BitMap64]) -> tuple[bytes, dict[str, Blob]]:
    """Write a whole Puffin file of one vector per data file, and tell where each stands."""
    parts = [PUFFIN_MAGIC]
    places: dict[str, Blob] = {}
    start = len(PUFFIN_MAGIC)
    for path, positions in vectors.items():
        content = vector_bytes(positions)
        parts.append(content)
        places[path] = Blob(start, len(content), len(positions))
        start += len(content)
    blobs = [
        {
            "type": "deletion-vector-v1",
            "fields": [POSITION_FIELD],
            # They are those of the commit, which the file cannot know.
            "snapshot-id": -1,
            "sequence-number": -1,
            "offset": blob.start,
            "length": blob.length,
            "properties": {"referenced-data-file": path, "cardinality": str(blob.rows)},
        }
        for path, blob in places.items()
    ]
    footer = {"blobs": blobs, "properties": {"created-by": "database-mirror"}}
    payload = json.dumps(footer, separators=(",", ":")).encode()
    flags = bytes(4)  # nothing is compressed
    parts += [PUFFIN_MAGIC, payload, struct.pack("<i", len(payload)), flags, PUFFIN_MAGIC]
    return b"".join(parts), places
