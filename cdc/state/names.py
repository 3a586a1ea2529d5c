"""Every name that a mirror adds to a catalog; docs/table-state.md is printed from here.

Each starts with `_mirror_`. What the names stand for is read and written by the other modules of
this folder, and by nobody else.
"""

import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cdc.model import (
    CURRENT,
    DELETED,
    OFFSET,
    OP,
    PARTITION,
    POSITION,
    RESERVED,
    TIME,
    VALID_FROM,
    VALID_TO,
)


class Holder(StrEnum):
    """What has a name."""

    TABLE = "Properties of a mirrored table"
    SNAPSHOT = "Entries in the summary of a snapshot"
    MIRROR = "Properties of the mirror's own table, the quarantine"
    COLUMN = "Columns of a mirrored table"
    CATALOG = "Tables"


@dataclass(frozen=True, slots=True)
class Name:
    """One name, what has it, and what it stands for."""

    text: str
    holder: Holder
    meaning: str


def _property(name: str) -> str:
    return RESERVED + name


# How far a table has come.
LEDGER_PROPERTY: Final = _property("ledger")
SEQUENCE_PROPERTY: Final = _property("ledger_sequence")
# What a table is.
STATE_VERSION_PROPERTY: Final = _property("state_version")
MIRROR_PROPERTY: Final = _property("name")
TOPIC_PROPERTY: Final = _property("topic")
# Its key and its columns.
KEY_PROPERTY: Final = _property("key")
FORMER_KEY_PROPERTY: Final = _property("former_key")
SCHEMA_LOG_PROPERTY: Final = _property("schema_log")
BACKFILL_PROPERTY: Final = _property("backfill")
IDENTITIES_PROPERTY: Final = _property("identities")
TYPES_PROPERTY: Final = _property("types")
# The partitions of its topic.
PARTITIONS_PROPERTY: Final = _property("partitions")
KEY_FORMS_PROPERTY: Final = _property("key_forms")
LANES_PROPERTY: Final = _property("lanes_since")
MOVING_PROPERTY: Final = _property("mixed_until")
REKEYED_PROPERTY: Final = _property("rekeyed_since")
# Its source.
SOURCE_PROPERTY: Final = _property("source")
DROPPED_PROPERTY: Final = _property("dropped")
REPLACED_PROPERTY: Final = _property("replaced")
STALE_PROPERTY: Final = _property("stale_rows")
FORMER_PROPERTY: Final = _property("former")
# Of the mirror as a whole.
QUARANTINE: Final = _property("quarantine")
QUARANTINED_PROPERTY: Final = _property("quarantined")
PARKED_PROPERTY: Final = _property("parked")
LEFT_PROPERTY: Final = _property("retired")

