"""Damaged messages through a write task: what becomes of each of them is counted.

    python -m tests.fuzz.decode FORMAT SEED COUNT

Every damaged message ends as applied, as quarantined or in a named error, and the account of every
batch adds up. Anything else is printed, and the exit code is 1. A crash or a hang is for the caller
to see.
"""

import faulthandler
import json
import pickle
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cdc.decode import DecodePlan, TargetTable, Wire
from cdc.errors import AccountError, MirrorError
from cdc.model import Failed, PartitionReport, SourceSchema, Unplanned, Written
from cdc.model.column_types import known_columns
from cdc.runtime.task.target_plan import KeyRouting, QuarantinePlan, TargetPlan
from cdc.runtime.task.write_task import WriteTask
from cdc.schema import (
    arrow_schema,
    difference,
    guessable_columns,
    iceberg_schema,
    joined,
    mirror_columns,
    quarantine_schema,
)
from cdc.write import FileWriter
from connectors import DIALECTS
from tests.fuzz.mutations import mutate
from tests.unit.avro_messages import AvroTopic
from tests.unit.messages import Message, read_recorded, record_batch
from tests.unit.registry_server import served

DIALECT = DIALECTS["postgres"]
BATCH = 250
EACH_KEY = 8  # one damaged message in so many has a damaged key instead of a damaged value
HANG_SECONDS = 120


@dataclass
class Outcomes:
    """What became of the damaged messages, and what should not have happened."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class Target:
    """A topic's table, which follows its source as far as it can."""

    def __init__(self, messages: list[Message], wire: Wire, folder: str) -> None:
        self.topic, self.wire, self.folder = messages[0].topic, wire, folder
        self.known: tuple[SourceSchema, ...] = ()
        self.columns: tuple[object, ...] = ()
        self.plan = TargetPlan(DecodePlan(self.topic, DIALECT, wire))
        for message in messages:
            report = self.run([message])
            if isinstance(report.outcome, Unplanned):
                self.plan = self.follow(report.outcome)

    def follow(self, unplanned: Unplanned) -> TargetPlan:
        """Do as the driver would: create, add columns, or refuse."""
        known = dict.fromkeys([*self.known, *unplanned.schemas])
        if all(schema.inferred for schema in known):
            known = dict.fromkeys(joined(known))
        first = next(iter(known))
        columns = mirror_columns(first, "t", DIALECT)
        base, key = iceberg_schema(columns), tuple(c.name for c in columns if c.key)
        for schema in known:
            change = difference(base, mirror_columns(schema, "t", DIALECT), "t", key)
            if change.changes or change.old_key != change.new_key:
                raise SchemaRefusedError("t")
        self.known = tuple(known)
        arrow = arrow_schema(base, "t")
        decode = DecodePlan(
            self.topic,
            DIALECT,
            self.wire,
            table=TargetTable(arrow, frozenset(known), key=key),
            columns=known_columns(inferred=guessable_columns(base)),
        )
        bad = arrow_schema(quarantine_schema(), "q")
        return TargetPlan(
            decode=decode,
            key=key,
            routing=KeyRouting(1),
            writer=FileWriter(f"{self.folder}/rows", arrow, {}),
            quarantine=QuarantinePlan(FileWriter(f"{self.folder}/bad", bad, {})),
        )

    def run(self, messages: list[Message], plan: TargetPlan | None = None) -> PartitionReport:
        """Let a task have one batch."""
        plans = {self.topic: (plan or self.plan,)}
        task = WriteTask(DIALECT, plans, frozenset(), self.wire)
        (answer,) = task([record_batch(messages)])
        report: PartitionReport = pickle.loads(answer.column(0)[0].as_py())
        return report


class SchemaRefusedError(MirrorError):
    """The table of this program follows no change of its columns."""

    table: str
    text = "{table} follows no change of its columns."


def classify(target: Target, message: Message, out: Outcomes) -> None:
    """Let a task have one damaged message by itself, and see what becomes of it."""
    outcome = target.run([message]).outcome
    if isinstance(outcome, Unplanned) and outcome.truncates:
        out.counts["applied"] += 1  # a truncate: the driver plans it and the rest is done again
        return
    if isinstance(outcome, Unplanned):
        known = target.known
        try:
            outcome = target.run([message], target.follow(outcome)).outcome
        except MirrorError as error:
            out.counts["named error"] += 1
            out.errors[type(error).__name__] += 1
            return
        finally:
            target.known = known
    if isinstance(outcome, Failed) and not isinstance(outcome.error, AccountError):
        out.counts["named error"] += 1
        out.errors[type(outcome.error).__name__] += 1
    elif not isinstance(outcome, Written) or outcome.account.read != 1:
        out.faults.append(f"{outcome} for {message.value!r:.300}")
    else:
        out.counts["quarantined" if outcome.account.quarantined else "applied"] += 1


def run(formats: str, seed: int, count: int) -> Outcomes:
    """Damage so many messages of one format."""
    dice = random.Random(f"{formats} {seed}")
    out = Outcomes()
    topics = {t: m for t, m in sorted(read_recorded("pg_json.jsonl").items()) if _usable(t)}
    avro = AvroTopic()
    # The registry is never empty: that would be taken for one that lost its data, and waited for.
    in_avro = {t: [avro.write(m) for m in messages] for t, messages in topics.items()}
    if formats == "avro":
        topics = in_avro
    elif formats == "schemaless":
        topics = {t: [_bare(m) for m in messages] for t, messages in topics.items()}
    with served(avro.schemas) as url, tempfile.TemporaryDirectory() as folder:
        wire = Wire(registry={"url": url})
        targets = {t: Target(messages, wire, folder) for t, messages in topics.items()}
        while sum(out.counts.values()) + len(out.faults) < count:
            faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
            topic = dice.choice(list(targets))
            _batch(targets[topic], topics[topic], dice, out)
    faulthandler.cancel_dump_traceback_later()
    return out


def _batch(target: Target, good: list[Message], dice: random.Random, out: Outcomes) -> None:
    """Put damaged messages among good ones; where all is told apart, one by one is not needed."""
    messages, damaged = [], []
    for offset in range(BATCH):
        message = replace(dice.choice(good), offset=offset)
        if dice.random() < 0.8:
            message = _damaged(message, dice)
            damaged.append(message)
        messages.append(message)
    outcome = target.run(messages).outcome
    if isinstance(outcome, Written):
        account = outcome.account
        if not account.balanced or account.read != BATCH:
            out.faults.append(str(account))
        out.counts["quarantined"] += account.quarantined
        out.counts["applied"] += len(damaged) - account.quarantined
        return
    for message in damaged:
        classify(target, message, out)


def _damaged(message: Message, dice: random.Random) -> Message:
    if dice.randrange(EACH_KEY) == 0 and message.key:
        return replace(message, key=mutate(message.key, dice))
    return replace(message, value=mutate(message.value or b"", dice))


def _usable(topic: str) -> bool:
    return topic.rpartition(".")[2] in ("composite_pk", "toast_full", "uq_idx", "Mixed_Case")


def _bare(message: Message) -> Message:
    def payload(text: bytes | None) -> bytes | None:
        return None if text is None else json.dumps(json.loads(text)["payload"]).encode()

    return replace(message, key=payload(message.key), value=payload(message.value))


def main(arguments: list[str]) -> int:
    """Print the outcomes as one line of JSON."""
    formats, seed, count = arguments
    out = run(formats, int(seed), int(count))
    answer: Mapping[str, object] = {
        "format": formats,
        **out.counts,
        "errors": out.errors,
        "faults": out.faults[:10],
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    return 1 if out.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
