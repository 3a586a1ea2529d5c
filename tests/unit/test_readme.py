"""README's generated parts are those that the code generates."""

import re
from pathlib import Path

import pytest

from cdc.config.load import parse_config
from cdc.config.reference import option_table

README = Path(__file__).parents[2] / "README.md"
START, END = "<!-- options -->", "<!-- /options -->"


def test_the_option_table_is_that_of_the_classes() -> None:
    text = README.read_text(encoding="utf-8")

    shown = text.partition(START)[2].partition(END)[0]

    assert shown.strip() == option_table().strip(), "paste: python -m cdc.config.reference"


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