NAMES: Final = (
    Name(
        STATE_VERSION_PROPERTY,
        Holder.TABLE,
        "The version of all that this page lists. A mirror that finds an older one brings it up to "
        "date; a table with a newer one is parked.",
    ),
    Name(MIRROR_PROPERTY, Holder.TABLE, "The mirror that made the table: `name` in its config."),
    Name(TOPIC_PROPERTY, Holder.TABLE, "The topic that the table mirrors."),
    Name(
        LEDGER_PROPERTY,
        Holder.TABLE,
        "The newest ledger, in case its snapshot expires; see the summary's.",
    ),
    Name(
        SEQUENCE_PROPERTY,
        Holder.TABLE,
        "The sequence number of the snapshot that the ledger above belongs to. It counts only if "
        "all snapshots that are left are newer: after a rollback it would be wrong.",
    ),
    Name(KEY_PROPERTY, Holder.TABLE, "The key columns."),
    Name(
        FORMER_KEY_PROPERTY,
        Holder.TABLE,
        "The field ids of columns that were in the key once: deletes may name them still.",
    ),
    Name(
        SCHEMA_LOG_PROPERTY,
        Holder.TABLE,
        "Every change of columns: its kind, what was done, and where in the source's log and in "
        "Kafka. Messages from before a change are read by it.",
    ),
    Name(
        BACKFILL_PROPERTY,
        Holder.TABLE,
        "Defaults of new columns that rows from before them still lack.",
    ),
    Name(
        IDENTITIES_PROPERTY,
        Holder.TABLE,
        "The numbers that the source's catalog knows the columns by; they outlast a new name.",
    ),
    Name(
        TYPES_PROPERTY,
        Holder.TABLE,
        "The types that columns have had in messages without schemas, the last being of now.",
    ),
    Name(PARTITIONS_PROPERTY, Holder.TABLE, "How many partitions the topic has."),
    Name(
        KEY_FORMS_PROPERTY,
        Holder.TABLE,
        "How the bytes of the records' keys began so far. Another beginning sends a key to another "
        "partition.",
    ),
    Name(
        LANES_PROPERTY,
        Holder.TABLE,
        "The sequence number up to which a data file may hold keys of any partition.",
    ),
    Name(
        MOVING_PROPERTY,
        Holder.TABLE,
        "The offsets up to which changes of one key may be in two partitions.",
    ),
    Name(
        REKEYED_PROPERTY,
        Holder.TABLE,
        "The sequence number up to which data files were written under another key, so that a "
        "MERGE looks for their rows and not the key index.",
    ),
    Name(
        SOURCE_PROPERTY,
        Holder.TABLE,
        "What the source's catalog knows the table by: its server, and a number.",
    ),
    Name(DROPPED_PROPERTY, Holder.TABLE, "Since when the source has no such table; empty: it has."),
    Name(
        REPLACED_PROPERTY,
        Holder.TABLE,
        "Where in the source's log another table took the name of this one's source.",
    ),
    Name(
        STALE_PROPERTY,
        Holder.TABLE,
        "`true` if the table may have rows of such an earlier table: an insert replaces them.",
    ),
    Name(
        FORMER_PROPERTY,
        Holder.TABLE,
        "The topic that a renamed table had, and the number of the last batch from there.",
    ),
    Name(
        LEDGER_PROPERTY,
        Holder.SNAPSHOT,
        "The ledger: mirror, topic, number of the batch, next offset and greatest source position "
        "of each partition, the account of the batch, a truncate that partitions may still be "
        "behind, and where the last snapshot by the connector began.",
    ),
    Name(STATE_VERSION_PROPERTY, Holder.MIRROR, "As in a mirrored table."),
    Name(MIRROR_PROPERTY, Holder.MIRROR, "As in a mirrored table."),
    Name(
        QUARANTINED_PROPERTY,
        Holder.MIRROR,
        "The offsets up to which bad records are in quarantine, by topic and table: a batch that "
        "is repeated adds none twice.",
    ),
    Name(PARKED_PROPERTY, Holder.MIRROR, "The parked tables: reason, since when, and offsets."),
    Name(
        LEFT_PROPERTY,
        Holder.MIRROR,
        "Topics whose tables were renamed or dropped, and the offsets up to which their records "
        "are nobody's.",
    ),
    Name(QUARANTINE, Holder.CATALOG, "Bad records, in the namespace that is named as the mirror."),
    Name(OP, Holder.COLUMN, "`append`: what the change did, as Debezium writes it."),
    Name(PARTITION, Holder.COLUMN, "`append`: the record's Kafka partition."),
    Name(OFFSET, Holder.COLUMN, "`append`: the record's offset."),
    Name(POSITION, Holder.COLUMN, "`append`: the change's position in the source's log."),
    Name(TIME, Holder.COLUMN, "`append`: when the source made the change, or else Kafka got it."),
    Name(DELETED, Holder.COLUMN, '`on_delete = "soft"`: whether the row was deleted.'),
    Name(VALID_FROM, Holder.COLUMN, "`history`: since when a version counts, inclusive."),
    Name(VALID_TO, Holder.COLUMN, "`history`: until when, exclusive; null while it does."),
    Name(CURRENT, Holder.COLUMN, "`history`: whether it is the current version of its row."),
)

INTRODUCTION: Final = """\
# What a table remembers

Printed from the code: `python -m cdc.state.names >docs/table-state.md`.

A mirror has no database of its own. What it must know at its next start stands in the tables that
it writes, in the same commit as the rows that it is true for. Every name begins with `{prefix}`. Do
not set any of them by hand; a column of the source may not have such a name.
"""


def state_page() -> str:
    """Write the page."""
    parts = [INTRODUCTION.format(prefix=RESERVED)]
    for holder in Holder:
        rows = [f"| `{n.text}` | {n.meaning} |" for n in NAMES if n.holder is holder]
        parts.append(
            "\n".join([f"## {holder.value}\n", "| name | meaning |", "|---|---|", *rows, ""])
        )
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(state_page())
