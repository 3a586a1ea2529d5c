"""What a table remembers of the table that it is a mirror of."""

import pytest

from cdc.state.source_identity import Identity, Moment, SourceIdentity

KNOWN, NEW = Identity("7421/16384", 16402), Identity("7421/16384", 16500)
SEEN = Moment("2026-11-17T20:44:47+00:00", 500, 1_700_000_000_000_000)


@pytest.mark.parametrize(
    ("identity", "text"),
    [(KNOWN, "7421/16384/16402"), (Identity("a", None), "a/"), (Identity("a", 0), "a/0")],
)
def test_an_identity_is_read_as_older_mirrors_wrote_it(identity: Identity, text: str) -> None:
    assert str(identity) == text
    assert Identity.parse(text) == identity


@pytest.mark.parametrize("text", ["", "/7", "7"])
def test_what_names_no_server_is_no_identity(text: str) -> None:
    assert Identity.parse(text) is None


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (SEEN, f'{{"since": "{SEEN.since}", "position": 500, "time": 1700000000000000}}'),
        (Moment("w"), '{"since": "w", "position": null, "time": null}'),
    ],
)
def test_a_moment_is_read_as_older_mirrors_wrote_it(moment: Moment, text: str) -> None:
    assert str(moment) == text
    assert Moment.parse(text) == moment


def test_an_empty_text_is_no_moment() -> None:
    assert Moment.parse("") is None


@pytest.mark.parametrize(("text", "stale"), [("true", True), ("", False), ("false", False)])
def test_rows_are_stale_where_it_says_so(text: str, stale: bool) -> None:
    assert SourceIdentity.read({"_mirror_stale_rows": text}).stale_rows is stale


def test_each_thing_has_a_property_of_its_own() -> None:
    replaced = Moment("w", 7)
    source = SourceIdentity(KNOWN, SEEN, replaced, stale_rows=True)

    assert dict(source.properties) == {
        "_mirror_source": str(KNOWN),
        "_mirror_dropped": str(SEEN),
        "_mirror_replaced": str(replaced),
        "_mirror_stale_rows": "true",
    }
    assert dict(SourceIdentity().properties) == {}


def test_a_table_that_is_found_is_not_missing_any_more() -> None:
    missing = SourceIdentity(KNOWN, dropped=SEEN, replaced=SEEN, stale_rows=True)

    assert missing.found(KNOWN) == SourceIdentity(KNOWN, replaced=SEEN, stale_rows=True)
    assert SourceIdentity().found(KNOWN) == SourceIdentity(KNOWN)


def test_since_when_a_table_is_gone_is_noted_once() -> None:
    once = SourceIdentity(KNOWN).gone(SEEN)

    assert once == SourceIdentity(KNOWN, dropped=SEEN)
    assert once.gone(Moment("later", 900)) == once


def test_rows_from_before_another_table_go_up_to_where_there_was_none() -> None:
    again = SourceIdentity(KNOWN, dropped=SEEN).made_again(NEW, rows_go=True)

    assert again == SourceIdentity(NEW, replaced=SEEN)


@pytest.mark.parametrize(
    ("dropped", "rows_go"),
    [(SEEN, False), (None, False), (None, True)],  # nobody saw that there was none
)
def test_rows_that_stay_may_be_stale(dropped: Moment | None, rows_go: bool) -> None:
    again = SourceIdentity(KNOWN, dropped=dropped).made_again(NEW, rows_go=rows_go)

    assert again == SourceIdentity(NEW, stale_rows=True)


def test_what_was_replaced_before_is_known_still_where_rows_stay() -> None:
    source = SourceIdentity(KNOWN, replaced=SEEN).made_again(NEW, rows_go=False)

    assert source == SourceIdentity(NEW, replaced=SEEN, stale_rows=True)
