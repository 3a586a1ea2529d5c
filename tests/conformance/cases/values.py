"""Values: left out by the source, left out on purpose, hashed, and columns that join."""

import hashlib
from base64 import b64decode

from tests.conformance.case import DOCUMENTS, ITEMS, case
from tests.conformance.source import UNSENT, Source
from tests.unit.messages import Table, base64_of, column

SCANS = Table((*ITEMS.columns, column("scan", "bytes")))
PEOPLE = Table((*ITEMS.columns, column("mail", "string"), column("secret", "string")))


@case("F67", "F68", table=DOCUMENTS)
def value_left_out_is_taken_from_the_batch(s: Source) -> None:
    """INSERT 1 with a long body; in the same batch UPDATE its name, which leaves the body out."""
    s.insert(1, "a", "long")
    s.update(1, "a2", UNSENT)
    s.holds((1, "a2", "long"))


@case("F67", "F68", table=DOCUMENTS)
def value_left_out_is_taken_from_the_mirror(s: Source) -> None:
    """INSERT 1 and 2 with long bodies; in the next batch UPDATE both names."""
    s.insert(1, "a", "long 1")
    s.insert(2, "b", "long 2")
    s.batch()
    s.update(1, "a2", UNSENT)
    s.update(2, "b2", UNSENT)
    s.holds((1, "a2", "long 1"), (2, "b2", "long 2"))


@case("F67", "F68", table=DOCUMENTS)
def value_left_out_again_and_again_is_kept(s: Source) -> None:
    """INSERT 1; then UPDATE its name twice in one batch, and once in each of two more."""
    s.insert(1, "a", "long")
    s.batch()
    s.update(1, "b", UNSENT)
    s.update(1, "c", UNSENT)
    s.batch()
    s.update(1, "d", UNSENT)
    s.batch()
    s.update(1, "e", UNSENT)
    s.holds((1, "e", "long"))


@case("F67", table=DOCUMENTS)
def value_left_out_is_the_newest_there_was(s: Source) -> None:
    """INSERT 1; in the next batch UPDATE the body, then the name alone; the same a batch later."""
    s.insert(1, "a", "first")
    s.batch()
    s.update(1, "a", "second")
    s.update(1, "b", UNSENT)
    s.batch()
    s.update(1, "c", UNSENT)
    s.update(1, "c", "third")
    s.update(1, "d", UNSENT)
    s.holds((1, "d", "third"))


@case("F67", "F71", table=DOCUMENTS)
def value_left_out_after_a_changed_key_is_that_of_the_new_key(s: Source) -> None:
    """INSERT 1 and 2; id 1 becomes 3, body and all; then UPDATE the name of 3, in a later batch."""
    s.insert(1, "a", "long 1")
    s.insert(2, "b", "long 2")
    s.batch()
    s.change_key(1, 3, "a", "long 3")
    s.update(3, "a2", UNSENT)
    s.batch()
    s.update(3, "a3", UNSENT)
    s.holds((2, "b", "long 2"), (3, "a3", "long 3"))


@case("F67", "F71", table=DOCUMENTS)
def value_left_out_by_a_changed_key_is_that_of_the_old_key(s: Source) -> None:
    """INSERT 1 and 2; id 1 becomes 3 and then 4, id 2 becomes 5; the long bodies are left out."""
    s.insert(1, "a", "long 1")
    s.insert(2, "b", "long 2")
    s.batch()
    s.change_key(1, 3, "a", UNSENT)
    s.change_key(3, 4, "a", UNSENT)
    s.batch()
    s.change_key(2, 5, "b", UNSENT)
    s.update(5, "b2", UNSENT)
    s.holds((4, "a", "long 1"), (5, "b2", "long 2"))


@case("F67", table=DOCUMENTS)
def value_left_out_never_comes_from_a_deleted_row(s: Source) -> None:
    """INSERT 1; DELETE 1 and INSERT 1 with another body; UPDATE its name; all in one batch."""
    s.insert(1, "a", "old")
    s.batch()
    s.delete(1)
    s.insert(1, "b", "new")
    s.update(1, "c", UNSENT)
    s.holds((1, "c", "new"))


