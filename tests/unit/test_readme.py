"""README's generated parts are those that the code generates."""

from pathlib import Path

from cdc.config.reference import option_table

README = Path(__file__).parents[2] / "README.md"
START, END = "<!-- options -->", "<!-- /options -->"


def test_the_option_table_is_that_of_the_classes() -> None:
    text = README.read_text(encoding="utf-8")

    shown = text.partition(START)[2].partition(END)[0]

    assert shown.strip() == option_table().strip(), "paste: python -m cdc.config.reference"
