"""What a value must look like. Each check raises Misfit, which says what to write instead."""

import difflib
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, get_type_hints

from cdc.config.type_choices import PRIMITIVES, parse_type_choice, timed
from cdc.errors import Problem

TYPE_NAMES = (*PRIMITIVES, "decimal(p,s)", "list<...>")
PLACEHOLDERS = ("server", "database", "schema", "table")
# What the registry's client takes besides its address, in the names of Confluent's clients.
REGISTRY_OPTIONS = (
    "basic.auth.credentials.source",
    "basic.auth.user.info",
    "bearer.auth.credentials.source",
    "bearer.auth.identity.pool.id",
    "bearer.auth.logical.cluster",
    "bearer.auth.token",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.key.password",
)
# Java's clients take each of them under this prefix as well.
REGISTRY_PREFIX = "schema.registry."
NO_REGISTRY = Problem(
    "registry",
    'is missing: source.format = "avro" needs it',
    'Add [registry] with its address, such as url = "http://localhost:8081".',
)

_SAFE_WORD = re.compile(r"[A-Za-z0-9_-]+")
_GLOB = re.compile(r"[*?\[]")
_TOPIC_GLOB = re.compile(r"[A-Za-z0-9._*?!\[\]-]+")
_SECONDS = {
    "microsecond": 1e-6,
    "millisecond": 1e-3,
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
}
_INTERVAL = re.compile(rf"\d+ +({'|'.join(_SECONDS)})s?", re.IGNORECASE)


class Misfit(ValueError):
    """Values that do not fit their settings. The paths start at the place that is checked."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "; ".join(str(problem) for problem in self.problems)


@dataclass(frozen=True, slots=True)
class Check:
    """Marks a setting, within its `Annotated`, with the check of its value.

    Validation calls it for every setting by itself, so that one wrong setting hides no other.
    """

    check: Callable[[Any], None]
    before: bool = False  # look at the value as written, before it is turned into its type

    def __get_pydantic_core_schema__(
        self, source: object, handler: Callable[[object], dict[str, Any]]
    ) -> dict[str, Any]:
        """Put the check around the setting's type. A core schema is a plain dict: no import."""

        def checked(value: object) -> object:
            self.check(value)
            return value

        return {
            "type": "function-before" if self.before else "function-after",
            "function": {"type": "no-info", "function": checked},
            "schema": handler(source),
        }


def check_settings(settings: object) -> None:
    """Check a config object that was built by hand as loading would have checked it.

    Raises:
        Misfit: With all settings that do not fit.
    """
    problems: list[Problem] = []
    for name, hint in get_type_hints(type(settings), include_extras=True).items():
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Check):
                try:
                    mark.check(getattr(settings, name))
                except Misfit as misfit:
                    problems.extend(
                        Problem(f"{name}.{problem.path}".rstrip("."), problem.text, problem.advice)
                        for problem in misfit.problems
                    )
    if problems:
        raise Misfit(*problems)


class Settings:
    """A table of a config file: valid once built, whether it was read from a file or made by hand.

    Its subclasses are frozen dataclasses; their fields are the settings, with check and meaning.
    """

    __slots__ = ()
    # Validation refuses settings that it does not know.
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        """Check the settings one by one."""
        check_settings(self)


