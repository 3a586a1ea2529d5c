"""What the demo needs of the place it reports to."""

from typing import Protocol


class Screen(Protocol):
    """Shows lines, and one passing line that tells how far something is."""

    def line(self, text: str = "") -> None:
        """Show a line that stays."""

    def update(self, text: str) -> None:
        """Show how far something is; the next line or update may take its place."""
