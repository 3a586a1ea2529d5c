"""`max_quarantined`: a number of records, or a share that a few records never exceed."""

import pytest

from cdc.config import MirrorConfig, TableDefaults, TableRule
from cdc.config.ceiling import USUAL, Ceiling, most_quarantined
from cdc.config.checks import Misfit
from cdc.config.load import parse_config
from cdc.errors import ConfigError

SMALLEST = """
name = "shop"
[source]
connector = "postgres"
topics = ["shop.public.*"]
[kafka]
"bootstrap.servers" = "localhost:9092"
"""


def load(tables: str) -> MirrorConfig:
    return parse_config(f"{SMALLEST}\n{tables}".encode(), "shop.toml")


@pytest.mark.parametrize(
    ("ceiling", "records", "most"),
    [
        (0, 100_000, 0),
        (7, 10, 7),
        ("7", 10, 7),
        ("5%", 100_000, 5_000),
        ("2.5 %", 100_000, 2_500),
        (0.05, 100_000, 5_000),
        (1.0, 5_000, 5_000),
        (1, 5_000, 1),
        ("5%", 10, 100),
        (0.0, 10, 100),
        ("10%", 1_009, 100),
        ("10%", 1_010, 101),
    ],
)
def test_a_ceiling_is_a_count_or_a_share_with_a_floor(
    ceiling: Ceiling, records: int, most: int
) -> None:
    assert most_quarantined(ceiling, records) == most


@pytest.mark.parametrize("wrong", ["true", "-1", "1.5", '"many"', '"101%"', '"-5%"', "[1]", "{}"])
@pytest.mark.parametrize("place", ["tables.defaults", "tables.rules[0]"])
def test_anything_else_is_refused_with_its_place(place: str, wrong: str) -> None:
    head = "[tables.defaults]" if place.endswith("defaults") else "[[tables.rules]]\nmatch = 'a.b'"

    with pytest.raises(ConfigError) as raised:
        load(f"{head}\nmax_quarantined = {wrong}")

    (problem,) = raised.value.problems
    assert problem.path == f"{place}.max_quarantined"
    assert "0.05" in problem.advice


def test_a_rule_goes_over_the_defaults() -> None:
    config = load(
        "[tables.defaults]\nmax_quarantined = 5\n"
        "[[tables.rules]]\nmatch = 'public.orders'\nmax_quarantined = '1%'"
    )

    assert config.tables.rule_for("public", "orders").max_quarantined == "1%"
    assert config.tables.rule_for("public", "items").max_quarantined == 5
    assert load("").tables.rule_for("public", "items").max_quarantined == USUAL


def test_a_rule_of_none_may_be_set_over_the_defaults() -> None:
    config = load(
        "[tables.defaults]\nmax_quarantined = 5\n"
        "[[tables.rules]]\nmatch = 'public.orders'\nmax_quarantined = 0"
    )

    assert config.tables.rule_for("public", "orders").max_quarantined == 0


def test_it_can_come_from_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOST_BAD", "3%")

    config = load("[tables.defaults]\nmax_quarantined = 'env:MOST_BAD'")

    assert config.tables.defaults.max_quarantined == "3%"


def test_objects_made_by_hand_are_checked_too() -> None:
    with pytest.raises(Misfit):
        TableDefaults(max_quarantined="lots")
    with pytest.raises(Misfit):
        TableRule(match="a.b", max_quarantined=-1)
