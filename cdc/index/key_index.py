"""Where the rows of keys are: a cache of what a table's data files hold."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cdc.index.data_rows import OpenFile, row_groups
from cdc.index.key_codes import Codes, KeyCoder, field_id
from cdc.index.merging import due_merge, merge
from cdc.index.probe import NOT_SERVED, Hits, Unit, probe
from cdc.index.run_file import IndexedFile, Run, run_of_file
from cdc.index.run_store import RunStore, load_secret
from cdc.model import LiveFile


@dataclass(frozen=True, slots=True)
class Found:
    """The rows that have one of the keys, ordered by key, file and position."""

    rows: npt.NDArray[np.int64]  # the key's number
    files: npt.NDArray[np.int64]  # the file's number
    positions: npt.NDArray[np.int64]  # the row's number in its file

    def __len__(self) -> int:
        return len(self.rows)


class KeyIndex:
    """Finds the newest row of keys among a table's live data files.

    What it keeps in its folder are facts about immutable files, so that nothing a table goes
    through makes them wrong: a lookup says which files are live, and only these answer. What is
    missing is read from the files' key columns. Any number of processes may share the folder.
    """

    def __init__(
        self,
        folder: str,
        schema: pa.Schema,
        open_file: OpenFile,
        *,
        only: pa.Field | None = None,
    ) -> None:
        """Use the index of one table.

        Args:
            folder: A local folder for this table alone.
            schema: The key columns as the table has them now, with their field ids in the metadata.
            open_file: Opens a data file by its path.
            only: A boolean column: rows where it is not true are not in the index.

        Raises:
            UnindexableKeyError: A key column has a type that no index can hold.
        """
        self._coder = KeyCoder(schema, load_secret(folder))
        self._only = only
        self._open = open_file
        self._columns = schema if only is None else schema.append(only)
        chosen = "" if only is None else f" only {field_id(only)}=True"
        self._store = RunStore(folder, self._coder.signature + chosen)

    def add(self, path: str, rows: pa.Table) -> None:
        """Index a data file that was just written, without reading it.

        Adding twice changes nothing; a file that is never added is read when a lookup needs it.

        Args:
            path: The file, by the path under which it will be committed.
            rows: All of its rows in its order: the key columns and the `only` column at least.
        """
        self._store.keep(self._run(path, [rows]))

    def find(self, keys: pa.Table, files: Sequence[LiveFile], lane: int | None) -> Found:
        """Find the newest row of each key.

        Of all live files that hold a key, those of the greatest sequence answer, each with all of
        its rows of the key. Such a row may be one that was deleted before: no file is newer, so
        the key has no other. Looking up twice gives the same.

        Args:
            keys: The key columns, no key twice.
            files: All live data files of the table.
            lane: The Kafka partition that the keys came through: of the other partitions' files
                none is looked at. None for keys of all partitions: only of files that may hold any.
        """
        codes = self._coder.codes(keys)
        order = np.argsort(codes.primary)
        if codes.valid is not None:
            order = order[codes.valid[order]]
        if not len(order):
            return _newest([], order)
        sought = codes.take(order)
        hits: list[Hits] = []
        for owner in dict.fromkeys((lane, None)):
            live = {f.path: (i, f) for i, f in enumerate(files) if f.lane == owner and f.rows}
            hits += [probe(unit, sought) for unit in self._units(owner, live, files)]
        return _newest(hits, order)

    def _units(
        self, lane: int | None, live: dict[str, tuple[int, LiveFile]], every: Sequence[LiveFile]
    ) -> list[Unit]:
        """Give the runs that together answer for each live file once, merged where due."""
        units = self._served(lane, live)
        if not due_merge(units):
            return units
        with self._store.alone(f"merge-{lane}", wait=False) as got:
            while got and (old := due_merge(units)):
                run = self._store.keep_segment(lane, merge(old))
                files = np.concatenate([unit.files[unit.files != NOT_SERVED] for unit in old])
                new = _unit(run, files, [file.sequence or 0 for file in run.files])
                units = [unit for unit in units if unit not in old] + [new]
                for unit in old:
                    if unit.run.numbers is not None:
                        self._store.discard(unit.run)
            if got:
                self._store.evict(
                    lane, [f.path for f in every], {u.run.place for u in units if u.run.place}
                )
        return units

    def _served(self, lane: int | None, live: dict[str, tuple[int, LiveFile]]) -> list[Unit]:
        units = []
        for run in self._store.segments(lane):
            files = np.full(len(run.files), NOT_SERVED, np.int64)
            for number, file in enumerate(run.files):
                found = live.get(file.path)
                if found and (found[1].sequence, found[1].rows) == (file.sequence, file.rows):
                    files[number] = found[0]
                    del live[file.path]
            if (files != NOT_SERVED).any():
                units.append(_unit(run, files, [file.sequence or 0 for file in run.files]))
        runs = self._runs([file for _, file in live.values()])
        units += [
            _unit(runs[path], np.array([number], np.int64), [file.sequence])
            for path, (number, file) in live.items()
        ]
        return units

    def _runs(self, files: Sequence[LiveFile]) -> dict[str, Run]:
        """Give the run of each file; those that are missing are built."""
        runs = {file.path: run for file in files if (run := self._known(file))}
        # Tasks of all lanes need the runs of shared files at the same time: each first builds what
        # no other is at, then waits for the rest.
        for wait in (False, True):
            for file in [file for file in files if file.path not in runs]:
                with self._store.alone(self._store.lock_of(file.path), wait=wait) as got:
                    if got or wait:
                        runs[file.path] = self._known(file) or self._built(file.path)
        return runs

    def _known(self, file: LiveFile) -> Run | None:
        run = self._store.run(file.path)
        return run if run and run.files[0].rows == file.rows else None

    def _built(self, path: str) -> Run:
        with self._open(path) as source:
            return self._store.keep(self._run(path, row_groups(source, self._columns)))

    def _run(self, path: str, parts: Iterable[pa.Table]) -> Run:
        codes: list[Codes] = []
        indexed: list[npt.NDArray[np.bool_]] = []
        for part in parts:
            codes.append(self._coder.codes(part))
            if self._only is not None:
                indexed.append(part[self._only.name].fill_null(False).to_numpy())
        whole = Codes.joined(codes)
        file = IndexedFile(path, len(whole))
        return run_of_file(file, whole, np.concatenate(indexed) if indexed else None)


def _unit(run: Run, files: npt.NDArray[np.int64], sequences: Sequence[int]) -> Unit:
    rows = sum(f.rows for f, n in zip(run.files, files, strict=True) if n != NOT_SERVED)
    return Unit(run, files, np.array(sequences, np.int64), rows)


def _newest(hits: Sequence[Hits], order: npt.NDArray[np.intp]) -> Found:
    """Keep of each key's rows those of the greatest sequence.

    Args:
        hits: What each run knows.
        order: The numbers of the keys in the order in which they were looked up.
    """
    none = [np.empty(0, np.int64)]
    rows = order[np.concatenate([*none, *(hit.rows for hit in hits)])]
    files = np.concatenate([*none, *(hit.files for hit in hits)])
    positions = np.concatenate([*none, *(hit.positions for hit in hits)])
    sequences = np.concatenate([*none, *(hit.sequences for hit in hits)])
    if len(rows):
        newest = np.full(int(rows.max()) + 1, np.iinfo(np.int64).min)
        np.maximum.at(newest, rows, sequences)
        kept = np.flatnonzero(sequences == newest[rows])
        kept = kept[np.lexsort((positions[kept], files[kept], rows[kept]))]
        rows, files, positions = rows[kept], files[kept], positions[kept]
    return Found(rows, files, positions)
