"""What a replay of the quarantine did."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cdc.observe.quarantine_pages import NOTHING


@dataclass(frozen=True, slots=True)
class Staying:
    """Records that stay in quarantine for one reason."""

    reason: str
    records: int
    partition: int  # of the first of them
    offset: int


@dataclass(frozen=True, slots=True)
class TableReplay:
    """What became of the records of one table."""

    table: str
    topic: str
    records: int
    applied: int = 0
    superseded: int = 0  # a newer change, or a truncate, had been applied
    there: int = 0  # a replay that was cut off had applied them
    stays: tuple[Staying, ...] = ()
    failure: str | None = None  # why nothing could be done

    @property
    def done(self) -> bool:
        """Whether no record is left."""
        return not self.stays and self.failure is None


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What became of all records."""

    tables: tuple[TableReplay, ...]
    dry_run: bool = False

    @property
    def exit_code(self) -> int:
        """Fail when something could not be replayed."""
        return 0 if all(table.done for table in self.tables) else 1

    def as_json(self) -> dict[str, Any]:
        """Give the report for `--output json`."""
        return {"ok": self.exit_code == 0, **asdict(self)}

    def lines(self) -> Iterator[str]:
        """Write the report for people."""
        if not self.tables:
            yield NOTHING
        for table in self.tables:
            kept = table.records if table.failure else sum(s.records for s in table.stays)
            there = f"  already there={table.there}" if table.there else ""
            yield (
                f"{table.table}  {'would apply' if self.dry_run else 'applied'}={table.applied}  "
                f"superseded={table.superseded}{there}  stays={kept}"
            )
            if table.failure:
                yield f"    {table.failure}"
            for staying in table.stays:
                yield (
                    f"    {staying.records} from {staying.partition}:{staying.offset} on: "
                    f"{staying.reason}"
                )


def staying(reasons: Mapping[tuple[int, int], str]) -> tuple[Staying, ...]:
    """Put records that stay together by their reasons; they are named by partition and offset."""
    found: dict[str, list[tuple[int, int]]] = {}
    for at, reason in sorted(reasons.items()):
        found.setdefault(reason, []).append(at)
    return tuple(Staying(reason, len(offsets), *offsets[0]) for reason, offsets in found.items())
