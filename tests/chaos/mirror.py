"""The mirror as a process of its own, its config, and what it leaves in its tables."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog, load_catalog

from cdc.config import MirrorConfig, load_config
from cdc.downloads.processes import Command, Process, Processes
from cdc.model import Account
from cdc.state.ledger import Ledger
from cdc.state.names import LEDGER_PROPERTY
from tests.chaos.pipeline import Pipeline
from tests.chaos.shapes import SHAPES, Shape
from tests.java_classes import SPARK_OPTIONS
from tests.patience import PATIENCE_SECONDS, wait_until

ROOT = Path(__file__).parents[2]
# Not the installed script, which may belong to another copy of this code.
PROGRAM = (sys.executable, "-c", "from cdc.cli import main; main()")
ONCE_SECONDS = 900.0
LAST_LINES = 40


class Deletes(StrEnum):
    """The kinds of deletes whose mirrors are compared with the source."""

    POSITIONAL = "positional"
    EQUALITY = "equality"


class MirrorFailed(Exception):
    """The mirror ended by itself, or left a table alone."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What a mirror is asked for."""

    kinds: tuple[Deletes, ...] = tuple(Deletes)
    max_records: int = 20_000
    trigger: str = "1 second"
    renames: Mapping[str, str] = field(default_factory=dict)  # of the columns of all tables

    def namespace(self, pipeline: Pipeline, kind: Deletes) -> str:
        """Name the namespace that holds the tables of a kind."""
        return pipeline.name if kind is Deletes.POSITIONAL else f"{pipeline.name}_eq"

    def config(self, pipeline: Pipeline) -> str:
        """Write the config file."""
        rules = "\n".join(self._rule(pipeline, shape) for shape in SHAPES)
        topics = json.dumps([pipeline.topic(shape.name) for shape in SHAPES])
        return f"""
name = "chaos"
[source]
connector = "{pipeline.database}"
topics = {topics}
[kafka]
"bootstrap.servers" = "{pipeline.servers}"
[stream]
trigger = "{self.trigger}"
max_records = {self.max_records}
{rules}
"""

    def _rule(self, pipeline: Pipeline, shape: Shape) -> str:
        lines = [f'[[tables.rules]]\nmatch = "{pipeline.schema}.{shape.name}"']
        if not shape.declared:
            lines.append(f"key = {json.dumps(shape.key_names)}")
        if shape.layout:
            lines.append(f"partition = {json.dumps(shape.layout)}")
        if self.renames:
            pairs = ", ".join(f'{old} = "{new}"' for old, new in self.renames.items())
            lines.append(f"renames = {{ {pairs} }}")
        targets = [
            f'{{ table = "{self.namespace(pipeline, kind)}.{{table}}", deletes = "{kind}" }}'
            for kind in self.kinds
        ]
        lines.append(f"targets = [{', '.join(targets)}]")
        return "\n".join(lines)


