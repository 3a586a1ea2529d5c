"""How keys begin: what is before their values decides where Kafka Connect sends them."""

from dataclasses import replace

import pyarrow as pa

from cdc.decode import key_forms
from tests.unit.messages import ORDERS, column, insert, without_schemas

NARROW = replace(ORDERS, columns=(column("id", "int32", optional=False), *ORDERS.columns[1:]))


def forms(*keys: bytes | None) -> frozenset[str]:
    return key_forms(pa.array(keys, pa.binary()))


def test_keys_of_one_schema_have_one_form() -> None:
    one, two = insert({"id": 1}), insert({"id": 2})

    assert len(forms(one.key, None, two.key)) == 1
    assert forms(one.key) == forms(two.key)


def test_another_schema_block_is_another_form() -> None:
    wide, narrow = insert({"id": 1}), insert({"id": 1}, table=NARROW)

    assert len(forms(wide.key, narrow.key, wide.key)) == 2
    assert forms(wide.key) != forms(narrow.key)


def test_another_schema_id_is_another_form() -> None:
    assert forms(b"\0\0\0\0\7\2", b"\0\0\0\0\7\4") == {"avro 7"}
    assert forms(b"\0\0\0\0\7\2", b"\0\0\0\1\0\2") == {"avro 7", "avro 256"}


def test_what_holds_nothing_but_the_key_has_one_form() -> None:
    bare = without_schemas(insert({"id": 1}))

    assert forms(bare.key, b"text", b'{"schema":broken') == {"plain"}


def test_without_keys_there_is_none() -> None:
    assert forms() == forms(None) == frozenset()
