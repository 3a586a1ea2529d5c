"""The pages' generated parts are those that the code generates."""

import re
from pathlib import Path

import pytest

from cdc.config.load import parse_config
from cdc.config.reference import options_page

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
CONFIG_PAGE = ROOT / "docs" / "config.md"


def test_the_option_tables_are_those_of_the_classes() -> None:
    page = CONFIG_PAGE if CONFIG_PAGE.exists() else README

    shown = page.read_text(encoding="utf-8")

    assert options_page().strip() in shown, "paste: python -m cdc.config.reference"


SMALLEST = """
name = "shop"
[source]
connector = "postgres"
topics = ["shop.public.*"]
[kafka]
"bootstrap.servers" = "localhost:9092"
"""
EXAMPLES = re.findall(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_config_that_is_shown_is_one(text: str) -> None:
    whole = text if text.startswith("name") else SMALLEST + text

    config = parse_config(whole.encode(), "shop.toml")

    assert config.name == "shop"
