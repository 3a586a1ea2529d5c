"""Records that are no Debezium changes: named by their offset, and no other record suffers."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from cdc.decode import DecodePlan, decode_changes
from cdc.errors import AvroTopicError, MirrorError
from cdc.model import BadRecord
from connectors import DIALECTS
from tests.unit.messages import (
    ORDERS,
    Message,
    arrays,
    change,
    delete,
    insert,
    planned,
    read_recorded,
)

POSTGRES = DIALECTS["postgres"]
GOOD = [insert({"id": place, "name": "x"}, offset=place + 10) for place in range(4)]
BAD_PLACE = 2  # of the four records
PLAN = planned(GOOD, POSTGRES)
UNPLANNED = DecodePlan(ORDERS.topic, POSTGRES)


def value_of(message: Message) -> bytes:
    assert message.value is not None
    return message.value


def replace_part(message: Message, part: str, text: bytes) -> Message:
    return replace(message, key=text) if part == "key" else replace(message, value=text)


def with_bad(text: bytes, part: str = "value") -> list[Message]:
    """Put one bad record among good ones."""
    messages = list(GOOD)
    messages[BAD_PLACE] = replace_part(messages[BAD_PLACE], part, text)
    return messages


def failure(messages: list[Message], plan: DecodePlan = PLAN) -> BadRecord:
    """Give the one record that cannot be read; all others must have been."""
    decoded = decode_changes(5, *arrays(messages), plan)
    (bad,) = decoded.bad_records
    if plan.table is not None:
        rest = sum(len(part) for part in decoded.changes) + decoded.tombstones
        assert rest == len(messages) - 1
    return bad


def edited(path: tuple[str, ...], value: Any) -> bytes:
    """Write the bad record's value with one part of it replaced; None removes the part."""
    whole = json.loads(value_of(GOOD[BAD_PLACE]))
    part = whole
    for name in path[:-1]:
        part = part[name]
    if value is None:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return json.dumps(whole, separators=(",", ":")).encode()


@pytest.mark.parametrize("plan", [PLAN, UNPLANNED], ids=["known", "unknown"])
@pytest.mark.parametrize(
    "value",
    [
        b"",
        b" ",
        b"{",
        b"null",
        b"5",
        b"[]",
        b"{}",
        b'"text"',
        b"not json at all",
        b"\xff\xfe\xfd",
        b'{"schema":{}',
        b'{"schema":{},"payload":{}}',
        b'{"schema":[],"payload":{}}',
        b'{"schema":5,"payload":{}}',
        b'{"schema":"x","payload":{}}',
        b'{"schema":{"fields":5},"payload":{}}',
        b'{"schema":{"fields":[5]},"payload":{}}',
        b'{"schema":{"fields":["op"]},"payload":{}}',
        b'{"schema":{"fields":[{"field":[]}]},"payload":{}}',
        b'{"schema":{"type":"string"},"payload":"hello"}',
        b'{"payload":' + b"[" * 100_000,
        b'{"payload":{},"schema":' + b'{"a":' * 100_000,
        b'{"schema":{"fields":[]},"payload":' + b"9" * 5000 + b"}",
    ],
    ids=lambda value: value[:40].decode(errors="replace") if isinstance(value, bytes) else None,
)
def test_a_value_that_is_no_change_names_its_offset(value: bytes, plan: DecodePlan) -> None:
    error = failure(with_bad(value), plan)

    assert error.offset == 12


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("payload",), []),
        (("payload",), 5),
        (("payload",), "text"),
        (("payload", "op"), None),
        (("payload", "op"), "x"),
        (("payload", "op"), "m"),
        (("payload", "op"), ""),
        (("payload", "op"), "cc"),
        (("payload", "op"), 5),
        (("payload", "op"), {}),
        (("payload", "after"), None),
        (("payload", "after"), []),
        (("payload", "after"), "text"),
        (("payload", "after"), {"id": "one"}),
        (("payload", "after"), {"id": 1, "name": 5}),
        (("payload", "after"), {"id": 2**63}),
        (("payload", "source"), []),
        (("payload", "source"), "text"),
        (("payload", "source", "lsn"), "text"),
        (("payload", "source", "table"), 5),
        (("schema", "fields"), []),
        (("schema", "fields"), {}),
    ],
)
def test_a_part_of_the_wrong_kind_names_its_offset(path: tuple[str, ...], value: Any) -> None:
    error = failure(with_bad(edited(path, value)))

    assert error.offset == 12


@pytest.mark.parametrize("op", ["c", "u", "r"])
def test_a_change_that_should_have_a_row_and_has_none_is_refused(op: str) -> None:
    error = failure([GOOD[0], change(op, {"id": 1}, None, offset=11)])

    assert error.offset == 11


@pytest.mark.parametrize(
    "key",
    [
        b"",
        b"1",
        b"Struct{id=1}",
        b"{}",
        b"\xff",
        b'{"payload":' + b"[" * 100_000,
    ],
    ids=lambda key: key[:40].decode(errors="replace") if isinstance(key, bytes) else None,
)
def test_a_key_that_cannot_be_read_names_its_offset(key: bytes) -> None:
    error = failure(with_bad(key, "key"))

    assert error.offset == 12


