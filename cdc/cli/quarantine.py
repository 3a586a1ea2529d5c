"""`database-mirror quarantine`: what could not be applied, and what becomes of it."""

import json
import sys
from pathlib import Path

import click

from cdc.cli.arguments import config_argument
from cdc.cli.logs import set_up_logging

table_option = click.option(
    "--table", help="Only those of this mirrored table, such as shop.orders."
)
topic_option = click.option("--topic", help="Only those of this topic.")
partition_option = click.option(
    "--partition", type=click.IntRange(min=0), help="Only those of this Kafka partition."
)
offset_option = click.option(
    "--offset", type=click.IntRange(min=0), help="Only those with this offset."
)
output_option = click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", help="Form of the result."
)
verbose_option = click.option("-v", "--verbose", is_flag=True, help="Log every step to stderr.")


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
    set_up_logging(verbose=verbose)
    from cdc.config import load_config

    settings = load_config(config)
    from cdc.commands.quarantine_view import Chosen, QuarantineView
    from cdc.observe.quarantine_pages import group_lines, group_values

    groups = QuarantineView(settings).groups(Chosen(table))
    if output == "json":
        click.echo(json.dumps([group_values(group) for group in groups], indent=2))
        return
    for line in group_lines(groups):
        click.echo(line)


@quarantine.command()
@config_argument
@table_option
@topic_option
@partition_option
@offset_option
@click.option("--limit", type=click.IntRange(min=1), default=20, help="Most records to show.")
@output_option
@verbose_option
def show(
    config: Path,
    table: str | None,
    topic: str | None,
    partition: int | None,
    offset: int | None,
    limit: int,
    output: str,
    verbose: bool,
) -> None:
    """Show single records with their reason, key and value."""
    set_up_logging(verbose=verbose)
    from cdc.config import load_config

    settings = load_config(config)
    from cdc.commands.quarantine_view import Chosen, QuarantineView
    from cdc.observe.quarantine_pages import record_lines, record_values

    records = QuarantineView(settings).records(Chosen(table, topic, partition, offset), limit)
    if output == "json":
        click.echo(json.dumps([record_values(record) for record in records], indent=2))
        return
    for line in record_lines(records):
        click.echo(line)


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
    from cdc.config import load_config

    settings = load_config(config)
    set_up_logging(verbose=verbose)
    from cdc.commands.quarantine_commands import replay_quarantine  # imports pyspark

    report = replay_quarantine(settings, table, dry_run=dry_run, anyway=anyway)
    if output == "json":
        click.echo(json.dumps(report.as_dict(), indent=2))
    else:
        for line in report.lines():
            click.echo(line)
    ctx.exit(report.exit_code)


@quarantine.command()
@config_argument
@table_option
@topic_option
@partition_option
@offset_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@verbose_option
def drop(
    config: Path,
    table: str | None,
    topic: str | None,
    partition: int | None,
    offset: int | None,
    yes: bool,
    verbose: bool,
) -> None:
    """Remove records from the quarantine for good; without a choice, all of them."""
    set_up_logging(verbose=verbose)
    from cdc.config import load_config

    settings = load_config(config)
    if not yes and not interactive():
        raise click.UsageError("Nobody is there to ask. Add --yes to remove records for good.")
    from cdc.commands.quarantine_view import Chosen, QuarantineView

    chosen = Chosen(table, topic, partition, offset)
    if not yes:
        count = QuarantineView(settings).count(chosen)
        click.confirm(f"Remove {count} records for good?", abort=True)
    from cdc.commands.quarantine_commands import drop_quarantined  # imports pyspark

    click.echo(f"removed {drop_quarantined(settings, chosen)} records")


def interactive() -> bool:
    """Say whether somebody can be asked."""
    return sys.stdin.isatty()
