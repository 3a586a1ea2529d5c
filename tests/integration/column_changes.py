"""Changes of a table's columns, and what each policy promises to make of them.

Every table starts as `(id int PRIMARY KEY, v …, note varchar(40))` with the rows 1 to 4. Then a row
is changed, one is deleted and one is inserted; then the columns change, and more rows after that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

POLICIES = ("evolve", "lenient", "ignore", "fail")
DATABASES = ("postgres", "mariadb")

# What is done to every table before its columns change.
BEFORE = (
    "UPDATE {t} SET note = 'before' WHERE id = 2",
    "DELETE FROM {t} WHERE id = 4",
    "INSERT INTO {t} (id, v, note) VALUES (5, {fifth}, 'before')",
)
BEFORE_RECORDS = 8  # of the snapshot and of these
# The rows that are there at the snapshot, before the columns change, and in the end.
AT_SNAPSHOT, BETWEEN = (1, 2, 3, 4), (1, 2, 3, 5)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of columns among changes of rows.

    Args:
        name: Part of the names of its tables.
        kind: The type of `v` at first.
        values: What `v` holds in the rows 1 to 5.
        steps: The statements of both databases, or those of one; `{t}` is the table.
        renames: What the config says of renamed columns.
    """

    name: str
    steps: Sequence[str] | Mapping[str, Sequence[str]]
    kind: str = "int"
    values: tuple[str, ...] = ("10", "20", "30", "40", "50")
    renames: Mapping[str, str] = field(default_factory=dict)

    def happens_in(self, database: str) -> bool:
        return not isinstance(self.steps, Mapping) or database in self.steps

    def create_sql(self, table: str) -> list[str]:
        """Render the statements that make the table and its first rows."""
        rows = ", ".join(f"({n}, {v}, 'first')" for n, v in enumerate(self.values[:4], 1))
        columns = f"id int PRIMARY KEY, v {self.kind}, note varchar(40)"
        return [f"CREATE TABLE {table} ({columns})", f"INSERT INTO {table} VALUES {rows}"]

    def before_sql(self, table: str) -> list[str]:
        """Render the statements that change the rows before the columns change."""
        return [step.format(t=table, fifth=self.values[4]) for step in BEFORE]

    def change_sql(self, table: str, database: str) -> list[str]:
        """Render the statements that change the columns, and the rows after that."""
        steps = self.steps[database] if isinstance(self.steps, Mapping) else self.steps
        return [step.format(t=table) for step in steps]

    def records(self, database: str) -> int:
        """Count the messages of the snapshot and of all changes; a delete has a tombstone too."""
        return BEFORE_RECORDS + _records(self.change_sql("t", database))


def _records(statements: Sequence[str]) -> int:
    made = [text.split()[0] for text in statements]
    return sum({"DELETE": 2, "ALTER": 0, "COMMENT": 0}.get(word, 1) for word in made)


def retyped(column: str, kind: str, *after: str) -> dict[str, tuple[str, ...]]:
    """Give a column another type, as each database says it."""
    postgres = f"ALTER TABLE {{t}} ALTER COLUMN {column} TYPE {kind} USING {column}::{kind}"
    mariadb = f"ALTER TABLE {{t}} MODIFY {column} {kind}"
    return {"postgres": (postgres, *after), "mariadb": (mariadb, *after)}


def _after(third: str, sixth: str, column: str = "v") -> tuple[str, str]:
    """Change row 3 and insert row 6."""
    return (
        f"UPDATE {{t}} SET {column} = {third}, note = 'after' WHERE id = 3",
        f"INSERT INTO {{t}} (id, {column}, note) VALUES (6, {sixth}, 'after')",
    )


