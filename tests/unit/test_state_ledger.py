"""Which ledger of a table's history says how far it has come."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from cdc.errors import LostLedgerError
from cdc.model import Account, Cutoff, CutoffCause, PartitionMark
from cdc.state.ledger import FoundLedger, Ledger, PastSnapshot, newest_ledger, past_ledgers

TOPIC = "srv.public.orders"


def a_ledger(batch: int, topic: str = TOPIC) -> Ledger:
    return Ledger("shop", topic, batch, {0: PartitionMark(batch * 10, batch)})


def snapshot(number: int, ledger: Ledger | None = None) -> PastSnapshot:
    """Make a snapshot whose id, sequence number and time can be told apart."""
    text = None if ledger is None else ledger.to_json()
    return PastSnapshot(1000 + number, number, text, 10_000 + number)


def kept(ledger: Ledger, sequence: int | None) -> dict[str, str]:
    """Write the properties that keep a ledger beyond its snapshot."""
    known = {} if sequence is None else {"_mirror_ledger_sequence": str(sequence)}
    return {"_mirror_topic": ledger.topic, "_mirror_ledger": ledger.to_json(), **known}


def only(snapshots: Iterable[PastSnapshot]) -> Iterator[PastSnapshot]:
    """Give some snapshots of a long history, behind which nobody may look."""
    yield from snapshots
    pytest.fail("it reads on, though it knows")


def test_the_ledger_of_the_newest_snapshot_counts() -> None:
    history = only([snapshot(3, a_ledger(7))])

    found = newest_ledger("t", history, kept(a_ledger(5), 1))

    assert found == FoundLedger(a_ledger(7), 10_003)


def test_a_compaction_by_others_carries_none() -> None:
    history = only([snapshot(5), snapshot(4), snapshot(3, a_ledger(7))])

    assert newest_ledger("t", history, kept(a_ledger(7), 3)) == FoundLedger(a_ledger(7), 10_003)


def test_after_a_rollback_the_table_is_where_its_snapshot_says() -> None:
    # The properties are not rolled back: they say more.
    history = only([snapshot(2, a_ledger(4))])

    assert newest_ledger("t", history, kept(a_ledger(9), 6)) == FoundLedger(a_ledger(4), 10_002)


@pytest.mark.parametrize("sequence", [3, None])  # the first mirrors wrote no sequence
def test_a_ledger_whose_snapshot_has_expired_is_among_the_properties(sequence: int | None) -> None:
    history = [snapshot(5), snapshot(4)]

    assert newest_ledger("t", history, kept(a_ledger(7), sequence)) == FoundLedger(a_ledger(7))


@pytest.mark.parametrize("sequence", [4, 5, 9])
def test_a_ledger_that_would_have_been_met_is_of_another_branch(sequence: int) -> None:
    history = [snapshot(5), snapshot(4)]  # rolled back to, and what is left before it

    with pytest.raises(LostLedgerError) as caught:
        newest_ledger("shop.orders", history, kept(a_ledger(7), sequence))

    assert (caught.value.table, caught.value.snapshot) == ("shop.orders", 1005)


def test_a_table_without_any_snapshot_that_had_one_is_lost() -> None:
    with pytest.raises(LostLedgerError) as caught:
        newest_ledger("shop.orders", [], kept(a_ledger(7), 1))

    assert caught.value.snapshot is None


def test_the_first_mirrors_said_no_sequence_and_are_believed_without_snapshots() -> None:
    assert newest_ledger("t", [], kept(a_ledger(7), None)) == FoundLedger(a_ledger(7))


@pytest.mark.parametrize("history", [[], [snapshot(1)]])
def test_a_table_that_nothing_was_applied_to_has_none(history: list[PastSnapshot]) -> None:
    assert newest_ledger("t", history, {"_mirror_topic": TOPIC}) is None


RENAMED = {"_mirror_topic": "srv.public.sales", "_mirror_former": f'["{TOPIC}", 7]'}
FULL = replace(
    a_ledger(7),
    account=Account(read=2, applied=2),
    pending_cutoff=Cutoff(0, 1, 2),
    snapshot=(5, 50),
)


def test_a_renamed_table_has_nothing_of_its_new_topic_yet() -> None:
    found = newest_ledger("t", [snapshot(3, FULL)], RENAMED)

    # Its batches go on, and the place of its last snapshot is one of the source's log.
    assert found is not None
    assert found.ledger == replace(
        FULL, topic="srv.public.sales", partitions={}, pending_cutoff=None
    )
    assert found.committed == 10_003


def test_a_renamed_table_whose_snapshots_have_expired_has_nothing_of_its_new_topic_either() -> None:
    found = newest_ledger("t", [snapshot(5)], {**kept(FULL, 3), **RENAMED})

    assert found == FoundLedger(
        replace(FULL, topic="srv.public.sales", partitions={}, pending_cutoff=None)
    )


def test_a_renamed_table_goes_on_with_the_ledgers_of_its_new_topic() -> None:
    new = a_ledger(8, "srv.public.sales")
    history = only([snapshot(4, new)])

    assert newest_ledger("t", history, RENAMED) == FoundLedger(new, 10_004)


@pytest.mark.parametrize(
    "former", [{}, {"_mirror_former": f'["{TOPIC}", 8]'}, {"_mirror_former": '["other", 7]'}]
)
def test_a_renamed_table_that_was_set_back_to_before_it_had_everything_is_lost(
    former: dict[str, str],
) -> None:
    properties = {"_mirror_topic": "srv.public.sales", **former}

    with pytest.raises(LostLedgerError) as caught:
        newest_ledger("shop.sales", [snapshot(4), snapshot(3, FULL)], properties)
    assert (caught.value.table, caught.value.snapshot) == ("shop.sales", 1004)

    with pytest.raises(LostLedgerError):  # also where the property serves
        newest_ledger("shop.sales", [snapshot(4)], {**kept(FULL, 2), **properties})


def test_a_table_without_a_topic_is_that_of_its_ledger() -> None:
    assert newest_ledger("t", [snapshot(3, FULL)], {}) == FoundLedger(FULL, 10_003)


def test_past_ledgers_come_newest_first_up_to_another_topic() -> None:
    history = [
        snapshot(6),
        snapshot(5, a_ledger(9)),
        snapshot(4),
        snapshot(3, a_ledger(8)),
        snapshot(2, a_ledger(7, "srv.public.old")),
        snapshot(1, a_ledger(6)),
    ]

    assert [ledger.batch for ledger in past_ledgers(TOPIC, history)] == [9, 8]


def test_past_ledgers_are_read_one_by_one() -> None:
    ledgers = past_ledgers(TOPIC, only([snapshot(5, a_ledger(9)), snapshot(4, a_ledger(8))]))

    assert [next(ledgers).batch, next(ledgers).batch] == [9, 8]


OLD_TEXTS = [
    (
        '{"mirror":"shop \\"east\\"","topic":"srv.public.na\\u00efve","batch":41,'
        '"partitions":{"2":[0,-1],"10":[4611686018427387904,9223372036854775807]},'
        '"read":6,"applied":3,"superseded":1,"duplicates":1,"quarantined":1,'
        '"truncate":[-1,0,500,null],"snapshot":[501,null]}',
        Ledger(
            'shop "east"',
            "srv.public.naïve",
            41,
            {10: PartitionMark(2**62, 2**63 - 1), 2: PartitionMark(0)},
            Account(6, 3, 1, 1, 1),
            Cutoff.replaced(500, None),
            (501, None),
        ),
    ),
    (
        '{"mirror":"m","topic":"t","batch":0,"partitions":{"0":[4,9]},"read":0,"applied":0,'
        '"superseded":0,"duplicates":0,"quarantined":0,"truncate":[0,3,9,50],"snapshot":[10,50]}',
        Ledger("m", "t", 0, {0: PartitionMark(4, 9)}, Account(), Cutoff(0, 3, 9, 50), (10, 50)),
    ),
    (
        '{"mirror":"m","topic":"t","batch":0,"partitions":{},"read":0,"applied":0,'
        '"superseded":0,"duplicates":0,"quarantined":0}',
        Ledger("m", "t", 0, {}),
    ),
]


@pytest.mark.parametrize(("text", "ledger"), OLD_TEXTS)
def test_an_older_mirrors_ledger_is_read_and_written_as_it_was(text: str, ledger: Ledger) -> None:
    assert Ledger.from_json(text) == ledger
    assert ledger.to_json() == text


def test_an_older_mirrors_cutoff_of_no_partition_is_of_a_table_that_was_replaced() -> None:
    cutoffs = [Ledger.from_json(text).pending_cutoff for text, _ in OLD_TEXTS[:2]]

    assert [cutoff and (cutoff.partition, cutoff.cause) for cutoff in cutoffs] == [
        (None, CutoffCause.REPLACED),
        (0, CutoffCause.TRUNCATE),
    ]


def test_a_ledger_from_before_the_quarantine_counted_none() -> None:
    text = OLD_TEXTS[0][0].replace('"quarantined":1,', "").replace('"read":6', '"read":5')

    ledger = Ledger.from_json(text)

    assert ledger.account == Account(5, 3, 1, 1, 0)
    assert json.loads(ledger.to_json())["quarantined"] == 0
