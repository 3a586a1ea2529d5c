"""Every error is picklable, names its facts, and is shown by `cdc.errors`."""

import copy
import pickle
import types
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, MISSING, Field, fields
from functools import partial
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import cdc.errors
from cdc.errors import (
    JavaMissingError,
    LostRecordsError,
    MirrorError,
    NoKeyError,
    Problem,
    RemadeTableError,
    SecretError,
    TooManyBadRecordsError,
    UnmappableTypeError,
)


def pickled(error: MirrorError, protocol: int) -> Any:
    return pickle.loads(pickle.dumps(error, protocol))


WAYS: dict[str, Callable[[Any], Any]] = {
    **{f"pickle {n}": partial(pickled, protocol=n) for n in range(pickle.HIGHEST_PROTOCOL + 1)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
# What a text is chosen by, and does not show.
UNSHOWN = {(RemadeTableError, "policy")}
SECRETS = {"password", "secret", "token", "credentials", "value", "key_value", "record"}


def subclasses(of: type[MirrorError]) -> Iterator[type[MirrorError]]:
    for found in of.__subclasses__():
        if found.__module__.startswith(("cdc.", "connectors.")):
            yield found
        yield from subclasses(found)


ERRORS = sorted(set(subclasses(MirrorError)), key=lambda kind: kind.__name__)


def facts_of(error: MirrorError) -> list[Field[Any]]:
    return list(fields(error))  # type: ignore[arg-type]  # every subclass is a dataclass


def sample(name: str, kind: Any, place: int, *, bare: bool) -> Any:
    """Make a value of a field's type, which no other field of the error has."""
    if isinstance(kind, types.UnionType):
        (whole,) = (part for part in get_args(kind) if part is not types.NoneType)
        return None if bare else sample(name, whole, place, bare=bare)
    if get_origin(kind) is tuple:
        first, rest = get_args(kind)
        parts = (first,) * (1 if bare else 2) if rest is ... else (first, rest)
        return tuple(sample(f"{name}{i}", p, place + i, bare=bare) for i, p in enumerate(parts))
    if kind is Problem:
        return Problem(f"path of {name}", f"text of {name}", "" if bare else f"advice of {name}")
    return {str: f"a {name}", int: 1000 + place, float: 1000.0 + place}[kind]


def built(kind: type[MirrorError], *, bare: bool) -> MirrorError:
    """Make an error; a bare one has nothing that may be left out."""
    hints = get_type_hints(kind)
    needed = [f for f in fields(kind) if not bare or f.default is MISSING]  # type: ignore[arg-type]
    return kind(*(sample(f.name, hints[f.name], 10 * i, bare=bare) for i, f in enumerate(needed)))


MORE = [  # whose words depend on their facts
    UnmappableTypeError("shop.orders", "at", "date", "timestamp"),
    RemadeTableError("public.orders", "shop.orders", "fail"),
    NoKeyError("shop.orders", ()),
    LostRecordsError("orders", 3, 5, 7, 9),
    JavaMissingError(17, 11),
    SecretError("", "env:X", "the environment variable X is not set"),
]
SAMPLES = [
    *(pytest.param(built(kind, bare=False), id=kind.__name__) for kind in ERRORS),
    *(pytest.param(built(kind, bare=True), id=f"{kind.__name__}-bare") for kind in ERRORS),
    *(pytest.param(error, id=f"{type(error).__name__}-more") for error in MORE),
]


def pieces(fact: Any) -> Iterator[str]:
    """Give what a text has to have of a fact."""
    if isinstance(fact, tuple):
        for part in fact:
            yield from pieces(part)
    elif isinstance(fact, Problem):
        yield from filter(None, (fact.path, fact.text, fact.advice))
    elif fact is not None:
        yield f"{fact:g}" if isinstance(fact, float) else str(fact)


def test_the_errors_that_are_shown_are_all_that_there_are() -> None:
    shown = {name for name in cdc.errors.__all__ if name not in ("MirrorError", "Problem")}

    assert shown == {kind.__name__ for kind in ERRORS}
    assert all(name.endswith("Error") for name in shown)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", SAMPLES)
def test_an_error_comes_back_whole(error: MirrorError, way: str) -> None:
    again = WAYS[way](error)

    assert again is not error
    assert type(again) is type(error)
    assert (vars(again), again.args, str(again)) == (vars(error), error.args, str(error))
    assert (again.exit_code, again.retryable) == (error.exit_code, error.retryable)


@pytest.mark.parametrize("error", SAMPLES)
def test_the_text_has_every_fact_and_nothing_unfilled(error: MirrorError) -> None:
    shown = {f.name: vars(error)[f.name] for f in facts_of(error)}
    told = [fact for name, fact in shown.items() if (type(error), name) not in UNSHOWN]

    assert len(str(error)) > 20
    assert [p for fact in told for p in pieces(fact) if p not in str(error)] == []
    assert [mark for mark in ("{", "}", "None", "()", "('", "  ,") if mark in str(error)] == []


@pytest.mark.parametrize("error", SAMPLES)
def test_the_repr_names_the_facts_and_none_is_a_secret(error: MirrorError) -> None:
    names = [f.name for f in facts_of(error)]

    facts = ", ".join(f"{name}={vars(error)[name]!r}" for name in names)
    assert repr(error) == f"{type(error).__name__}({facts})"
    assert error.args == tuple(vars(error)[name] for name in names)
    assert SECRETS.isdisjoint(names)


class FullDiskError(MirrorError):
    """An error with all kinds of fields."""

    exit_code = 3

    folder: str
    files: tuple[str, ...] = ()
    _: KW_ONLY
    free: int = 0
    text = "{folder} is full: {files:; } need more than {free} bytes."


class FullCacheError(FullDiskError):
    """One more field, and the text of the other."""

    owner: str | None = None


def test_fields_may_have_defaults_or_be_for_keywords_alone() -> None:
    error = FullCacheError("/tmp", ("a", "b"), free=7)

    assert str(error) == "/tmp is full: a; b need more than 7 bytes."
    assert repr(error) == "FullCacheError(folder='/tmp', files=('a', 'b'), free=7, owner=None)"
    assert error.args == ("/tmp", ("a", "b"), 7, None)
    assert (error.exit_code, error.retryable) == (3, False)
    with pytest.raises(TypeError):
        FullDiskError()  # type: ignore[call-arg]


@pytest.mark.parametrize("way", WAYS)
def test_what_was_raised_comes_back_with_its_notes(way: str) -> None:
    with pytest.raises(FullCacheError) as raised:
        try:
            raise OSError("no space left")
        except OSError as cause:
            raise FullCacheError("/{x}", free=7, owner="root") from cause
    raised.value.add_note("while merging")

    again = WAYS[way](raised.value)

    assert isinstance(raised.value.__cause__, OSError)
    assert again.__notes__ == ["while merging"]
    assert (again.free, again.owner, str(again)) == (7, "root", str(raised.value))
    assert str(again).startswith("/{x} is full")  # braces of a fact are no template
    assert again.args == raised.value.args


def test_an_error_equals_nothing_but_itself() -> None:
    one, other = FullDiskError("/tmp"), FullDiskError("/tmp")

    assert one == one and one != other
    assert len({one, other}) == 2


def test_the_place_of_a_bad_record_is_named() -> None:
    error = TooManyBadRecordsError("shop.orders", 9, 10, 1, (3, 77), "it is not JSON")

    assert "partition 3, offset 77: it is not JSON" in str(error)
