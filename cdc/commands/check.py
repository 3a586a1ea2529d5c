"""`check`: whether everything a mirror needs answers, and what it would do with each table.

Nothing is changed, and no Spark is started: the catalog is read through pyiceberg.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyiceberg.catalog import Catalog, load_catalog

from cdc.commands.table_plans import TablePlan, TablePlanner, plan_lines
from cdc.config import CatalogType, MirrorConfig, reveal, unreadable
from cdc.decode.registry import open_registry
from cdc.dialect import Dialect
from cdc.errors import MirrorError
from cdc.runtime.tables.catalog_reader import sqlite_file
from cdc.source.topics import OffsetRange, Record, open_topics
from connectors import DIALECTS


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was tried."""

    part: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All findings, and the plan."""

    findings: tuple[Finding, ...]
    tables: tuple[TablePlan, ...]

    @property
    def exit_code(self) -> int:
        """Fail when anything would keep the mirror or one of its tables from running."""
        fine = [f.ok for f in self.findings] + [t.ok for t in self.tables]
        return 0 if all(fine) else 1

    def as_json(self) -> dict[str, Any]:
        """Give the report for `--output json`."""
        return {"ok": self.exit_code == 0, **asdict(self)}

    def lines(self) -> Iterator[str]:
        """Write the report for people."""
        for finding in self.findings:
            yield f"{finding.part:<9} {'ok' if finding.ok else 'FAILED':<7} {finding.detail}"
        if self.tables:
            yield ""
            yield from plan_lines(self.tables)


def check_mirror(config: MirrorConfig) -> CheckReport:
    """Try everything that the config points to."""
    secrets = unreadable(config)
    if secrets:
        return CheckReport(tuple(Finding("secret", False, str(p)) for p in secrets), ())
    dialect = DIALECTS[config.source.connector]
    findings = []
    ranges: dict[tuple[str, int], OffsetRange] = {}
    samples: dict[str, Record] = {}
    latest: dict[str, list[Record]] = {}
    try:
        with open_topics(config.kafka.client_options()) as reader:
            topics = reader.matching(config.source.topics)
            ranges = reader.ranges(topics)
            samples = reader.peek(ranges)
            latest = reader.latest(ranges)
        found = f"{len(topics)} topics match {', '.join(config.source.topics)}"
        findings.append(Finding("kafka", bool(topics), found))
    except MirrorError as error:
        findings.append(Finding("kafka", False, str(error)))
    if config.registry is not None:
        findings.append(_check_registry(config.registry.client_options()))
    catalog, finding = _check_catalog(config)
    findings.append(finding)
    if config.source.url is not None:
        findings.append(_check_source(dialect, reveal(config.source.url)))
    planner = TablePlanner(config, dialect, catalog)
    silent = sorted({topic for topic, _ in ranges} - samples.keys())
    planner.see(samples.values(), ranges, silent)
    tables = [
        plan
        for topic, sample in samples.items()
        for plan in planner.plans(sample, _waiting(topic, ranges), latest.get(topic, ()))
    ]
    tables += [plan for topic in silent for plan in planner.silent_plans(topic)]
    return CheckReport(tuple(findings), tuple(tables))


def _check_registry(options: Mapping[str, str]) -> Finding:
    try:
        registry = open_registry(options)
        subjects = registry.subjects()
    except MirrorError as error:
        return Finding("registry", False, str(error))
    return Finding("registry", True, f"{len(subjects)} subjects at {registry.address}")


def _check_catalog(config: MirrorConfig) -> tuple[Catalog | None, Finding]:
    properties = config.catalog.properties()
    kind = config.catalog.type
    if kind is CatalogType.HADOOP:
        return None, Finding("catalog", True, f"hadoop at {properties['warehouse']} (not opened)")
    file = sqlite_file(properties)
    if file is not None and not file.exists():
        return None, _check_new_sqlite(file)
    try:
        catalog = load_catalog(config.name, **properties)
        spaces = catalog.list_namespaces()
    # pyiceberg passes on whatever its catalogs' client libraries raise.
    except Exception as error:
        reason = str(error).split("\n")[0] or type(error).__name__
        return None, Finding("catalog", False, f"{kind} does not answer: {reason}. See [catalog].")
    return catalog, Finding("catalog", True, f"{kind}, {len(spaces)} namespaces")


def _check_new_sqlite(file: Path) -> Finding:
    parent = next(folder for folder in file.parents if folder.exists())
    writable = parent.is_dir() and os.access(parent, os.W_OK)
    detail = f"{file} will be made" if writable else f"{parent} cannot be written: see catalog.uri"
    return Finding("catalog", writable, detail)


def _check_source(dialect: Dialect, url: str) -> Finding:
    try:
        return Finding("source", True, dialect.probe(url))
    except MirrorError as error:
        return Finding("source", False, str(error))


def _waiting(topic: str, ranges: Mapping[tuple[str, int], OffsetRange]) -> dict[int, OffsetRange]:
    return {partition: place for (name, partition), place in ranges.items() if name == topic}
