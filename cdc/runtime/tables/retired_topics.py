"""Topics whose tables were renamed or dropped: their old records must make no table anew.

It is kept beside the word of parked tables, in the properties of the quarantine's table. A topic is
noted before its tables are touched, so that a run which is cut off in between is recognised.
"""

import uuid
from collections.abc import Mapping
from dataclasses import replace

from cdc.model import TableName
from cdc.runtime.tables.quarantine import Quarantine
from cdc.state.left_topics import RetiredTopic, read_retired, retired_property
from cdc.state.source_identity import REPLACED_PROPERTY, Moment


class RetiredTopics:
    """The topics that one mirror has left."""

    def __init__(self, quarantine: Quarantine) -> None:
        self._quarantine = quarantine
        self._topics = read_retired(quarantine.properties)

    def __contains__(self, topic: str) -> bool:
        return topic in self._topics

    def get(self, topic: str) -> RetiredTopic | None:
        """Give what is known of a topic, if it was left."""
        return self._topics.get(topic)

    @property
    def unfinished(self) -> list[RetiredTopic]:
        """Those whose tables may not have been touched yet."""
        return [topic for topic in self._topics.values() if not topic.done]

    def floor(self, topic: str) -> Mapping[int, int]:
        """Say where a topic starts for a table that is made for it now."""
        left = self._topics.get(topic)
        return left.offsets if left is not None else {}

    def location(self, topic: str, name: TableName) -> str | None:
        """Choose a folder that no table has which had that name before, if there was one."""
        left = self._topics.get(topic)
        levels = (*name.namespace, name.table)
        for table in left.tables if left is not None else ():
            if table.name == levels:
                return f"{table.location}-{uuid.uuid4().hex[:12]}"
        return None

    def replaced_property(self, topic: str) -> dict[str, str]:
        """Give the property that keeps what came late of a dropped table from a new one."""
        left = self._topics.get(topic)
        if left is None or left.position is None:
            return {}
        return {REPLACED_PROPERTY: Moment(left.when, left.position, left.time).text()}

    def note(self, topic: RetiredTopic) -> None:
        """Note a topic, in one commit. Done twice, it is done once."""
        self._leave({**self._topics, topic.topic: topic})

    def finish(self, topic: str) -> None:
        """Note that all of a topic's tables are where they belong."""
        self._leave({**self._topics, topic: replace(self._topics[topic], done=True)})

    def cancel(self, topic: str) -> None:
        """Forget a topic whose tables were not touched."""
        self._leave({name: left for name, left in self._topics.items() if name != topic})

    def _leave(self, topics: dict[str, RetiredTopic]) -> None:
        self._quarantine.note(retired_property(topics.values()))
        self._topics = topics
