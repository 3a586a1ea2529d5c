"""What a case is, and the list of all cases."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.conformance.model import Model, Rows
from tests.conformance.source import OWN, Action, Clock, Record, Row, Source, Step
from tests.unit.messages import Table, column

MODES = ("mirror", "soft", "append", "history")
# JSON with schemas, Avro with a registry, JSON without schemas.
FORMATS = ("json", "avro", "plain")

ITEMS = Table()  # id and name
DOCUMENTS = Table((*ITEMS.columns, column("body", "string")))

Reading = Callable[[Any], Any]


@dataclass(frozen=True)
class Script:
    """A case as one system is given it: its batches and its tables."""

    steps: tuple[Step, ...]
    sources: tuple[Source, ...]

    def records(self, source: Source) -> list[Record]:
        """List the records of one table, in the order in which they are read."""
        steps = self.steps[:1] if source.stopped else self.steps
        name = source.table.name
        return [record for step in steps for record in step.records if record.table.name == name]


@dataclass(frozen=True, eq=False)
class Case:
    """One behaviour: what the source does, and what a table of each mode must hold then."""

    tell: Callable[[Source], None]
    # The complaints about other tools that it answers, as PEERS.md numbers them.
    answers: tuple[str, ...] = ()
    table: Table = ITEMS
    # Settings of the table, in the names of a config's rules.
    rule: Mapping[str, Any] = field(default_factory=dict)
    modes: tuple[str, ...] = MODES
    formats: tuple[str, ...] = FORMATS
    # What a reader sees of the values of a column.
    readings: Mapping[str, Reading] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The behaviour."""
        return self.tell.__name__

    @property
    def story(self) -> str:
        """What the source does, in words."""
        return " ".join((self.tell.__doc__ or "").split())

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that tell rows apart."""
        return tuple(self.rule.get("key", ())) or self.table.key

    def play(self, server: str) -> Script:
        """Tell the story to a system, under a server name of its own."""
        clock = Clock()
        source = Source(replace(self.table, name=self.name, server=server), clock)
        self.tell(source)
        for made in source.sources:
            first = [r.partition for r in clock.steps[0].records if r.table.name == made.table.name]
            grows = any(a.kind == "topic" for step in clock.steps for a in step.actions)
            used = first if grows else [r.partition for step in clock.steps for r in step.records]
            clock.steps[0].actions.append(Action("topic", made.table.name, max(used) + 1))
        return Script(tuple(clock.steps), tuple(source.sources))

    def targets(self, mode: str) -> list[tuple[str, str]]:
        """List what is appended to the names of its tables, and the mode of each."""
        rules = self.rule.get("targets", ({"table": "{table}"},))
        found = []
        for rule in rules:
            own = "soft" if "on_delete" in rule else rule.get("mode", mode)
            found.append((rule["table"].rpartition("{table}")[2], own))
        return found

    def model(self, script: Script, source: Source) -> Model:
        """Give the model of a table that has read all its records."""
        chosen = "key" in self.rule
        model = Model(self.key, self.rule.get("exclude", ()), chosen=chosen)
        model.read(script.records(source))
        return model

    def expected(self, script: Script, source: Source, mode: str) -> Rows:
        """Say what a table of a mode must hold, as a reader sees it."""
        found: Any = source.special.get(mode)
        if found is None:
            found = getattr(self.model(script, source), mode)()
        return [self.read(row, source) for row in found]

    def read(self, row: Row, source: Source) -> dict[str, Any]:
        """Turn a row of messages into one of tables; what is excluded is not in it."""
        columns = [name for name in source.columns if name not in self.rule.get("exclude", ())]
        read = {name: row.get(name) for name in columns}
        for name, reading in self.readings.items():
            if read[name] is not None:
                read[name] = reading(read[name])
        return read | {name: value for name, value in row.items() if name.startswith(OWN)}


CASES: dict[str, Case] = {}


def case(
    *answers: str, **more: Any
) -> Callable[[Callable[[Source], None]], Callable[[Source], None]]:
    """Make a function a case; `more` are the other parts of `Case`."""

    def register(tell: Callable[[Source], None]) -> Callable[[Source], None]:
        add(Case(tell, answers, **more))
        return tell

    return register


def add(made: Case) -> None:
    """Put a case on the list."""
    assert made.name not in CASES, made.name
    assert made.story, made.name
    CASES[made.name] = made
