"""The quarantine as text for people, and as plain values for scripts."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from cdc.observe.quarantine_records import BadGroup, KeptRecord

NOTHING: Final = "nothing is in quarantine"
HEX: Final = "0x"


def group_lines(groups: Sequence[BadGroup]) -> Iterator[str]:
    """Write groups for people: one line of numbers, and one that says why."""
    if not groups:
        yield NOTHING
    for group in groups:
        place = _plain(group.table or group.topic)
        yield (
            f"{place}  records={group.records}  topic={_plain(group.topic)}  "
            f"offsets={_place(group.first)}..{_place(group.last)}  "
            f"times={group.first_time:%Y-%m-%dT%H:%M:%SZ}..{group.last_time:%Y-%m-%dT%H:%M:%SZ}  "
            f"replay={_replayable(group)}"
        )
        yield f"    {_plain(group.reason)}"


def group_values(group: BadGroup) -> dict[str, Any]:
    """Give a group for `--output json`."""
    times = {name: getattr(group, name).isoformat() for name in ("first_time", "last_time")}
    return {
        **asdict(group),
        "first": dict(zip(("partition", "offset"), group.first, strict=True)),
        "last": dict(zip(("partition", "offset"), group.last, strict=True)),
        **times,
    }


def record_lines(records: Sequence[KeptRecord]) -> Iterator[str]:
    """Write records for people."""
    if not records:
        yield NOTHING
    for record in records:
        schema = "" if record.schema_id is None else f"  schema_id={record.schema_id}"
        yield (
            f"{_plain(record.topic)}  partition={record.partition}  offset={record.offset}  "
            f"table={_plain(record.table or '-')}  time={record.time:%Y-%m-%dT%H:%M:%SZ}{schema}"
        )
        yield f"    reason  {_plain(record.reason)}"
        for name, content in (("key", record.key), ("value", record.value)):
            yield f"    {name:<6}  {_plain(readable(content) or 'null')}"


def record_values(record: KeptRecord) -> dict[str, Any]:
    """Give a record for `--output json`."""
    return {
        **asdict(record),
        "time": record.time.isoformat(),
        "key": readable(record.key),
        "value": readable(record.value),
    }


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


def _place(place: tuple[int, int]) -> str:
    return f"{place[0]}:{place[1]}"


def _replayable(group: BadGroup) -> str:
    if group.replayable is None:
        return "unknown, Kafka does not answer"
    if group.replayable == group.records:
        return "yes"
    lost = "Kafka has deleted what came after" + ("" if group.replayable == 0 else " the others")
    share = "no" if group.replayable == 0 else f"{group.replayable} of {group.records}"
    return f"{share}, {lost}"
