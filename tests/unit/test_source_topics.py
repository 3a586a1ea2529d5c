"""Topic globs as one regular expression."""

import re

import pytest

from cdc.source.topics import topic_pattern


def matches(globs: list[str], topic: str) -> bool:
    return re.fullmatch(topic_pattern(globs), topic) is not None


@pytest.mark.parametrize(
    ("glob", "topic"),
    [
        ("shop.public.orders", "shop.public.orders"),
        ("shop.public.*", "shop.public.orders"),
        ("shop.public.*", "shop.public.a.b"),
        ("shop.public.*", "shop.public."),
        ("shop.*.orders", "shop.public.orders"),
        ("shop.public.order?", "shop.public.orders"),
        ("*", "anything"),
        ("shop.public.a-b_c", "shop.public.a-b_c"),
        ("a+b", "a+b"),
        ("a(b|c)", "a(b|c)"),
        ("a$", "a$"),
        ("^a", "^a"),
        ("a\\d", "a\\d"),
        ("{a,b}", "{a,b}"),
        ("a#b c&~", "a#b c&~"),
        ("shop.[ab]", "shop.a"),
        ("shop.[!ab]", "shop.c"),
        ("shop.[a-c]", "shop.b"),
        ("shop.[ab", "shop.[ab"),
    ],
)
def test_a_glob_matches(glob: str, topic: str) -> None:
    assert matches([glob], topic)


@pytest.mark.parametrize(
    ("glob", "topic"),
    [
        ("shop.public.orders", "shopXpublicXorders"),
        ("shop.public.*", "shop.publicorders"),
        ("shop.public.*", "other.shop.public.orders"),
        ("shop.public.orders", "shop.public.orders2"),
        ("shop.public.order?", "shop.public.order"),
        ("shop.public.order?", "shop.public.orderss"),
        ("a+b", "aab"),
        ("a(b|c)", "ab"),
        ("a|b", "a"),
        ("{a,b}", "a"),
        ("a\\d", "a5"),
        ("(?i)a", "A"),
        ("a", "A"),
        ("shop.[ab]", "shop.c"),
        ("shop.[!ab]", "shop.a"),
        ("[a^]", "b"),
    ],
)
def test_a_glob_matches_nothing_else(glob: str, topic: str) -> None:
    assert not matches([glob], topic)


def test_any_of_several_globs_may_match() -> None:
    globs = ["a.*", "b"]

    assert [matches(globs, topic) for topic in ("a.x", "b", "bx", "xa.x")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("glob", ["(", ")", "[", "]", "*)", "(?", "\\", "\\Q", "+", "{", "}{", "|"])
def test_a_hostile_glob_is_an_expression_of_its_own_letters(glob: str) -> None:
    pattern = topic_pattern(["before", glob, "after"])

    assert re.fullmatch(pattern, "before")
    assert re.fullmatch(pattern, glob.replace("*", "x").replace("?", "y"))
    assert not re.fullmatch(pattern, "")


def test_the_expression_uses_nothing_that_java_reads_differently() -> None:
    pattern = topic_pattern(["a.*", "b?[c]{d}", "é-_"])

    # No \Z, no atomic group, no \< that only one of the two knows; a letter is never escaped.
    assert "\\Z" not in pattern
    assert "(?>" not in pattern
    assert not re.search(r"\\[A-Za-z0-9]", pattern)
