"""How the bytes of keys begin: with the id of their schema, or with the schema itself.

Kafka Connect chooses a record's partition by all bytes of its key. When the key's schema gets
another id, or another block, the same key goes on in another partition.
"""

import hashlib

import pyarrow as pa
import pyarrow.compute as pc

from cdc.decode.json_messages import MOST_PREFIXES, SCHEMA_START, schema_and_prefix

AVRO_MAGIC = b"\x00"
AVRO_HEADER = 5
PLAIN = "plain"  # bytes that hold nothing but the key
DIGITS = 12  # of a digest, which stands for a schema


def key_forms(keys: pa.Array) -> frozenset[str]:
    """Name the forms that keys have, nulls aside; the same bytes before the key are one form."""
    keys = keys.drop_null()
    avro = pc.starts_with(keys, pattern=AVRO_MAGIC)
    ids = pc.unique(pc.binary_slice(keys.filter(avro), 0, AVRO_HEADER)).to_pylist()
    found = {f"avro {int.from_bytes(id_[1:], 'big')}" for id_ in ids}
    keys = keys.filter(pc.invert(avro))
    described = pc.starts_with(keys, pattern=SCHEMA_START)
    if not pc.all(described, min_count=0).as_py():
        found.add(PLAIN)
        keys = keys.filter(described)
    for _ in range(MOST_PREFIXES):
        if not len(keys):
            break
        parsed = schema_and_prefix(keys[0].as_py())
        if parsed is None:
            found.add(PLAIN)
            keys = keys.slice(1)
            continue
        prefix = parsed[1]
        found.add(f"json {hashlib.sha256(prefix).hexdigest()[:DIGITS]}")
        keys = keys.filter(pc.invert(pc.starts_with(keys, pattern=prefix)))
    return frozenset(found)
