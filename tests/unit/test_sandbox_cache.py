"""The cache: where it is, and that an entry is whole or not there."""

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from cdc.downloads.cache import Cache, cache_folder


def never_cancelled() -> None:
    return


def open_cache(folder: Path) -> Cache:
    return Cache(folder, check_cancelled=never_cancelled, progress=lambda line: None)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"DATABASE_MIRROR_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, Path("/own")),
        ({"XDG_CACHE_HOME": "/xdg"}, Path("/xdg/database-mirror")),
        ({}, Path.home() / ".cache" / "database-mirror"),
        ({"DATABASE_MIRROR_CACHE": ""}, Path.home() / ".cache" / "database-mirror"),
        ({"DATABASE_MIRROR_CACHE": "~/own"}, Path.home() / "own"),
        ({"DATABASE_MIRROR_CACHE": "own"}, Path.cwd() / "own"),
    ],
)
def test_own_variable_then_xdg_then_home_decide_the_folder(
    environment: dict[str, str], expected: Path
) -> None:
    assert cache_folder(environment) == expected


def test_entry_is_built_once(tmp_path: Path) -> None:
    built = []

    def build(folder: Path) -> None:
        built.append(folder)
        (folder / "file").write_text("content")

    first = open_cache(tmp_path).entry("kafka", build)
    second = open_cache(tmp_path).entry("kafka", build)

    assert first == second == tmp_path / "kafka"
    assert (first / "file").read_text() == "content"
    assert len(built) == 1


def test_failed_build_leaves_no_entry_and_is_done_again(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError("the network is gone")

    with pytest.raises(OSError, match="network"):
        open_cache(tmp_path).entry("kafka", fail)
    entry = open_cache(tmp_path).entry("kafka", lambda folder: (folder / "whole").touch())

    assert [path.name for path in entry.iterdir()] == ["whole"]
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["kafka"]


def build_until_killed(folder: Path) -> None:
    def build(part: Path) -> None:
        (part / "half").touch()
        time.sleep(600)

    open_cache(folder).entry("kafka", build)


def test_killed_build_is_not_taken_for_whole(tmp_path: Path) -> None:
    builder = multiprocessing.get_context("spawn").Process(
        target=build_until_killed, args=(tmp_path,)
    )
    builder.start()
    while not list(tmp_path.glob(".part-*/half")):
        time.sleep(0.02)
    builder.kill()
    builder.join()

    entry = open_cache(tmp_path).entry("kafka", lambda folder: (folder / "whole").touch())

    assert [path.name for path in entry.iterdir()] == ["whole"]
    assert not list(tmp_path.glob(".part-*"))


def build_slowly(folder: Path) -> None:
    def build(part: Path) -> None:
        with (folder / "builds").open("a") as log:
            log.write(f"{os.getpid()}\n")
        time.sleep(0.5)
        (part / "whole").touch()

    entry = open_cache(folder).entry("kafka", build)
    assert (entry / "whole").exists()


def test_two_processes_at_once_build_one_entry(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    builders = [context.Process(target=build_slowly, args=(tmp_path,)) for _ in range(3)]

    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()

    assert [builder.exitcode for builder in builders] == [0, 0, 0]
    assert len((tmp_path / "builds").read_text().splitlines()) == 1


def test_waiting_for_another_builder_is_told_and_can_be_cancelled(tmp_path: Path) -> None:
    class CancelledError(Exception):
        pass

    def cancel() -> None:
        raise CancelledError

    builder = multiprocessing.get_context("spawn").Process(
        target=build_until_killed, args=(tmp_path,)
    )
    builder.start()
    while not list(tmp_path.glob(".part-*/half")):
        time.sleep(0.02)

    lines: list[str] = []
    cache = Cache(tmp_path, check_cancelled=cancel, progress=lines.append)

    with pytest.raises(CancelledError):
        cache.entry("kafka", lambda folder: None)

    builder.kill()
    builder.join()
    assert len(lines) == 1
    assert "kafka" in lines[0]
