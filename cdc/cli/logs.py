"""Where the log goes: stderr, one line per event."""

import logging

import click

FORMAT = "%(asctime)s %(levelname)s %(message)s"
OURS = ("cdc", "connectors")


class EchoHandler(logging.Handler):
    """Writes to whatever stderr is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        try:
            click.echo(self.format(record), err=True)
        except Exception:
            self.handleError(record)


def set_up_logging(*, verbose: bool) -> None:
    """Show this project's log on stderr, and only the warnings of others.

    Their debug log may hold whatever passes through them, so `verbose` does not reach it. Called
    again it changes the level and adds no second handler.
    """
    root = logging.getLogger()
    if not any(isinstance(handler, EchoHandler) for handler in root.handlers):
        handler = EchoHandler()
        handler.setFormatter(logging.Formatter(FORMAT))
        root.addHandler(handler)
    for name in OURS:
        logging.getLogger(name).setLevel(logging.DEBUG if verbose else logging.INFO)
