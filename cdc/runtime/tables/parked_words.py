"""Word of parked tables for other processes, such as `status`.

It is kept where every process finds it, and a lost disk does not matter: in the catalog, in a
property of the mirror's own table, the quarantine. The parked tables themselves would not do: a
topic may have none yet, and one that belongs to somebody else must not be touched.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from cdc.errors import MirrorError
from cdc.model import PartitionMark, TargetId
from cdc.runtime.tables.quarantine import Quarantine
from cdc.state.parked import ParkedWord, read_words, words_property

logger = logging.getLogger(__name__)


class ParkedWords:
    """What is said of the parked tables of one mirror.

    A table that was parked when the last run ended counts as parked until it has gone on: it is
    tried again every few minutes, and would seem well each time for as long as that takes.
    """

    def __init__(self, quarantine: Quarantine) -> None:
        self._quarantine = quarantine
        self._left = read_words(quarantine.properties)
        self._words = {(word.topic, word.table): word for word in self._left}

    def park(
        self, target: TargetId, reason: MirrorError, marks: Mapping[int, PartitionMark]
    ) -> None:
        """Say that a table is parked; one that still is for the same reason is so since then."""
        topic, name = target
        word = ParkedWord(
            topic=topic,
            table=None if name is None else str(name),
            reason=str(reason),
            since=datetime.now(UTC).isoformat(timespec="seconds"),
            offsets={partition: mark.next_offset for partition, mark in sorted(marks.items())},
        )
        if self._words.get((topic, word.table)) != word:
            self._words[topic, word.table] = word

    def resume(self, target: TargetId) -> None:
        """Say that a table has gone on."""
        topic, name = target
        self._words.pop((topic, str(name)), None)
        self._words.pop((topic, None), None)

    def keep(self, true: Callable[[str, str | None], bool]) -> None:
        """Forget what is not true any more of a topic or one of its tables."""
        self._words = {place: word for place, word in self._words.items() if true(*place)}

    def leave(self) -> None:
        """Write down what has changed, in one commit. Done twice, it is done once.

        A catalog that refuses is no reason to stop: it is tried again after the next batch.
        """
        words = tuple(self._words[place] for place in sorted(self._words, key=str))
        if words == self._left:
            return
        try:
            self._quarantine.note(words_property(words))
            self._left = words
        except MirrorError as error:
            logger.warning("no word left of parked=%d reason=%s", len(words), error)