RENAMED = ("ALTER TABLE {t} RENAME COLUMN v TO w", *_after("33", "60", "w"))
# Changes and deletes name their rows by the new key.
KEYED = (
    "UPDATE {t} SET v = 33 WHERE id = 3",
    "DELETE FROM {t} WHERE id = 2",
    "INSERT INTO {t} (id, v, note) VALUES (6, 60, 'after')",
)
CHANGES = (
    Change("add", ("ALTER TABLE {t} ADD COLUMN x int", *_after("33", "66", "x"))),
    Change(
        "add_middle",
        {"mariadb": ("ALTER TABLE {t} ADD COLUMN x int AFTER id", *_after("33", "66", "x"))},
    ),
    Change("add_default", ("ALTER TABLE {t} ADD COLUMN x int DEFAULT 7", *_after("33", "60"))),
    Change(
        "drop",
        (
            "ALTER TABLE {t} DROP COLUMN v",
            "UPDATE {t} SET note = 'after' WHERE id = 3",
            "INSERT INTO {t} (id, note) VALUES (6, 'after')",
        ),
    ),
    Change("rename_told", RENAMED, renames={"v": "w"}),
    Change("rename_untold", RENAMED),
    Change("widen_int", retyped("v", "bigint", *_after("33", "9000000000"))),
    Change(
        "widen_real",
        retyped("v", "double precision", *_after("0.5", "1e300")),
        kind="float4",
        values=("0.1", "-2.5", "1e30", "0", "0.3"),
    ),
    Change(
        "widen_numeric",
        retyped("v", "numeric(12,2)", *_after("1.25", "1234567890.12")),
        kind="numeric(5,2)",
        values=("0.01", "-999.99", "100.5", "0", "5"),
    ),
    Change(
        "add_array",
        {
            "postgres": (
                "ALTER TABLE {t} ADD COLUMN x text[]",
                *_after("ARRAY['a', NULL]", "ARRAY[]::text[]", "x"),
            )
        },
    ),
    Change(
        "widen_array",
        {
            "postgres": (
                "ALTER TABLE {t} ALTER COLUMN v TYPE bigint[]",
                *_after("ARRAY[33, NULL]", "ARRAY[9000000000]"),
            )
        },
        kind="int[]",
        values=("ARRAY[1, 2]", "NULL", "ARRAY[]::int[]", "ARRAY[NULL, 3]", "ARRAY[5]"),
    ),
    Change("narrow", retyped("v", "int", *_after("33", "2147483647")), kind="bigint"),
    Change(
        "null_allowed",
        {
            "postgres": ("ALTER TABLE {t} ALTER COLUMN v DROP NOT NULL", *_after("NULL", "NULL")),
            "mariadb": ("ALTER TABLE {t} MODIFY v int NULL", *_after("NULL", "NULL")),
        },
        kind="int NOT NULL",
    ),
    Change(
        "null_forbidden",
        {
            "postgres": ("ALTER TABLE {t} ALTER COLUMN v SET NOT NULL", *_after("33", "60")),
            "mariadb": ("ALTER TABLE {t} MODIFY v int NOT NULL", *_after("33", "60")),
        },
    ),
    Change("other_type", retyped("v", "text", *_after("'three'", "'six'"))),
    Change(
        "wider_key",
        retyped(
            "id",
            "bigint",
            "UPDATE {t} SET note = 'after' WHERE id = 3",
            "INSERT INTO {t} (id, v, note) VALUES (9000000000, 60, 'after')",
        ),
    ),
    Change(
        "other_key",
        {
            "postgres": (
                "ALTER TABLE {t} DROP CONSTRAINT {t}_pkey, ALTER COLUMN note SET NOT NULL, "
                "ADD PRIMARY KEY (note, id)",
                *KEYED,
            ),
            "mariadb": (
                "ALTER TABLE {t} MODIFY note varchar(40) NOT NULL, DROP PRIMARY KEY, "
                "ADD PRIMARY KEY (note, id)",
                *KEYED,
            ),
        },
    ),
    Change(
        "add_drop_add",
        (
            "ALTER TABLE {t} ADD COLUMN x int",
            "UPDATE {t} SET x = 11 WHERE id = 1",
            "UPDATE {t} SET x = 12 WHERE id = 2",
            "ALTER TABLE {t} DROP COLUMN x",
            "UPDATE {t} SET note = 'between' WHERE id = 2",
            "ALTER TABLE {t} ADD COLUMN x int",
            *_after("33", "66", "x"),
        ),
    ),
    Change(
        "comment",
        {
            "postgres": ("COMMENT ON COLUMN {t}.v IS 'how many'", *_after("33", "60")),
            "mariadb": ("ALTER TABLE {t} MODIFY v int COMMENT 'how many'", *_after("33", "60")),
        },
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a mirrored table holds in the end.

    Args:
        columns: All of them, in their order; empty for just those of the source. `DATED` is the
            name that a column of another type leaves its old values under.
        values: Of the columns that differ from the source's, row by row. A column that is in
            neither equals the source's.
        rows: The keys of the rows, where the source has others too.
        quarantined: The records that did not fit.
        parked: Whether the table stays as it was before its columns changed.
    """

    columns: str = ""
    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    rows: tuple[int, ...] = ()
    quarantined: int = 0
    parked: bool = False


DATED = "v_*"
EXACT = Outcome()
PARKED = Outcome(parked=True)
AS_BEFORE = Outcome("id v note")
# The rows are 1, 2, 3, 5, 6: the third and the last were written after the change.
KEPT = {"v": (10, 20, None, 50, None)}
KEEPS_V = Outcome("id v note", KEPT)
BOTH_NAMES = Outcome("id w v note", KEPT | {"w": (None, None, 33, None, 60)})
DATED_V = Outcome(
    f"id {DATED} v note",
    {DATED: (10, 20, None, 50, None), "v": (None, None, "three", None, "six")},
)
KEEPS_OLD_X = Outcome("", {"x": (11, None, 33, None, 66)})
LACKS_SIXTH = Outcome("id v note", rows=(1, 2, 3, 5), quarantined=1)
KEEPS_NUMBERS = Outcome(
    "id v note",
    {"v": (10, 20, 30, 50), "note": ("first", "before", "first", "before")},
    rows=(1, 2, 3, 5),
    quarantined=2,
)

OUTCOMES: Mapping[str, tuple[Outcome, Outcome, Outcome, Outcome]] = {
    # change          evolve       lenient      ignore         fail
    "add":            (EXACT,      EXACT,       AS_BEFORE,     PARKED),
    "add_middle":     (EXACT,      EXACT,       AS_BEFORE,     PARKED),
    "add_default":    (EXACT,      EXACT,       AS_BEFORE,     PARKED),
    "drop":           (EXACT,      KEEPS_V,     KEEPS_V,       PARKED),
    "rename_told":    (EXACT,      EXACT,       KEEPS_V,       PARKED),
    "rename_untold":  (BOTH_NAMES, BOTH_NAMES,  KEEPS_V,       PARKED),
    "widen_int":      (EXACT,      EXACT,       LACKS_SIXTH,   PARKED),
    "widen_real":     (EXACT,      EXACT,       LACKS_SIXTH,   PARKED),
    "widen_numeric":  (EXACT,      EXACT,       LACKS_SIXTH,   PARKED),
    "add_array":      (EXACT,      EXACT,       AS_BEFORE,     PARKED),
    "widen_array":    (EXACT,      EXACT,       LACKS_SIXTH,   PARKED),
    "narrow":         (EXACT,      EXACT,       EXACT,         EXACT),
    "null_allowed":   (EXACT,      EXACT,       EXACT,         EXACT),
    "null_forbidden": (EXACT,      EXACT,       EXACT,         EXACT),
    "other_type":     (PARKED,     DATED_V,     KEEPS_NUMBERS, PARKED),
    "wider_key":      (EXACT,      EXACT,       LACKS_SIXTH,   PARKED),
    "other_key":      (EXACT,      EXACT,       PARKED,        PARKED),
    "add_drop_add":   (EXACT,      KEEPS_OLD_X, AS_BEFORE,     PARKED),
    "comment":        (EXACT,      EXACT,       EXACT,         EXACT),
}  # fmt: skip


# PostgreSQL's catalog tells which column was renamed; MariaDB's does not.
OUTCOMES_OF_DATABASE: Mapping[tuple[str, str], tuple[Outcome, Outcome, Outcome, Outcome]] = {
    # database, change            evolve  lenient  ignore   fail
    ("postgres", "rename_untold"): (EXACT, EXACT,  KEEPS_V, PARKED),
}  # fmt: skip
# What differs where messages carry no schemas.
OUTCOMES_OF_BARE: Mapping[str, tuple[Outcome, Outcome, Outcome, Outcome]] = {
    # change          evolve       lenient      ignore         fail
    # 0.1 is another number as a float than as a double, and is written alike.
    "widen_real":     (PARKED,     PARKED,      PARKED,        PARKED),
}  # fmt: skip


def outcome(change: Change, policy: str, database: str, format_: str) -> Outcome:
    """Look up what a policy promises for a change, where messages come from and how."""
    usual = OUTCOMES_OF_DATABASE.get((database, change.name), OUTCOMES[change.name])
    bare = OUTCOMES_OF_BARE if format_ == "bare" else {}
    return bare.get(change.name, usual)[POLICIES.index(policy)]