@pytest.mark.parametrize("payload", [b"5", b"[]", b'{"id":"one"}', b'{"id":1.5e999}', b'{"id"'])
def test_a_deleted_rows_key_of_the_wrong_kind_names_its_offset(payload: bytes) -> None:
    deleted = delete({"id": 5}, offset=12)
    assert deleted.key is not None
    schema = deleted.key.split(b',"payload":')[0]
    messages = [*GOOD[:2], delete({"id": 4}, offset=11), deleted]
    messages[3] = replace(deleted, key=schema + b',"payload":' + payload + b"}")

    error = failure(messages)

    assert error.offset == 12


@pytest.mark.parametrize("place", [0, 1, 3])
def test_the_offset_is_right_wherever_the_bad_record_stands(place: int) -> None:
    messages = list(GOOD)
    messages[place] = replace(messages[place], value=b"{}")

    error = failure(messages)

    assert error.offset == 10 + place


def test_the_offset_is_right_behind_tombstones() -> None:
    messages = with_bad(edited(("payload", "op"), "x"))
    messages[0] = replace(messages[0], value=None)

    error = failure(messages)

    assert error.offset == 12


AVRO = b"\x00\x00\x00\x00\x07\x02\x06abc"


def test_a_topic_of_avro_without_a_registry_is_named_as_such() -> None:
    messages = [replace(message, value=AVRO) for message in GOOD]

    with pytest.raises(AvroTopicError) as raised:
        decode_changes(5, *arrays(messages), PLAN)

    assert raised.value.offset == 10


def test_avro_among_json_without_a_registry_is_a_bad_record() -> None:
    error = failure(with_bad(AVRO))

    assert error.offset == 12
    assert "registry" in error.reason


@pytest.mark.parametrize(
    "value",
    [
        json.dumps(json.loads(value_of(GOOD[BAD_PLACE]))["payload"]).encode(),
        b'{"schema": null, "payload": {"op": "c"}}',
    ],
    ids=["bare", "null"],
)
def test_a_change_without_a_schema_is_named_as_such(value: bytes) -> None:
    error = failure(with_bad(value))

    assert error == BadRecord(12, "it has no schema")


def mutated(value: bytes, random_: random.Random) -> bytes:
    """Damage a message in one of the ways in which bytes get damaged."""
    place = random_.randrange(len(value))
    match random_.randrange(7):
        case 0:
            return value[:place]
        case 1:
            return value[place:]
        case 2:
            return value[:place] + bytes([random_.randrange(128)]) + value[place + 1 :]
        case 3:
            return value[:place] + value[place + random_.randrange(1, 50) :]
        case 4:
            return value[:place] + random_.choice(TOKENS) + value[place:]
        case 5:
            old = random_.choice(TOKENS)
            return value.replace(old, random_.choice(TOKENS), random_.randrange(1, 4))
        case _:
            end = place + random_.randrange(1, 200)
            return value[:end] + value[place:end] + value[end:]


TOKENS = [
    *(
        b"null",
        b"true",
        b"0",
        b"-1",
        b"1e999",
        b"99999999999999999999",
        b'""',
        b'"x"',
        b"[]",
        b"{}",
    ),
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\n", b"\x00", b'"op":"c"', b'"op":"d"'),
    *(b'"after":', b'"before":', b'"source":', b'"payload":', b'"schema":', b'"field":"id"'),
    *(b'"int32"', b'"int64"', b'"string"', b'"bytes"', b'"struct"', b'"array"', b'"map"'),
]
FUZZED = ["pgj.app.composite_pk", "pgj.app.evolve", "pgj.app.trunc", "pgj.app.toast_full"]


@pytest.mark.parametrize(
    ("part", "seed"), [*(("value", seed) for seed in range(4)), ("key", 0), ("key", 1)]
)
def test_damaged_bytes_are_decoded_or_refused_and_never_break_the_decoder(
    part: str, seed: int
) -> None:
    random_ = random.Random(f"{part} {seed}")
    recorded = read_recorded("pg_json.jsonl")
    topics = [recorded[name] for name in FUZZED]
    plans = {topic[0].topic: planned(topic[:2], POSTGRES) for topic in topics}
    broken = []

    for _ in range(500):
        messages = list(random_.choice(topics)[:3])
        place = random_.randrange(len(messages))
        whole = getattr(messages[place], part)
        if whole is None:
            continue
        damaged = mutated(whole, random_)
        messages[place] = replace_part(messages[place], part, damaged)
        try:
            decoded = decode_changes(0, *arrays(messages), plans[messages[0].topic])
            if any(bad.offset != messages[place].offset for bad in decoded.bad_records):
                broken.append((damaged, str(decoded.bad_records)))
        except MirrorError:
            pass
        except Exception as error:
            broken.append((damaged, repr(error)))

    assert broken == []
