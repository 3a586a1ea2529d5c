"""Which rows of data files are deleted: the same index, over the files of position deletes."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cdc.index.data_rows import OpenFile
from cdc.index.key_codes import FIELD_ID
from cdc.index.key_index import KeyIndex
from cdc.model import LiveFile

# The columns of position deletes, with the ids that Iceberg reserves for them.
POSITION_DELETES = pa.schema(
    [
        pa.field("file_path", pa.string(), False, metadata={FIELD_ID: "2147483546"}),
        pa.field("pos", pa.int64(), False, metadata={FIELD_ID: "2147483545"}),
    ]
)


class DeletedRows:
    """Tells the dead among rows that a key index found.

    Deleting a dead row once more changes nothing. But who takes its values, such as the version
    that a history closes, has to know: the newest row of a deleted key is a dead one.
    """

    def __init__(self, folder: str, open_file: OpenFile) -> None:
        """Use the index of one table's position deletes.

        Args:
            folder: A local folder for these alone.
            open_file: Opens a file of position deletes by its path.
        """
        self._index = KeyIndex(folder, POSITION_DELETES, open_file)

    def add(self, path: str, deletes: pa.Table) -> None:
        """Index a file of position deletes that was just written, without reading it."""
        self._index.add(path, deletes)

    def are_deleted(
        self,
        paths: Sequence[str],
        files: npt.NDArray[np.int64],
        positions: npt.NDArray[np.int64],
        deletes: Sequence[LiveFile],
        lane: int,
    ) -> npt.NDArray[np.bool_]:
        """Tell of each row whether it is deleted.

        Args:
            paths: The data files.
            files: For each row, the number of its file among them.
            positions: The rows' numbers in their files.
            deletes: All live files of position deletes, with the lane of each: None for one that
                another engine wrote.
            lane: The Kafka partition that the rows' keys came through.
        """
        names = pa.DictionaryArray.from_arrays(pa.array(files), pa.array(paths, pa.string()))
        rows = pa.table([names, pa.array(positions)], POSITION_DELETES.names)
        dead = np.zeros(len(rows), np.bool_)
        dead[self._index.find(rows, deletes, lane).rows] = True
        return dead
