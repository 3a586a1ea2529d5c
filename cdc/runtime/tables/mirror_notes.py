"""What a mirror notes for later runs and for other processes: parked tables, topics that it left.

It is kept where every process finds it, and a lost disk does not matter: in the catalog, in
properties of the mirror's own table, the quarantine. The parked tables themselves would not do: a
topic may have none yet, and one that belongs to somebody else must not be touched.
"""

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from cdc.errors import MirrorError
from cdc.model import PartitionMark, TableName, TargetId
from cdc.runtime.tables.quarantine import Quarantine
from cdc.state.left_topics import LeftTopic, left_topics_property
from cdc.state.parked import ParkedTable, parked_property
from cdc.state.source_identity import Moment

logger = logging.getLogger(__name__)


class ParkedNotes:
    """The parked tables of one mirror, for `status` and other processes.

    A table that was parked when the last run ended counts as parked until it has gone on: it is
    tried again every few minutes, and would seem well each time for as long as that takes.
    """

    def __init__(self, quarantine: Quarantine) -> None:
        self._quarantine = quarantine
        self._saved = quarantine.state.parked
        self._notes = {(note.topic, note.table): note for note in self._saved}

    def park(
        self, target: TargetId, reason: MirrorError, marks: Mapping[int, PartitionMark]
    ) -> None:
        """Note that a table is parked; one that still is for the same reason is so since then."""
        topic, name = target
        note = ParkedTable(
            topic=topic,
            table=None if name is None else str(name),
            reason=str(reason),
            since=datetime.now(UTC).isoformat(timespec="seconds"),
            offsets={partition: mark.next_offset for partition, mark in sorted(marks.items())},
        )
        if self._notes.get((topic, note.table)) != note:
            self._notes[topic, note.table] = note

    def resume(self, target: TargetId) -> None:
        """Note that a table has gone on."""
        topic, name = target
        self._notes.pop((topic, str(name)), None)
        self._notes.pop((topic, None), None)

    def keep(self, true: Callable[[str, str | None], bool]) -> None:
        """Forget what is not true any more of a topic or one of its tables."""
        self._notes = {place: note for place, note in self._notes.items() if true(*place)}

    def save(self) -> None:
        """Write down what has changed, in one commit. Done twice, it is done once.

        A catalog that refuses is no reason to stop: it is tried again after the next batch.
        """
        notes = tuple(self._notes[place] for place in sorted(self._notes, key=str))
        if notes == self._saved:
            return
        try:
            self._quarantine.note(parked_property(notes))
            self._saved = notes
        except MirrorError as error:
            logger.warning("parked tables not noted parked=%d reason=%s", len(notes), error)


class LeftTopics:
    """The topics that one mirror has left: their old records must make no table anew.

    A topic is noted before its tables are touched, so that a run which is cut off in between is
    recognised.
    """

    def __init__(self, quarantine: Quarantine) -> None:
        self._quarantine = quarantine
        self._topics = dict(quarantine.state.left)

    def __contains__(self, topic: str) -> bool:
        return topic in self._topics

    def get(self, topic: str) -> LeftTopic | None:
        """Give what is known of a topic, if it was left."""
        return self._topics.get(topic)

    @property
    def unfinished(self) -> list[LeftTopic]:
        """Those whose tables may not have been touched yet."""
        return [topic for topic in self._topics.values() if not topic.done]

    def first_offsets(self, topic: str) -> Mapping[int, int]:
        """Say where a topic starts for a table that is made for it now."""
        left = self._topics.get(topic)
        return left.offsets if left is not None else {}

    def location(self, topic: str, name: TableName) -> str | None:
        """Choose a folder that no table has which had that name before, if there was one."""
        left = self._topics.get(topic)
        for table in left.tables if left is not None else ():
            if table.name == name:
                return f"{table.location}-{uuid.uuid4().hex[:12]}"
        return None

    def replaced(self, topic: str) -> Moment | None:
        """Give the moment that keeps what came late of a dropped table from a new one."""
        left = self._topics.get(topic)
        if left is None or left.position is None:
            return None
        return Moment(left.when, left.position, left.time)

    def note(self, topic: LeftTopic) -> None:
        """Note a topic, in one commit. Done twice, it is done once."""
        self._save({**self._topics, topic.topic: topic})

    def finish(self, topic: str) -> None:
        """Note that all of a topic's tables are where they belong."""
        self._save({**self._topics, topic: replace(self._topics[topic], done=True)})

    def cancel(self, topic: str) -> None:
        """Forget a topic whose tables were not touched."""
        self._save({name: left for name, left in self._topics.items() if name != topic})

    def _save(self, topics: dict[str, LeftTopic]) -> None:
        self._quarantine.note(left_topics_property(topics.values()))
        self._topics = topics
