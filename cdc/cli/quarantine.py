"""`database-mirror quarantine`: what could not be applied, and what becomes of it."""

import json
from pathlib import Path

import click

from cdc.cli.arguments import config_argument, load_applicable
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
    settings = load_applicable(config)
    from cdc.runtime.quarantine_pages import group_lines, group_values
    from cdc.runtime.quarantine_view import Chosen, QuarantineView

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
    settings = load_applicable(config)
    from cdc.runtime.quarantine_pages import record_lines, record_values
    from cdc.runtime.quarantine_view import Chosen, QuarantineView

    records = QuarantineView(settings).records(Chosen(table, topic, partition, offset), limit)
    if output == "json":
        click.echo(json.dumps([record_values(record) for record in records], indent=2))
        return
    for line in record_lines(records):
        click.echo(line)