@case("F67", "F68", table=DOCUMENTS)
def null_stays_null_where_another_value_is_left_out(s: Source) -> None:
    """INSERT 1 with a null body; UPDATE leaves it out; UPDATE sets the name to null beside it."""
    s.insert(1, "a", None)
    s.insert(2, "b", "long")
    s.batch()
    s.update(1, "a2", UNSENT)
    s.update(2, None, UNSENT)
    s.holds((1, "a2", None), (2, None, "long"))


@case("F67", table=DOCUMENTS)
def null_that_a_statement_sets_is_not_filled(s: Source) -> None:
    """INSERT 1 with a body; UPDATE body to null; UPDATE the name, which leaves the body out."""
    s.insert(1, "a", "long")
    s.batch()
    s.update(1, "a", None)
    s.batch()
    s.update(1, "b", UNSENT)
    s.holds((1, "b", None))


@case(
    "F67",
    table=SCANS,
    formats=("json", "avro"),
    readings={"scan": b64decode},
)
def bytes_left_out_are_kept(s: Source) -> None:
    """INSERT 1 with bytes; in the next batch UPDATE its name, which leaves the bytes out."""
    s.insert(1, "a", base64_of(b"\x00\xff"))
    s.batch()
    s.update(1, "b", UNSENT)
    s.holds((1, "b", base64_of(b"\x00\xff")))


@case("F67", table=DOCUMENTS)
def value_left_out_is_found_after_compaction(s: Source) -> None:
    """INSERT 1 and 2; UPDATE 1; all files are rewritten; UPDATE the name of 1 and 2."""
    s.insert(1, "a", "long 1")
    s.insert(2, "b", "long 2")
    s.batch()
    s.update(1, "a2", "long 1b")
    s.batch()
    s.compact()
    s.update(1, "a3", UNSENT)
    s.update(2, "b3", UNSENT)
    s.holds((1, "a3", "long 1b"), (2, "b3", "long 2"))


@case(table=PEOPLE, rule={"exclude": ["secret"]})
def excluded_column_is_nowhere(s: Source) -> None:
    """INSERT 1 and 2 with secrets; in the next batch UPDATE 1's secret alone, DELETE 2."""
    s.insert(1, "ann", "ann@x", "s1")
    s.insert(2, "bob", "bob@x", "s2")
    s.batch()
    s.update(1, "ann", "ann@x", "s3")
    s.delete(2)
    s.holds((1, "ann", "ann@x"))


@case(
    table=PEOPLE,
    rule={"hash": ["mail"]},
    formats=("json", "avro"),
    readings={"mail": lambda text: hashlib.sha256(text.encode()).hexdigest()},
)
def hashed_column_holds_digests_alone(s: Source) -> None:
    """INSERT 1 and 2 with addresses; in the next batch UPDATE the address of 1, DELETE 2."""
    s.insert(1, "ann", "ann@x")
    s.insert(2, "bob", "bob@x")
    s.batch()
    s.update(1, "ann", "new@x")
    s.delete(2)
    s.holds((1, "ann", "new@x"))


@case("B19", "C42", "D55", "D56")
def column_added_within_a_batch_keeps_every_value(s: Source) -> None:
    """INSERT 1 and 2; then in one batch UPDATE 1, ADD COLUMN age, INSERT 3 and UPDATE 2 with it."""
    s.insert(1, "a")
    s.insert(2, "b")
    s.batch()
    s.update(1, "a2")
    s.add_column(column("age", "int64"))
    s.insert(3, "c", 30)
    s.update(2, "b2", 20)
    s.batch()
    s.update(3, "c2", 31)
    s.holds((1, "a2", None), (2, "b2", 20), (3, "c2", 31))


@case("B19", "D48")
def column_added_while_the_tool_was_down_is_followed(s: Source) -> None:
    """INSERT 1; the tool stops; ADD COLUMN, UPDATE 1; the tool starts again."""
    s.insert(1, "a")
    s.batch()
    s.batch()
    s.restart()
    s.add_column(column("age", "int64"))
    s.update(1, "b", 10)
    s.insert(2, "c", 20)
    s.holds((1, "b", 10), (2, "c", 20))
