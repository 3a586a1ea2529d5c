"""The records in quarantine as text for people, and as plain values for scripts."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

NOTHING: Final = "nothing is in quarantine"
HEX: Final = "0x"
TIME: Final = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, slots=True)
class QuarantinedGroup:
    """The records of one table that are bad for the same cause."""

    table: str | None
    topic: str
    reason: str  # that of the first of them
    records: int
    first: tuple[int, int]  # partition and offset
    last: tuple[int, int]
    first_time: datetime
    last_time: datetime
    # How many can be replayed as far as Kafka is concerned; None where it does not answer.
    replayable: int | None


@dataclass(frozen=True, slots=True)
class QuarantinedRecord:
    """One record, whole."""

    table: str | None
    topic: str
    partition: int
    offset: int
    reason: str
    schema_id: int | None
    time: datetime
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class GroupPage:
    """What `quarantine list` shows."""

    groups: Sequence[QuarantinedGroup]

    exit_code = 0

    def lines(self) -> Iterator[str]:
        """Write groups for people: one line of numbers, and one that says why."""
        if not self.groups:
            yield NOTHING
        for group in self.groups:
            (p, offset), (last_p, last) = group.first, group.last
            yield (
                f"{_plain(group.table or group.topic)}  records={group.records}  "
                f"topic={_plain(group.topic)}  offsets={p}:{offset}..{last_p}:{last}  "
                f"times={group.first_time:{TIME}}..{group.last_time:{TIME}}  "
                f"replay={_replayable(group)}"
            )
            yield f"    {_plain(group.reason)}"

    def as_json(self) -> list[dict[str, Any]]:
        """Give the groups for `--output json`."""
        return [
            {
                **asdict(group),
                "first": dict(zip(("partition", "offset"), group.first, strict=True)),
                "last": dict(zip(("partition", "offset"), group.last, strict=True)),
                "first_time": group.first_time.isoformat(),
                "last_time": group.last_time.isoformat(),
            }
            for group in self.groups
        ]


@dataclass(frozen=True, slots=True)
class RecordPage:
    """What `quarantine show` shows."""

    records: Sequence[QuarantinedRecord]

    exit_code = 0

    def lines(self) -> Iterator[str]:
        """Write records for people."""
        if not self.records:
            yield NOTHING
        for record in self.records:
            schema = "" if record.schema_id is None else f"  schema_id={record.schema_id}"
            yield (
                f"{_plain(record.topic)}  partition={record.partition}  offset={record.offset}  "
                f"table={_plain(record.table or '-')}  time={record.time:{TIME}}{schema}"
            )
            yield f"    reason  {_plain(record.reason)}"
            for name, content in (("key", record.key), ("value", record.value)):
                yield f"    {name:<6}  {_plain(readable(content) or 'null')}"

    def as_json(self) -> list[dict[str, Any]]:
        """Give the records for `--output json`."""
        return [
            {
                **asdict(record),
                "time": record.time.isoformat(),
                "key": readable(record.key),
                "value": readable(record.value),
            }
            for record in self.records
        ]


def readable(content: bytes | None) -> str | None:
    """Write bytes as the text that they are, or else in hexadecimal digits."""
    if content is None:
        return None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return HEX + content.hex()
    # Avro in Confluent's form begins with a zero byte, and may well be UTF-8 by chance.
    return HEX + content.hex() if "\0" in text else text


def _plain(text: str) -> str:
    """Keep control characters of a record from reaching the terminal."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def _replayable(group: QuarantinedGroup) -> str:
    if group.replayable is None:
        return "unknown, Kafka does not answer"
    if group.replayable == group.records:
        return "yes"
    lost = "Kafka has deleted what came after" + ("" if group.replayable == 0 else " the others")
    share = "no" if group.replayable == 0 else f"{group.replayable} of {group.records}"
    return f"{share}, {lost}"
