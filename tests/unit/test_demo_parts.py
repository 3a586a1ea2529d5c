"""The parts of the demo that need no server."""

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from cdc.cli import cli
from cdc.config import MirrorConfig, load_config
from cdc.demo.arrivals import SourceClock
from cdc.demo.folder import MARKER, open_folder
from cdc.demo.lines_to_paste import duckdb_lines, pyiceberg_lines, spark_lines
from cdc.demo.outcome import Outcome, outcome_lines
from cdc.demo.shop import FEWEST_ROWS, Sizes
from cdc.errors import DemoFolderError
from cdc.observe.comparison import Comparison, Kind, Sample

ODD = 'it\'s a "böse" folder; $HOME'


@pytest.fixture
def config(tmp_path: Path) -> MirrorConfig:
    """The config of a demo in a folder with an awkward name."""
    with open_folder(tmp_path / ODD) as folder:
        folder.write_config("127.0.0.1:9092")
        return load_config(folder.config)


def test_a_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    with open_folder(tmp_path / "a" / "b") as folder:
        assert folder.path == tmp_path / "a" / "b"


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder:
        assert folder.path == tmp_path


def test_a_folder_with_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text("mine")

    with pytest.raises(DemoFolderError) as raised, open_folder(tmp_path):
        pass

    assert raised.value.folder == str(tmp_path)
    assert raised.value.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["shop.toml"]
    assert (tmp_path / "shop.toml").read_text() == "mine"


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(DemoFolderError), open_folder(tmp_path / "file"):
        pass


def test_an_earlier_demo_is_cleared_and_what_the_user_added_is_kept(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder:
        folder.write_config("earlier")
        folder.log.touch()
        (tmp_path / "mirror" / "warehouse").mkdir(parents=True)
    (tmp_path / "notebook.ipynb").touch()

    with open_folder(tmp_path):
        found = {path.name for path in tmp_path.iterdir()}

    assert found == {MARKER, "notebook.ipynb"}


def test_a_folder_has_one_demo_at_a_time(tmp_path: Path) -> None:
    with open_folder(tmp_path) as first:
        first.write_config("first")
        with pytest.raises(DemoFolderError), open_folder(tmp_path):
            pass
        assert first.config.exists()

    with open_folder(tmp_path):
        pass


def test_the_command_refuses_a_foreign_folder_as_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()

    result = CliRunner().invoke(cli, ["demo", "--folder", str(tmp_path)])

    assert result.exit_code == 2
    assert str(tmp_path) in result.stderr


def test_without_java_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    result = CliRunner().invoke(cli, ["demo", "--folder", str(tmp_path / "demo")])

    assert result.exit_code == 1
    assert "openjdk-17" in result.stderr
    assert result.stdout == ""
    assert not (tmp_path / "demo").exists()


def test_the_config_is_short_and_puts_the_tables_beside_itself(
    config: MirrorConfig, tmp_path: Path
) -> None:
    text = (tmp_path / ODD / "shop.toml").read_text()

    assert len([line for line in text.splitlines() if line]) <= 10
    assert config.catalog.warehouse == str(tmp_path / ODD / "mirror" / "warehouse")


@pytest.mark.parametrize("rows", [1, FEWEST_ROWS, 1999, 50_000, 1_000_001])
def test_the_rows_are_shared_out_among_all_tables(rows: int) -> None:
    sizes = Sizes.of(rows)

    assert sizes.total == max(rows, FEWEST_ROWS)
    assert min(sizes.by_table().values()) >= 4


def test_pyiceberg_lines_are_python_with_the_right_paths(config: MirrorConfig) -> None:
    *_, open_catalog, _ = pyiceberg_lines(config)
    given: dict[str, Any] = {}

    exec(open_catalog, {"load_catalog": lambda name, **properties: given.update(properties)})

    assert given == config.catalog.properties()


def test_duckdb_lines_name_the_file_whatever_it_is_called(tmp_path: Path) -> None:
    path = str(tmp_path / ODD / "v1.metadata.json")
    *loading, query = duckdb_lines(f"file://{path}")

    assert all("INSTALL iceberg; LOAD iceberg;" in line for line in loading)
    scan = query[query.index("iceberg_scan(") + len("iceberg_scan(") : query.index(") GROUP")]
    assert duckdb.sql(f"SELECT {scan}").fetchone() == (path,)


def test_spark_lines_are_one_shell_command(
    config: MirrorConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jars").mkdir()
    for jar in ("iceberg.jar", "kafka-clients.jar"):
        (tmp_path / "jars" / jar).touch()
    monkeypatch.setenv("DATABASE_MIRROR_JARS", str(tmp_path / "jars"))

    words = shlex.split("\n".join(spark_lines(config)).replace("\\\n", " "))

    assert Path(words[0]).is_file()
    assert words[words.index("--jars") + 1] == str(tmp_path / "jars" / "iceberg.jar")
    assert f"spark.sql.catalog.shop.warehouse={config.catalog.warehouse}" in words
    assert words[-2] == "-e"


def test_outcomes_are_set_out_in_columns_and_differences_are_named() -> None:
    equal = Comparison(mirror_rows=12_000, source_rows=12_000)
    differing = Comparison(
        mirror_rows=2,
        source_rows=3,
        missing=1,
        changed=1,
        changed_columns={"status": 1},
        samples=(Sample(Kind.MISSING, (7, 1)), Sample(Kind.CHANGED, (8, 1), ("status",))),
    )

    lines = outcome_lines([Outcome("orders", equal, 1.234), Outcome("items", differing, 0.5)])

    assert lines == [
        "table   source rows  mirrored rows  differences  seconds behind",
        "orders       12,000         12,000            0             1.2",
        "items             3              2            2             0.5",
        "items: missing 1, changed 1 (columns: status in 1)",
        "  missing: key (7, 1)",
        "  changed: key (8, 1) in status",
    ]


def test_the_source_clock_dates_a_change_no_later_than_it_was() -> None:
    """The log grew from 100 to 200 between second 1 and second 2, and rested before."""
    answers = iter([(100, 0), (100, 1), (200, 2), (300, 3)])

    class Connection:
        def execute(self, statement: str) -> "Connection":
            return self

        def fetchone(self) -> tuple[int, datetime]:
            position, second = next(answers)
            return position, datetime.fromtimestamp(second, UTC)

    clock = SourceClock(Connection())  # type: ignore[arg-type]
    for _ in range(4):
        clock.note()

    assert clock.seconds_since(99, 5000) is None
    assert clock.seconds_since(100, 5000) == 4  # written from 100 on, after second 1
    assert clock.seconds_since(150, 5000) == 4
    assert clock.seconds_since(200, 5000) == 3
    assert clock.seconds_since(999, 5000) == 2
