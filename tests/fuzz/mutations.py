"""The ways in which messages get damaged."""

import random
from collections.abc import Callable

Mutation = Callable[[bytes, random.Random], bytes]

DEEP = 200_000
LONG = 10_000_000
TOKENS = [
    *(b"null", b"true", b"0", b"-1", b"1e999", b"99999999999999999999", b'""', b'"x"', b"[]"),
    *(b"{}", b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\n", b"\x00", b"\xff"),
    *(b'"op":"c"', b'"op":"d"', b'"op":"t"', b'"after":', b'"before":', b'"source":'),
    *(b'"payload":', b'"schema":', b'"field":"id"', b'"int32"', b'"int64"', b'"string"'),
    *(b'"bytes"', b'"struct"', b'"array"', b'"map"', b'"NaN"', b'"\\ud800"'),
]


def cut(value: bytes, dice: random.Random) -> bytes:
    return value[: dice.randrange(len(value))]


def beheaded(value: bytes, dice: random.Random) -> bytes:
    return value[dice.randrange(1, len(value) + 1) :]


def bit_flipped(value: bytes, dice: random.Random) -> bytes:
    damaged = bytearray(value)
    for _ in range(dice.choice([1, 1, 1, 2, 8])):
        damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
    return bytes(damaged)


def spliced(value: bytes, dice: random.Random) -> bytes:
    place = dice.randrange(len(value))
    return value[:place] + value[place + dice.randrange(1, 50) :]


def doubled(value: bytes, dice: random.Random) -> bytes:
    place = dice.randrange(len(value))
    end = place + dice.randrange(1, 200)
    return value[:end] + value[place:end] + value[end:]


def with_token(value: bytes, dice: random.Random) -> bytes:
    place = dice.randrange(len(value) + 1)
    return value[:place] + dice.choice(TOKENS) + value[place:]


def token_replaced(value: bytes, dice: random.Random) -> bytes:
    return value.replace(dice.choice(TOKENS), dice.choice(TOKENS), dice.randrange(1, 4))


def wrong_magic(value: bytes, dice: random.Random) -> bytes:
    return bytes([dice.randrange(256)]) + value[1:]


def unknown_id(value: bytes, dice: random.Random) -> bytes:
    return b"\x00" + dice.choice([0, 77, 4_000_000_000, 123_456]).to_bytes(4, "big") + value[5:]


def other_id(value: bytes, dice: random.Random) -> bytes:
    """Name a schema that exists and is another one."""
    return b"\x00" + dice.randrange(1, 40).to_bytes(4, "big") + value[5:]


def duplicate_keys(value: bytes, dice: random.Random) -> bytes:
    place = value.find(b'{"', dice.randrange(len(value)))
    name = dice.choice([b'"op":"c",', b'"after":null,', b'"id":1,', b'"id":"x",', b'"payload":{},'])
    return value if place < 0 else value[: place + 1] + name * 2 + value[place + 1 :]


def invalid_utf8(value: bytes, dice: random.Random) -> bytes:
    place = dice.randrange(len(value))
    return value[:place] + dice.choice([b"\xff", b"\xc3\x28", b"\xed\xa0\x80"]) + value[place:]


def deep(value: bytes, dice: random.Random) -> bytes:
    place = dice.randrange(len(value))
    nest = dice.choice([b"[", b'{"a":', b"[[{", b'{"schema":'])
    return value[:place] + nest * (DEEP // len(nest)) + value[place:]


def long_text(value: bytes, dice: random.Random) -> bytes:
    """Make one text 10 MB long, with or without the rest being right."""
    place = value.find(b'"', dice.randrange(len(value)))
    return value[: place + 1] + b"x" * LONG + value[place + 1 :]


USUAL: tuple[Mutation, ...] = (
    *(cut, beheaded, bit_flipped, bit_flipped, spliced, doubled, with_token, token_replaced),
    *(wrong_magic, unknown_id, other_id, duplicate_keys, invalid_utf8),
)
# Each of these takes as long as thousands of the others.
HEAVY: tuple[Mutation, ...] = (deep, long_text)
EACH_HEAVY = 500  # one message in so many


def mutate(value: bytes, dice: random.Random) -> bytes:
    """Damage a message in one way."""
    if not value:
        return b"\x00"
    choices = HEAVY if dice.randrange(EACH_HEAVY) == 0 else USUAL
    return dice.choice(choices)(value, dice)
