"""The key index against brute force, through all that a table and its cache may go through."""

import os
import random
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cdc.index import merging, run_store
from cdc.index.key_codes import Codes, KeyCoder
from cdc.model import LiveFile
from tests.unit.index_tables import KEYS, IndexedTable, Key, every_key, lane_of_key, same

LANES = 2
STEPS = 40


class Story:
    """One random life of a table."""

    def __init__(self, folder: Path, kind: str, seed: int) -> None:
        self.random = random.Random(f"{kind} {seed}")
        fields, values = KEYS[kind]
        self.table = IndexedTable(folder, fields, flagged=self.random.random() < 0.3)
        self.keys = every_key(values)
        self.history: list[list[LiveFile]] = []
        self.steps: list[Callable[[], None]] = [
            *[self.batch] * 12,
            *[self.compact, self.roll_back, self.restart, self.lose, self.damage, self.age],
            *[self.forget_lanes, self.abandon],
        ]

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.random.choice(self.steps)()
            lane = self.random.randrange(LANES)
            self.table.check(self.some(lane), lane)
        for lane in range(LANES):
            self.table.check(self.of_lane(lane), lane)

    def of_lane(self, lane: int) -> list[Key]:
        return [key for key in self.keys if lane_of_key(key, LANES) == lane]

    def some(self, lane: int) -> list[Key]:
        keys = self.of_lane(lane)
        return self.random.sample(keys, self.random.randint(0, len(keys)))

    def rows(self, keys: list[Key]) -> list[tuple[Key, bool]]:
        twice = self.random.sample(keys, len(keys) // 10)
        rows = [(key, self.random.random() < 0.7) for key in [*keys, *twice]]
        self.random.shuffle(rows)
        return rows

    def batch(self) -> None:
        """Every lane writes, and all of it becomes live at once."""
        files = []
        for lane in range(LANES):
            keys = self.some(lane)
            self.table.check(keys, lane)
            if keys:
                add = self.random.random() < 0.7
                files.append(self.table.write(self.rows(keys), lane, add=add))
        self.history.append(self.table.live)
        self.table.commit(*files)

    def compact(self) -> None:
        """Another engine replaces files by one that holds the keys of all of them."""
        count = self.random.randint(0, len(self.table.live))
        old = self.random.sample(self.table.live, count)
        held = {key for file in old for key, _ in self.table.contents[file.path]}
        keys = [key for key in self.keys if same(key) in held]
        if keys:
            new = self.table.write(self.rows(keys), None, add=False)
            self.history.append(self.table.live)
            self.table.commit(new, without=old)

    def roll_back(self) -> None:
        if self.history:
            at = self.random.randrange(len(self.history))
            self.table.live = self.history[at]
            del self.history[at:]

    def forget_lanes(self) -> None:
        """The topic got more partitions: the files there are may now hold any lane's keys."""
        self.table.live = [replace(file, lane=None) for file in self.table.live]

    def abandon(self) -> None:
        """A batch dies before its commit."""
        if keys := self.some(0):
            self.table.write(self.rows(keys), 0)

    def restart(self) -> None:
        run_store._mapped.clear()
        self.table.reopen()

    def cached(self) -> list[Path]:
        return sorted(path for path in self.table.cache.rglob("*") if path.is_file())

    def lose(self) -> None:
        if self.random.random() < 0.2:
            shutil.rmtree(self.table.cache)
            self.restart()
            return
        for path in self.random.sample(self.cached(), len(self.cached()) // 3):
            path.unlink()

    def damage(self) -> None:
        for path in self.random.sample(self.cached(), len(self.cached()) // 3):
            content = bytearray(path.read_bytes())
            if not content:
                continue
            at = self.random.randrange(len(content))
            if self.random.random() < 0.5:
                content = content[:at]
            else:
                content[at] ^= 1 << self.random.randrange(8)
            path.write_bytes(content)
        self.restart()

    def age(self) -> None:
        """Time passes: what is of no use may go."""
        for path in self.cached():
            os.utime(path, (time.time() - 9000, time.time() - 9000))


@pytest.mark.parametrize("kind", KEYS)
def test_a_lookup_finds_what_brute_force_finds(tmp_path: Path, kind: str) -> None:
    Story(tmp_path, kind, seed=1).run(STEPS)


@pytest.mark.parametrize("seed", range(4))
def test_it_does_so_with_many_sizes_of_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(merging, "SMALLEST", 8)
    monkeypatch.setattr(merging, "FAN", 3)
    monkeypatch.setattr(merging, "LARGEST", 400)

    Story(tmp_path, ["long", "nullable string"][seed % 2], seed).run(100)


@pytest.mark.parametrize("kind", ["string", "two ints"])
def test_it_does_so_where_half_of_a_code_is_the_same_for_many_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    exact = KeyCoder.codes

    def narrow(coder: KeyCoder, keys: object) -> Codes:
        codes = exact(coder, keys)
        return Codes(codes.primary & 3, codes.check, codes.valid)

    monkeypatch.setattr(KeyCoder, "codes", narrow)

    Story(tmp_path, kind, seed=7).run(STEPS)
