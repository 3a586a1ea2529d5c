"""Which of the rows that an index finds are deleted already."""

import random
import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cdc.index import DeletedRows
from cdc.index.deleted_rows import POSITION_DELETES
from cdc.model import LiveFile
from tests.unit.index_tables import open_file

PATHS = [f"s3://lake/t/data/p0000{n}-{uuid.UUID(int=n)}.parquet" for n in range(3)]
Places = list[tuple[int, int]]


def write(folder: Path, places: Places) -> tuple[str, pa.Table]:
    """Write a file of position deletes."""
    rows = [{"file_path": PATHS[file], "pos": at} for file, at in sorted(places)]
    table = pa.Table.from_pylist(rows, POSITION_DELETES)
    path = f"{folder}/{uuid.uuid4()}.parquet"
    pq.write_table(table, path)
    return path, table


def dead(deleted: DeletedRows, places: Places, live: list[LiveFile], lane: int = 0) -> list[bool]:
    files = np.array([file for file, _ in places], np.int64)
    positions = np.array([at for _, at in places], np.int64)
    return list(deleted.are_deleted(PATHS, files, positions, live, lane).tolist())


def test_the_deleted_are_told_from_the_living(tmp_path: Path) -> None:
    deleted = DeletedRows(str(tmp_path / "cache"), open_file)
    added, rows = write(tmp_path, [(0, 5), (1, 6)])
    deleted.add(added, rows)
    foreign, _ = write(tmp_path, [(2, 7)])
    live = [LiveFile(added, 3, 2, lane=0), LiveFile(foreign, 4, 1)]
    places = [(1, 6), (1, 5), (0, 5), (0, 6), (2, 7), (2, 5)]

    assert dead(deleted, places, live) == [True, False, True, False, True, False]
    assert dead(deleted, places, live[:1], lane=1) == [False] * 6
    assert dead(deleted, [], live) == []
    assert dead(deleted, places, []) == [False] * 6


def test_deletes_are_told_through_batches_and_rollbacks(tmp_path: Path) -> None:
    chance = random.Random(5)
    every = [(file, at) for file in range(3) for at in range(40)]
    live: list[LiveFile] = []
    held: dict[str, set[tuple[int, int]]] = {}
    for batch in range(60):
        deleted = DeletedRows(str(tmp_path / "cache"), open_file)
        places = chance.sample(every, 4)
        path, rows = write(tmp_path, places)
        held[path] = set(places)
        if chance.random() < 0.7:
            deleted.add(path, rows)
        lane = chance.choice([0, 0, None])
        live = [*live[-chance.randint(10, 40) :], LiveFile(path, batch, 4, lane)]

        gone = set().union(*(held[file.path] for file in live))

        assert dead(deleted, every, live) == [place in gone for place in every]
