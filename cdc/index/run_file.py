"""One immutable file of sorted key codes and the places of their rows."""

import json
import mmap
import os
import uuid
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cdc.index.key_codes import Codes

MAGIC = b"KEYRUN01"  # another layout, another number: files of the old one are then rebuilt
LEAD = len(MAGIC) + 8  # then the header's length and checksum
ALIGNED = 64


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A data file whose rows a run holds."""

    path: str
    rows: int  # all of its rows, also those that are not indexed
    # The file's data sequence number. A run of one file has none: it is true for all.
    sequence: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """Sorted key codes with their rows' places.

    Rows of one code are ordered by their files' sequences, newest first.
    """

    files: tuple[IndexedFile, ...]
    primary: npt.NDArray[np.int64]
    check: npt.NDArray[np.int64] | None
    positions: npt.NDArray[Any]
    numbers: npt.NDArray[Any] | None  # of each row's file; None where there is only one
    place: str | None = None  # where it is kept

    def __len__(self) -> int:
        return len(self.primary)


def run_of_file(file: IndexedFile, codes: Codes, indexed: npt.NDArray[np.bool_] | None) -> Run:
    """Make the run of one data file.

    Args:
        file: The data file.
        codes: The codes of all of its rows, in its order.
        indexed: Which rows the run is to hold; None for all.
    """
    if codes.valid is not None:
        indexed = codes.valid if indexed is None else indexed & codes.valid
    if indexed is None:
        order = np.argsort(codes.primary)
    else:
        kept = np.flatnonzero(indexed)
        order = kept[np.argsort(codes.primary[kept])]
    check = None if codes.check is None else codes.check[order]
    positions = order.astype(_smallest(file.rows))
    return Run((file,), codes.primary[order], check, positions, None)


def _smallest(values: int) -> str:
    """Name the smallest type for numbers below a count."""
    return next(t for t, bits in (("<u2", 16), ("<u4", 32), ("<i8", 63)) if values <= 1 << bits)


def merged_run(
    files: Iterable[IndexedFile],
    primary: npt.NDArray[np.int64],
    check: npt.NDArray[np.int64] | None,
    positions: npt.NDArray[Any],
    numbers: npt.NDArray[np.int64],
) -> Run:
    """Make the run of several data files from their rows in any order."""
    known = tuple(files)
    sequences = np.array([file.sequence for file in known], np.int64)
    order = np.lexsort((-sequences[numbers], primary))
    return Run(
        known,
        primary[order],
        None if check is None else check[order],
        positions[order].astype(_smallest(max(file.rows for file in known))),
        numbers[order].astype(_smallest(len(known))),
    )


def write_run(run: Run, place: str, signature: str) -> None:
    """Write a run to its place.

    Whoever reads there sees all of it or nothing of it. Writing twice leaves the last; of two that
    write at once, one.
    """
    arrays = [run.primary, run.check, run.positions, run.numbers]
    body = [np.ascontiguousarray(array) for array in arrays if array is not None]
    checksum = 0
    for array in body:
        checksum = zlib.crc32(array.data.cast("B") if len(array) else b"", checksum)
    header = json.dumps(
        {
            "signature": signature,
            "files": [[file.path, file.rows, file.sequence] for file in run.files],
            "count": len(run),
            "hashed": run.check is not None,
            "positions": run.positions.dtype.str,
            "numbers": None if run.numbers is None else run.numbers.dtype.str,
            "checksum": checksum,
        }
    ).encode()
    header += b" " * (-(LEAD + len(header)) % ALIGNED)
    lead = len(header).to_bytes(4, "little") + zlib.crc32(header).to_bytes(4, "little")
    os.makedirs(os.path.dirname(place), exist_ok=True)
    draft = f"{place}.{uuid.uuid4()}.tmp"
    try:
        with open(draft, "wb") as sink:
            sink.write(MAGIC + lead + header)
            for array in body:
                sink.write(array.data)
        os.replace(draft, place)
    except BaseException:
        if os.path.exists(draft):
            os.unlink(draft)
        raise


class DamagedRunError(Exception):
    """A file is no whole run of this index. Only its store sees this: it throws the file away."""


def read_run(place: str, signature: str) -> Run:
    """Map a run into memory.

    Raises:
        OSError: There is no such file.
        DamagedRunError: It is not whole, or not of this index.
    """
    with open(place, "rb") as source:
        if os.fstat(source.fileno()).st_size < LEAD:
            raise DamagedRunError(place)
        view = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        return _parse(view, place, signature)
    except (ValueError, KeyError, TypeError) as error:  # what is left of a header may say anything
        raise DamagedRunError(place) from error


def _parse(view: mmap.mmap, place: str, signature: str) -> Run:
    length = int.from_bytes(view[len(MAGIC) : len(MAGIC) + 4], "little")
    header = view[LEAD : LEAD + length]
    checksum = int.from_bytes(view[len(MAGIC) + 4 : LEAD], "little")
    if view[: len(MAGIC)] != MAGIC or len(header) < length or zlib.crc32(header) != checksum:
        raise DamagedRunError(place)
    told = json.loads(header)
    if told["signature"] != signature:
        raise DamagedRunError(place)
    count, at = told["count"], LEAD + length
    with memoryview(view) as whole, whole[at:] as body:
        if zlib.crc32(body) != told["checksum"]:
            raise DamagedRunError(place)
    arrays: list[npt.NDArray[Any] | None] = []
    for kind in ("<i8", "<i8" if told["hashed"] else None, told["positions"], told["numbers"]):
        arrays.append(None if kind is None else np.frombuffer(view, kind, count, at))
        at += 0 if kind is None else count * np.dtype(kind).itemsize
    primary, check, positions, numbers = arrays
    if at != len(view) or primary is None or positions is None:
        raise DamagedRunError(place)
    files = tuple(IndexedFile(path, rows, sequence) for path, rows, sequence in told["files"])
    return Run(files, primary, check, positions, numbers, place)
