"""The key index's folder: what is in it is never believed without proof, and never needed."""

import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from cdc.index import KeyIndex, merging, run_store
from cdc.index.run_store import KEPT_SECONDS, load_secret
from cdc.model import LiveFile
from tests.unit.index_tables import IndexedTable, column, named, open_file, table_of

LONG = [column(1, pa.int64())]
TEXT = [column(1, pa.string())]


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    """Keep nothing that another test has mapped."""
    run_store._mapped.clear()
    yield


@pytest.fixture(params=[LONG, TEXT], ids=["exact", "hashed"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> IndexedTable:
    return IndexedTable(tmp_path, request.param)


def keys_of(table: IndexedTable, *numbers: int) -> list[tuple[object]]:
    exact = pa.types.is_integer(table.fields[0].type)
    return [(number if exact else f"key {number}",) for number in numbers]


def grow(table: IndexedTable, files: int, rows: int = 5) -> None:
    """Commit files that hold the same keys."""
    for _ in range(files):
        rows_of = [(key, True) for key in keys_of(table, *range(rows))]
        table.commit(table.write(rows_of, 0))


def cached(table: IndexedTable, kind: str) -> list[Path]:
    return sorted(table.cache.glob(f"*/{kind}/*/*.run"))


def refuse(path: str) -> pa.NativeFile:
    raise AssertionError(f"{path} was opened")


def unread(table: IndexedTable) -> None:
    """From now on, no data file may be opened."""
    table.index = KeyIndex(str(table.cache), pa.schema(table.fields), refuse)


def test_a_file_that_was_added_is_not_read(table: IndexedTable) -> None:
    grow(table, 3)

    unread(table)

    table.check(keys_of(table, 0, 3, 99), 0)


def test_a_file_that_was_never_added_is_read_once(table: IndexedTable) -> None:
    table.commit(table.write([(key, True) for key in keys_of(table, 4, 2)], 0, add=False))
    table.check(keys_of(table, 2), 0)

    unread(table)

    table.check(keys_of(table, 2, 4, 5), 0)


def test_many_files_become_few_segments(table: IndexedTable) -> None:
    for _ in range(100):
        grow(table, 1)
        table.check(keys_of(table, 0), 0)

    assert len(cached(table, "segments")) < merging.FAN
    assert len(cached(table, "runs")) == 100


def test_segments_answer_without_the_runs_they_were_made_of(table: IndexedTable) -> None:
    grow(table, merging.FAN)
    table.check(keys_of(table, 0), 0)
    shutil.rmtree(cached(table, "runs")[0].parent)

    unread(table)

    table.check(keys_of(table, *range(6)), 0)


def test_a_segment_answers_on_after_some_of_its_files_are_gone(table: IndexedTable) -> None:
    grow(table, merging.FAN)
    table.check(keys_of(table, 0), 0)
    shutil.rmtree(cached(table, "runs")[0].parent)
    unread(table)

    table.live = table.live[:-2]  # the newest: older rows count again

    table.check(keys_of(table, *range(6)), 0)


def test_a_segment_does_not_answer_for_a_file_under_another_sequence(table: IndexedTable) -> None:
    grow(table, merging.FAN)
    table.check(keys_of(table, 0), 0)

    table.live[0] = replace(table.live[0], sequence=99)

    table.check(keys_of(table, *range(6)), 0)


def test_a_run_does_not_answer_for_a_file_with_another_number_of_rows(table: IndexedTable) -> None:
    table.commit(table.write([(key, True) for key in keys_of(table, 1, 2)], 0, add=False))
    wrong = table_of(keys_of(table, 2, 1, 7), table.fields)

    table.index.add(table.live[0].path, wrong)

    table.check(keys_of(table, 1, 2, 7), 0)


def test_the_run_of_one_file_is_not_taken_for_that_of_another(table: IndexedTable) -> None:
    table.commit(table.write([(key, True) for key in keys_of(table, 1, 2)], 0))
    table.commit(table.write([(key, True) for key in keys_of(table, 3, 1)], 0))
    one, other = cached(table, "runs")

    shutil.copy(one, other)

    table.check(keys_of(table, 1, 2, 3), 0)


def test_a_run_of_another_key_is_not_believed_wherever_it_lies(tmp_path: Path) -> None:
    table = IndexedTable(tmp_path, [column(1, pa.int64()), column(2, pa.int64())])
    table.commit(table.write([((1, 7), True), ((2, 8), True)], 0))
    (run,) = cached(table, "runs")
    table.fields = [column(2, pa.int64())]
    table.contents = {
        path: [(key[1:], f) for key, f in rows] for path, rows in table.contents.items()
    }
    table.reopen()
    table.check([(7,)], 0)
    (other,) = [path for path in cached(table, "runs") if path != run]

    shutil.copy(run, other)

    table.check([(7,), (8,), (1,)], 0)


def test_a_segment_is_rewritten_when_most_of_it_is_of_no_use(table: IndexedTable) -> None:
    grow(table, 2 * merging.FAN)
    table.check(keys_of(table, 0), 0)
    (before,) = cached(table, "segments")
    size = before.stat().st_size

    table.live = table.live[: merging.FAN // 2]
    table.check(keys_of(table, 0), 0)

    (after,) = cached(table, "segments")
    assert after.stat().st_size < size / 2
    table.check(keys_of(table, *range(6)), 0)


Damage = Callable[[bytes], bytes]
DAMAGES: dict[str, Damage] = {
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "only a magic": lambda content: content[:8],
    "half a header": lambda content: content[:40],
    "half": lambda content: content[: len(content) // 2],
    "one byte less": lambda content: content[:-1],
    "one byte more": lambda content: content + b"\0",
    "zeros at the end": lambda content: content[:-8] + bytes(8),
    "zeros": lambda content: bytes(len(content)),
    "another version": lambda content: b"KEYRUN99" + content[8:],
    "a huge header": lambda content: content[:8] + b"\xff\xff\xff\xff" + content[12:],
    "another count": lambda content: content.replace(b'"count": ', b'"count":1'),
    "another path": lambda content: content.replace(b".parquet", b".garbage"),
    "text": lambda content: b"not a run at all\n" * 100,
}


@pytest.mark.parametrize("kind", ["runs", "segments"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_thrown_away_and_made_again(
    table: IndexedTable, kind: str, damage: Damage
) -> None:
    grow(table, merging.FAN if kind == "segments" else 3)
    table.check(keys_of(table, 0), 0)
    for path in cached(table, kind):
        path.write_bytes(damage(path.read_bytes()))
    assert cached(table, kind)

    table.check(keys_of(table, *range(6)), 0)

    run_store._mapped.clear()
    unread(table)
    table.check(keys_of(table, *range(6)), 0)


def test_every_single_flipped_bit_is_noticed(table: IndexedTable) -> None:
    table.commit(table.write([(key, True) for key in keys_of(table, 1, 2)], 0))
    (run,) = cached(table, "runs")
    whole = run.read_bytes()

    for bit in range(0, 8 * len(whole), 5):
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        run.write_bytes(content)
        table.check(keys_of(table, 1, 2, 3), 0)
        assert run.read_bytes() == whole


def test_a_new_secret_makes_all_runs_anew(tmp_path: Path) -> None:
    table = IndexedTable(tmp_path, TEXT)
    grow(table, 3)
    (table.cache / "secret").write_bytes(b"another secret!!")

    table.reopen()

    table.check(keys_of(table, *range(6)), 0)
    assert len({path.parts[-4] for path in cached(table, "runs")}) == 2


def test_a_damaged_secret_is_replaced(tmp_path: Path) -> None:
    first = load_secret(str(tmp_path))
    (tmp_path / "secret").write_bytes(first[:5])

    second = load_secret(str(tmp_path))

    assert len(second) == 16 and second != first
    assert load_secret(str(tmp_path)) == second
    assert (tmp_path / "secret").stat().st_mode & 0o077 == 0


def test_a_full_disk_makes_no_lookup_fail(
    table: IndexedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)

    grow(table, merging.FAN)

    table.check(keys_of(table, *range(6)), 0)
    assert list(table.cache.rglob("*.tmp")) == []


def test_old_files_that_nobody_needs_go_and_young_ones_stay(table: IndexedTable) -> None:
    grow(table, 2 * merging.FAN)
    table.check(keys_of(table, 0), 0)
    runs, segments = cached(table, "runs"), cached(table, "segments")
    draft = runs[0].with_suffix(".run.killed.tmp")
    draft.write_bytes(b"half")
    long_ago = time.time() - KEPT_SECONDS - 60
    for path in (*runs, *segments, draft):
        os.utime(path, (long_ago, long_ago))
    uncommitted = table.write([(key, True) for key in keys_of(table, 1)], 0)

    table.live = []
    grow(table, merging.FAN)
    table.check(keys_of(table, 0), 0)

    assert not any(path.exists() for path in (*runs, *segments, draft))
    assert len(cached(table, "runs")) == merging.FAN + 1
    assert uncommitted.path in table.contents


def test_another_lanes_runs_stay(table: IndexedTable) -> None:
    other = table.write([(key, True) for key in keys_of(table, 1)], 1)
    (run,) = cached(table, "runs")
    os.utime(run, (0, 0))

    grow(table, merging.FAN)
    table.check(keys_of(table, 0), 0)

    assert run.exists() and other.lane == 1


def test_of_a_flagged_table_only_the_marked_rows_are_found(tmp_path: Path) -> None:
    table = IndexedTable(tmp_path, LONG, flagged=True)
    one, two = keys_of(table, 1, 2)
    added = table.write([(one, False), (one, True), (two, False)], 0)
    read = table.write([(two, True), (one, False)], 0, add=False)
    table.commit(added)
    table.commit(read)

    assert table.find([one, two], 0) == [(0, added.path, 1), (1, read.path, 0)]


def look_up(folder: str, live: list[LiveFile], start: object, answers: object) -> None:
    start.wait()  # type: ignore[attr-defined]
    for _ in range(5):
        index = KeyIndex(folder, pa.schema(TEXT), open_file)
        found = index.find(table_of([("key 1",), ("key 4",)], TEXT), live, 0)
        answers.put(named(found, live))  # type: ignore[attr-defined]


def test_many_processes_share_a_folder(tmp_path: Path) -> None:
    table = IndexedTable(tmp_path, TEXT)
    for _ in range(3 * merging.FAN):
        rows = [(key, True) for key in keys_of(table, *range(50))]
        table.commit(table.write(rows, None, add=False))
    shutil.rmtree(table.cache)
    context = multiprocessing.get_context("spawn")
    start, answers = context.Event(), context.Queue()
    arguments = (str(table.cache), table.live, start, answers)
    processes = [context.Process(target=look_up, args=arguments) for _ in range(3)]

    for process in processes:
        process.start()
    start.set()
    found = [answers.get(timeout=120) for _ in range(5 * len(processes))]
    for process in processes:
        process.join()

    assert found == [table.expected([("key 1",), ("key 4",)], 0)] * len(found)