class Mirror:
    """`database-mirror run` in a folder; a context manager that leaves nothing running."""

    def __init__(self, folder: Path, pipeline: Pipeline, layout: Layout) -> None:
        self.folder = folder
        self.layout = layout
        self.pipeline = pipeline
        self.config = folder / "chaos.toml"
        self.log = folder / "run.log"
        folder.mkdir(parents=True, exist_ok=True)
        self.config.write_text(layout.config(pipeline))
        self._processes = Processes(Path(tempfile.gettempdir()))
        self._process: Process | None = None
        self._batches_at_start = 0

    @property
    def settings(self) -> MirrorConfig:
        return load_config(self.config)

    def catalog(self) -> Catalog:
        """Open the catalog as pyiceberg does."""
        return load_catalog("chaos", **self.settings.catalog.properties())

    def start(self, *options: str) -> None:
        """Start it; nothing of it may be running."""
        self._batches_at_start = self.batches()
        with self.log.open("a") as log:
            log.write(f"--- start {' '.join(options)}\n")
        command = Command(
            argv=[*PROGRAM, "run", str(self.config), *options],
            log=self.log,
            cwd=self.folder,
            env=environment(),
        )
        self._process = self._processes.spawn(command)

    def exit_code(self) -> int | None:
        """Give the exit code, or None while it runs."""
        return self._process.poll() if self._process else None

    def kill(self, *, alone: bool = False) -> None:
        """Kill it with SIGKILL: with all its processes, or the command alone.

        Alone, its JVM may live on for a moment and finish the commit in hand while the next mirror
        starts.
        """
        assert self._process is not None
        if alone:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait(10)
        else:
            self._process.kill()

    def wait_for_batch(self) -> None:
        """Wait until it has applied something since it was started."""
        before = self._batches_at_start
        ready = lambda: self.batches() > before or self.exit_code() is not None  # noqa: E731
        if not wait_until(ready) or self.exit_code() is not None:
            raise MirrorFailed(f"the mirror did not get to work:\n{self.last_lines()}")

    def stop(self) -> None:
        """Ask it to end after the batch in hand."""
        assert self._process is not None
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGTERM)
            self._process.wait(PATIENCE_SECONDS)
        code = self._process.poll()
        self._process.kill()
        if code != 0:
            raise MirrorFailed(f"the mirror ended with {code}:\n{self.last_lines()}")

    def once(self) -> None:
        """Run until the topics are read up."""
        self.start("--once")
        assert self._process is not None
        code = self._process.wait(ONCE_SECONDS)
        self._process.kill()
        if code != 0:
            raise MirrorFailed(f"run --once ended with {code}:\n{self.last_lines()}")

    def check(self) -> None:
        """See that no table was left alone, at any time."""
        text = self.log.read_text(errors="replace")
        parked = [line for line in text.splitlines() if "parked topic=" in line]
        if parked:
            raise MirrorFailed("a table was parked:\n" + "\n".join(parked[-5:]))

    def batches(self) -> int:
        """Count the batches that the log tells of."""
        return self.log.read_text(errors="replace").count(" batch=") if self.log.exists() else 0

    def last_lines(self) -> str:
        """Give the end of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LAST_LINES:])

    def read(self, kind: Deletes) -> Mapping[str, pa.Table]:
        """Read all tables of a kind: pyiceberg where it can, else Spark."""
        namespace = self.layout.namespace(self.pipeline, kind)
        if kind is Deletes.POSITIONAL:
            catalog = self.catalog()
            return {
                shape.name: catalog.load_table((namespace, shape.name)).scan().to_arrow()
                for shape in SHAPES
            }
        with tempfile.TemporaryDirectory() as folder:
            program = [sys.executable, "-m", "tests.chaos.spark_reader"]
            done = subprocess.run(
                [*program, str(self.config), namespace, folder],
                cwd=ROOT,
                env=environment(),
                capture_output=True,
                text=True,
            )
            if done.returncode != 0:
                raise MirrorFailed(f"Spark does not read it:\n{done.stderr[-3000:]}")
            names = [shape.name for shape in SHAPES]
            return {name: pq.read_table(Path(folder) / f"{name}.parquet") for name in names}

    def close(self) -> None:
        """End it, in the middle of a batch if need be. Safe to repeat."""
        self._processes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def environment() -> dict[str, str]:
    """Give the environment of a process that runs this very code."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("DATABASE_MIRROR_RUN_")}
    own.setdefault("SPARK_SUBMIT_OPTS", SPARK_OPTIONS)
    return own | {"PYTHONPATH": str(ROOT)}


@dataclass(slots=True)
class Books:
    """The ledgers of all commits, kept also when their snapshots expire.

    A snapshot has one ledger for ever, so that it counts once however often it is seen.
    """

    file: Path
    ledgers: dict[tuple[str, int], Ledger] = field(default_factory=dict)

    def load(self) -> None:
        """Take in what others wrote into the file."""
        if self.file.exists():
            for line in self.file.read_text().splitlines():
                entry: dict[str, Any] = json.loads(line)
                place = (entry["table"], entry["snapshot"])
                self.ledgers[place] = Ledger.from_json(entry["ledger"])

    def note(self, name: str, table: Any) -> None:
        """Write down the ledgers of all snapshots that a table has."""
        with self.file.open("a") as file:
            for snapshot in table.metadata.snapshots:
                place = (name, snapshot.snapshot_id)
                text = snapshot.summary.additional_properties.get(LEDGER_PROPERTY)
                if text is not None and place not in self.ledgers:
                    self.ledgers[place] = Ledger.from_json(text)
                    entry = {"table": name, "snapshot": snapshot.snapshot_id, "ledger": text}
                    file.write(json.dumps(entry) + "\n")

    def account(self, namespace: str) -> Account:
        """Add up what the commits of all tables of a namespace say."""
        total = Account()
        for (name, _), ledger in self.ledgers.items():
            if name.startswith(f"{namespace}."):
                total += ledger.account
        return total
