"""No file, however broken, gets more than a ConfigError out of loading."""

import random

import pytest

from cdc.config import MirrorConfig
from cdc.config.load import parse_config
from cdc.errors import ConfigError

VALID = b"""
name = "shop"
[source]
connector = "postgres"
topics = ["shop.public.*"]
format = "auto"
url = "env:SHOP_DATABASE_URL"
[kafka]
"bootstrap.servers" = "localhost:9092"
sasl.username = "mirror"
"sasl.password" = "file:password"
[registry]
url = "http://localhost:8081"
[catalog]
type = "sql"
uri = "sqlite:///mirror/catalog.db"
warehouse = "mirror/warehouse"
[target]
table = "{database}.{table}"
[stream]
trigger = "10 seconds"
max_records = 500000
[tables.defaults]
mode = "mirror"
[[tables.rules]]
match = "public.orders"
partition = ["day(created_at)"]
key = ["order_id"]
types = { payload = "string" }
[spark]
master = "local[*]"
"""
PIECES = [
    *(b"[", b"]", b"[[", b"]]", b"{", b"}", b'"', b"'", b".", b"=", b"\n", b" ", b"#", b"\\"),
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r", b"\xc3\xa9", b"\\u0000", b"\\ud800", b"\x1b"),
    *(b"env:", b"file:", b"env:HOME", b"0", b"-1", b"nan", b"1e999", b"true", b"1979-05-27"),
    *(b"{}", b"[]", b"[[]]", b"{table}", b"*", b"options", b"name", b"source", b"rules", b'""'),
]
VALUES = [b"5", b"-0.0", b"true", b"[]", b"{}", b'""', b"[[1]]", b"{a.b = 1}", b"inf", b'"env:"']


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Break a file in one of the ways in which files break."""
    lines = content.splitlines(keepends=True)
    line = chance.randrange(len(lines))
    place = chance.randrange(len(content))
    match chance.randrange(8):
        case 0:
            del lines[line]
        case 1:
            lines.insert(chance.randrange(len(lines)), lines[line])
        case 2:
            chance.shuffle(lines)
        case 3:
            lines[line] = lines[line].split(b"=")[0] + b"= " + chance.choice(VALUES) + b"\n"
        case 4:
            lines[line] = chance.choice(PIECES) + lines[line]
        case 5:
            return content[:place]
        case 6:
            return content[:place] + chance.choice(PIECES) + content[place:]
        case _:
            return content[:place] + content[place + chance.randint(1, 20) :]
    return b"".join(lines)


@pytest.mark.parametrize("seed", range(10))
def test_a_broken_file_loads_or_is_a_config_error(seed: int) -> None:
    chance = random.Random(seed)
    loaded = refused = 0
    for _ in range(100):
        content = VALID
        for _ in range(chance.randint(1, 4)):
            content = mutated(content or VALID, chance)
        try:
            assert isinstance(parse_config(content, "/etc/shop.toml"), MirrorConfig)
            loaded += 1
        except ConfigError as error:
            assert error.problems and str(error)
            refused += 1

    assert loaded and refused


def test_the_file_that_is_broken_was_whole() -> None:
    assert parse_config(VALID, "/etc/shop.toml").name == "shop"
