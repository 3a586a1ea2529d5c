"""Every mirrored table against its source, and the story of the rows that differ."""

from collections.abc import Callable
from dataclasses import dataclass, field

from cdc.observe.comparison import Comparison, compare
from tests.chaos.mirror import Mirror
from tests.chaos.pipeline import Ends, Pipeline, history, sample_key
from tests.chaos.shapes import SHAPES, Shape

STORIES = 6  # of rows that differ, in all

Tell = Callable[[str], None]


@dataclass(slots=True)
class Verdict:
    """What the comparison of all tables found."""

    rows: int = 0
    lost: int = 0
    stale: int = 0
    duplicated: int = 0
    columns: int = 0  # that only one side has
    tables: dict[str, Comparison] = field(default_factory=dict)

    def add(self, name: str, found: Comparison) -> None:
        """Take in one table."""
        self.rows += found.source_rows
        self.lost += found.missing
        self.stale += found.extra + found.changed
        self.duplicated += found.duplicated
        self.columns += len(found.only_at_source) + len(found.only_in_mirror)
        self.tables[name] = found

    @property
    def differences(self) -> int:
        return self.lost + self.stale + self.duplicated + self.columns


def judge(verdict: Verdict, pipeline: Pipeline, mirror: Mirror, ends: Ends, tell: Tell) -> None:
    """Compare all tables of all kinds, value by value, and tell how each row came to differ."""
    sources = {shape.name: pipeline.rows(shape) for shape in SHAPES}
    stories = 0
    for kind in mirror.layout.kinds:
        mirrored = mirror.read(kind)
        for shape in SHAPES:
            found = compare(mirrored[shape.name], sources[shape.name], shape.key_names)
            verdict.add(f"{kind}/{shape.name}", found)
            only = f"; only at the source: {found.only_at_source}" if found.only_at_source else ""
            only += f"; only in the mirror: {found.only_in_mirror}" if found.only_in_mirror else ""
            tell(f"  {kind:<10} {shape.name:<12} {found.source_rows:>6} rows  {found}{only}")
            for sample in found.samples:
                if stories < STORIES:
                    stories += 1
                    _tell_story(pipeline, shape, sample.kind, sample.key, ends, tell)


def _tell_story(
    pipeline: Pipeline,
    shape: Shape,
    kind: str,
    values: tuple[object, ...],
    ends: Ends,
    tell: Tell,
) -> None:
    key = sample_key(shape, values)
    topic = pipeline.topic(shape.name)
    tell(f"    {kind} {key}; {topic}, partition/offset:")
    for place in history(pipeline.servers, topic, key, ends):
        tell(f"      {place}")