def nearest(word: str, words: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Find what was probably meant."""
    by_lower = {candidate.lower().replace("-", "_"): candidate for candidate in words}
    found = difflib.get_close_matches(word.lower().replace("-", "_"), by_lower, n=1, cutoff=cutoff)
    return by_lower[found[0]] if found else None


def safe_word(value: str) -> None:
    """Accept a word that is safe in a file name, a table property and a metric label."""
    if not _SAFE_WORD.fullmatch(value):
        raise _misfit(
            "must be one word of letters, digits, _ and -", 'Such as "shop" or "shop-eu".'
        )


def topic_globs(value: Sequence[str]) -> None:
    """Accept at least one glob, each of characters that a topic may have."""
    if not value:
        raise _misfit("names no topic", 'Such as ["shop.public.*"].')
    problems = [
        Problem(f"[{index}]", "is no topic name or glob", 'Such as "shop.public.*".')
        for index, glob in enumerate(value)
        if not _TOPIC_GLOB.fullmatch(glob)
    ]
    if problems:
        raise Misfit(*problems)


def table_glob(value: str) -> None:
    """Accept a glob over schema.table."""
    schema, _, table = value.partition(".")
    if not schema or not table:
        raise _misfit("must look like schema.table", 'Such as "public.orders" or "*.orders".')


def former_name(value: str | None) -> None:
    """Accept the name of one table, or none."""
    schema, _, table = (value or "").partition(".")
    if value and (not schema or not table or _GLOB.search(value)):
        raise _misfit("must be the name of one table", 'Such as "public.orders".')


def renamed_globs(match: str, former: str) -> list[Problem]:
    """Say what is wrong with a former name for all tables that match a glob."""
    if former and _GLOB.search(match):
        advice = "Give the table a rule of its own, with its whole name as match."
        return [Problem("renamed_from", f"is one name, but {match} may be many", advice)]
    if former and former == match:
        return [Problem("renamed_from", "is the name that the table has now", "Remove it.")]
    return []


def column_names(value: Sequence[str] | None) -> None:
    """Accept names that are neither empty nor given twice."""
    names = value or ()
    problems = [
        Problem(f"[{index}]", "is there twice" if name.strip() else "is empty", "Remove it.")
        for index, name in enumerate(names)
        if not name.strip() or name in names[:index]
    ]
    if problems:
        raise Misfit(*problems)


def type_choices(value: Mapping[str, str] | None) -> None:
    """Accept a type for each column: see `type_choices.py` for the grammar."""
    problems = []
    for column, text in (value or {}).items():
        try:
            if not column.strip():
                raise ValueError("names no column")
            parse_type_choice(text)
        except ValueError as error:
            typo = nearest(text.split("(")[0], TYPE_NAMES)
            advice = f"Did you mean {typo}?" if typo else f"Known are {', '.join(TYPE_NAMES)}."
            problems.append(Problem(column, str(error), advice))
    if problems:
        raise Misfit(*problems)


def hashed_and_more(
    hashed: Sequence[str], excluded: Sequence[str], types: Mapping[str, str]
) -> list[Problem]:
    """List the columns that are to be hashed and to be something else as well."""
    return [
        *(
            Problem("hash", f"holds {c}, which is excluded", "Remove one.")
            for c in hashed
            if c in excluded
        ),
        *(
            Problem(f"types.{c}", "is the type of a hashed column, which is text", "Remove one.")
            for c in hashed
            if c in types
        ),
    ]


def unmergeable_types(path: str, types: Mapping[str, str]) -> list[Problem]:
    """List the columns for which a type is chosen that Spark cannot merge."""
    return [
        Problem(
            f"{path}.{column}",
            "is a time, which Spark cannot merge",
            'Choose "string" or "long", or deletes = "equality".',
        )
        for column in timed(types)
    ]


def interval(value: str) -> None:
    """Accept an interval as Spark reads it: a number and a unit."""
    if not _INTERVAL.fullmatch(value):
        raise _misfit("must be a number and a unit", 'Such as "10 seconds" or "1 minute".')


def interval_seconds(value: str) -> float:
    """Read an interval."""
    number, unit = value.split()
    return int(number) * _SECONDS[unit.lower().rstrip("s")]


def format_version(value: object) -> None:
    """Accept the versions of Iceberg's format that have deletes."""
    if value is not None and (isinstance(value, bool) or value not in (2, 3)):
        raise _misfit("must be 2 or 3", "Version 3 has deletion vectors; fewer engines read it.")


def positive(value: object) -> None:
    """Accept a count of at least one; `true` is no count, though Python would take it for 1."""
    if isinstance(value, bool) or (isinstance(value, int) and value < 1):
        raise _misfit("must be a whole number of at least 1", "Such as 500000.")


def location(value: str | None) -> None:
    """Accept a path or a URI."""
    if value is not None and (not value.strip() or "\0" in value):
        raise _misfit(
            "must be a path or a URI", 'Such as "mirror/warehouse" or "s3://bucket/folder".'
        )


def catalog_uri(value: object) -> None:
    """Accept any URI but a database in memory, which no other process can see."""
    if isinstance(value, str):
        location(value)
        if re.fullmatch(r"sqlite(\+\w+)?:(//(/:memory:.*)?)?", value):
            raise _misfit(
                "is a catalog in memory, which ends with the process",
                'Name a file, such as "sqlite:///mirror/catalog.db".',
            )


def address(value: object) -> None:
    """Accept an http address, or a secret that holds one."""
    if isinstance(value, str) and not re.match(r"https?://[^\s/]", value):
        raise _misfit("must be an http:// or https:// address", 'Such as "http://localhost:8081".')


def addresses(value: object) -> None:
    """Accept http addresses with commas between them, or a secret that holds some."""
    if isinstance(value, str):
        for one in value.split(","):
            address(one.strip())


def table_template(value: str) -> None:
    """Accept a template that gives every source table a namespace and a name."""
    advice = 'Such as "{database}.{table}"; known are ' + " ".join(
        f"{{{name}}}" for name in PLACEHOLDERS
    )
    try:
        pieces = list(string.Formatter().parse(value))
    except ValueError:
        raise _misfit("has a brace too many or too few", advice) from None
    problems = [
        Problem("", f"has the unknown placeholder {{{name}}}", advice)
        for _, name, spec, conversion in pieces
        if name is not None and (name not in PLACEHOLDERS or spec or conversion)
    ]
    if "{{" in value or "}}" in value:
        problems.append(Problem("", "has doubled braces", advice))
    if not any(name == "table" for _, name, _, _ in pieces):
        problems.append(Problem("", "has no {table}, so all tables would be one", advice))
    if "." not in value:
        problems.append(Problem("", "has no dot between namespace and table", advice))
    elif not all(part.strip() for part in value.split(".")):
        problems.append(Problem("", "has an empty part", advice))
    if problems:
        raise Misfit(*problems)


def has_bootstrap_servers(options: Mapping[str, object]) -> None:
    """Accept Kafka options that say where Kafka is."""
    if not options.get("bootstrap.servers"):
        typo = nearest("bootstrap.servers", options)
        advice = f"It is written as {typo!r} now." if typo else 'Such as "localhost:9092".'
        raise Misfit(Problem("bootstrap.servers", "is missing", advice))


def catalog_options(options: Mapping[str, object]) -> None:
    """Accept any option that is no misspelt setting of [catalog]."""
    _no_misspelling(options, ("type", "uri", "warehouse"))


def registry_options(options: Mapping[str, object]) -> None:
    """Accept the options that the registry's client has; another would do nothing unnoticed."""
    known = ("url", *REGISTRY_OPTIONS)
    problems = []
    for name in options:
        if name.removeprefix(REGISTRY_PREFIX) not in REGISTRY_OPTIONS:
            meant = nearest(name.removeprefix(REGISTRY_PREFIX), known, cutoff=0.65)
            advice = f"Did you mean {meant}?" if meant else f"Known are {', '.join(known)}."
            problems.append(Problem(name, "is unknown", advice))
    if problems:
        raise Misfit(*problems)


def spark_options(options: Mapping[str, object]) -> None:
    """Accept Spark's own options."""
    problems = []
    for name in options:
        if not name.startswith("spark."):
            typo = nearest(name, ("master",))
            problems.append(
                Problem(name, "is no Spark option", f'Write "{typo or "spark." + name}".')
            )
    if problems:
        raise Misfit(*problems)


def _no_misspelling(options: Mapping[str, object], named: Sequence[str]) -> None:
    problems = [
        Problem(name, "is unknown", f"Did you mean {meant}?")
        for name in options
        if "." not in name and (meant := nearest(name, named, cutoff=0.65))
    ]
    if problems:
        raise Misfit(*problems)


def _misfit(text: str, advice: str) -> Misfit:
    return Misfit(Problem("", text, advice))
