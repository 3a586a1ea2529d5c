"""`database-mirror quarantine`: what could not be applied, and what becomes of it."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cdc.cli.arguments import config_argument, read_config, verbose_option
from cdc.cli.show import output_option, show

Command = Callable[..., Any]
CHOICES: tuple[Callable[[Command], Command], ...] = (
    click.option("--table", help="Only those of this mirrored table, such as shop.orders."),
    click.option("--topic", help="Only those of this topic."),
    click.option(
        "--partition", type=click.IntRange(min=0), help="Only those of this Kafka partition."
    ),
    click.option("--offset", type=click.IntRange(min=0), help="Only those with this offset."),
)
table_option = CHOICES[0]


def choices(command: Command) -> Command:
    """Let a command take what chooses single records: `table`, `topic`, `partition`, `offset`."""
    for option in reversed(CHOICES):
        command = option(command)
    return command


@click.group()
def quarantine() -> None:
    """Look at the records that could not be applied, replay them, or drop them."""


@quarantine.command("list")
@config_argument
@table_option
@output_option
@verbose_option
def list_(config: Path, table: str | None, output: str, verbose: bool) -> None:
    """Count the records in quarantine by table, topic and reason."""
    settings = read_config(config, verbose=verbose)
    from cdc.commands.quarantine_view import Chosen, QuarantineView
    from cdc.observe.quarantine_pages import GroupPage

    show(GroupPage(QuarantineView(settings).groups(Chosen(table))), output)


@quarantine.command("show")
@config_argument
@choices
@click.option("--limit", type=click.IntRange(min=1), default=20, help="Most records to show.")
@output_option
@verbose_option
def show_(config: Path, limit: int, output: str, verbose: bool, **chosen: Any) -> None:
    """Show single records with their reason, key and value."""
    settings = read_config(config, verbose=verbose)
    from cdc.commands.quarantine_view import Chosen, QuarantineView
    from cdc.observe.quarantine_pages import RecordPage

    show(RecordPage(QuarantineView(settings).records(Chosen(**chosen), limit)), output)


@quarantine.command()
@config_argument
@table_option
@click.option("--dry-run", is_flag=True, help="Tell what would be done, and change nothing.")
@click.option(
    "--anyway",
    is_flag=True,
    help="Also apply records behind which Kafka has deleted others that may be newer.",
)
@output_option
@verbose_option
@click.pass_context
def replay(
    ctx: click.Context,
    config: Path,
    table: str | None,
    dry_run: bool,
    anyway: bool,
    output: str,
    verbose: bool,
) -> None:
    """Apply the records that can be read now, unless a newer change of their row is applied.

    It may run beside the mirror. Exits with 1 if some records stay in quarantine.
    """
    settings = read_config(config, verbose=verbose)
    from cdc.commands.quarantine_commands import replay_quarantine  # imports pyspark

    ctx.exit(show(replay_quarantine(settings, table, dry_run=dry_run, anyway=anyway), output))


@quarantine.command()
@config_argument
@choices
@click.option("--yes", is_flag=True, help="Do not ask.")
@verbose_option
def drop(config: Path, yes: bool, verbose: bool, **values: Any) -> None:
    """Remove records from the quarantine for good; without a choice, all of them."""
    settings = read_config(config, verbose=verbose)
    if not yes and not interactive():
        raise click.UsageError("Nobody is there to ask. Add --yes to remove records for good.")
    from cdc.commands.quarantine_view import Chosen, QuarantineView

    chosen = Chosen(**values)
    if not yes:
        count = QuarantineView(settings).count(chosen)
        click.confirm(f"Remove {count} records for good?", abort=True)
    from cdc.commands.quarantine_commands import drop_quarantined  # imports pyspark

    click.echo(f"removed {drop_quarantined(settings, chosen)} records")


def interactive() -> bool:
    """Say whether somebody can be asked."""
    return sys.stdin.isatty()
