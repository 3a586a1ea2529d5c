"""How the columns of the tables change during a run, planned beforehand and from a seed."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tests.chaos.shapes import ADDED_KINDS, BY_NAME, SHAPES, WIDER, Column, Database, Shape

# After which parts of the workload which tables get another column, where nothing else is asked.
ADDED_COLUMNS = (
    *((0.15, "accounts"), (0.25, "order_lines"), (0.4, "documents"), (0.5, "sparse")),
    *((0.6, "days"), (0.7, "accounts"), (0.8, "sparse")),
)
# The columns that random statements add, and what each of them may be renamed to.
EXTRA, RENAMED = "extra_{}", "extra_{}b"
MOST_EXTRAS = 30  # of one table
FEWEST_COLUMNS = 2

# What follows the table's name, the columns then, and whether some are gone.
Altered = tuple[str, tuple[Column, ...], bool]


@dataclass(slots=True)
class Columns:
    """The columns beside the key that the tables have by now; all connections share it."""

    now: dict[str, tuple[Column, ...]] = field(
        default_factory=lambda: {shape.name: shape.columns for shape in SHAPES}
    )

    def of(self, shape: Shape) -> tuple[Column, ...]:
        return self.now[shape.name]


@dataclass(frozen=True, slots=True)
class Alteration:
    """One statement that changes the columns of a table.

    Args:
        due: After which part of the workload.
        table: Its name.
        sql: The statement.
        columns: What the table has then.
        outdates: Whether statements for the columns of before fail from then on.
    """

    due: float
    table: str
    sql: str
    columns: tuple[Column, ...]
    outdates: bool = False


def added_columns(database: Database) -> list[Alteration]:
    """Plan the few columns that every run adds."""
    columns, planned = Columns(), []
    for due, name in ADDED_COLUMNS:
        shape = BY_NAME[name]
        column = shape.more[len(columns.of(shape)) - len(shape.columns)]
        columns.now[name] = (*columns.of(shape), column)
        sql = f"ALTER TABLE {name} ADD COLUMN {column.name} {column.kind.type(database)}"
        planned.append(Alteration(due, name, sql, columns.now[name]))
    return planned


def renames() -> dict[str, str]:
    """Give the new names that the config must know of beforehand."""
    return {EXTRA.format(n): RENAMED.format(n) for n in range(1, MOST_EXTRAS + 1)}


def random_alterations(database: Database, *, seed: int, count: int) -> list[Alteration]:
    """Plan random changes of columns, spread evenly over the run.

    Two that follow one another concern different tables: between two schemas of a table that no row
    was written under, nobody could tell a renamed column from a dropped one.
    """
    rng = random.Random(f"{seed}/alterations")
    planner = _Planner(database, rng)
    order: list[Shape] = []
    last = SHAPES[-1]
    planned = []
    for number in range(count):
        order = order or rng.sample([s for s in SHAPES if s is not last], len(SHAPES) - 1)
        last = order.pop()
        planned.append(planner.alter(last, due=0.05 + 0.85 * number / count))
    return planned


class _Planner:
    """Draws alterations one after the other."""

    def __init__(self, database: Database, rng: random.Random) -> None:
        self._database = database
        self._rng = rng
        self._columns = Columns()
        self._dropped: dict[str, list[str]] = {shape.name: [] for shape in SHAPES}
        self._extras = dict.fromkeys(BY_NAME, 0)

    def alter(self, shape: Shape, due: float) -> Alteration:
        """Draw what can be done to a table now; what is seldom possible is likelier then."""
        columns = self._columns.of(shape)
        taken = {column.name for column in columns}
        free = [c for c in columns if not c.big and f"({c.name})" not in "".join(shape.layout)]
        again = [name for name in self._dropped[shape.name] if name not in taken]
        narrow = [c for c in free if c.kind in WIDER]
        renamable = [c for c in free if renames().get(c.name, c.name) not in taken]
        ways: list[tuple[int, Callable[[], Altered]]] = [(1, lambda: self._add(shape, columns))]
        if again:
            ways.append((4, lambda: self._added(shape, columns, self._rng.choice(again))))
        if len(free) > FEWEST_COLUMNS:
            ways.append((2, lambda: self._drop(shape, columns, self._rng.choice(free))))
        if narrow:
            ways.append((2, lambda: self._widen(columns, self._rng.choice(narrow))))
        if renamable:
            ways.append((4, lambda: self._rename(columns, self._rng.choice(renamable))))
        (_, draw), *_ = self._rng.choices(ways, [weight for weight, _ in ways])
        clause, after, outdates = draw()
        self._columns.now[shape.name] = after
        return Alteration(due, shape.name, f"ALTER TABLE {shape.name} {clause}", after, outdates)

    def _add(self, shape: Shape, columns: tuple[Column, ...]) -> Altered:
        self._extras[shape.name] += 1
        return self._added(shape, columns, EXTRA.format(self._extras[shape.name]))

    def _added(self, shape: Shape, columns: tuple[Column, ...], name: str) -> Altered:
        kind, default = self._rng.choice(ADDED_KINDS)
        clause = f"ADD COLUMN {name} {kind.type(self._database)}"
        if default is not None:
            clause += f" DEFAULT {default}"
        if self._database is Database.MARIADB and self._rng.random() < 0.3:
            clause += f" AFTER {shape.key_names[-1]}"
        return clause, (*columns, Column(name, kind)), False

    def _drop(self, shape: Shape, columns: tuple[Column, ...], column: Column) -> Altered:
        self._dropped[shape.name].append(column.name)
        return f"DROP COLUMN {column.name}", tuple(c for c in columns if c != column), True

    def _widen(self, columns: tuple[Column, ...], column: Column) -> Altered:
        wide = replace(column, kind=WIDER[column.kind])
        kind = wide.kind.type(self._database)
        if self._database is Database.POSTGRES:
            clause = f"ALTER COLUMN {column.name} TYPE {kind}"
        else:
            clause = f"MODIFY {column.name} {kind}{'' if column.nullable else ' NOT NULL'}"
        return clause, _replaced(columns, column, wide), False

    def _rename(self, columns: tuple[Column, ...], column: Column) -> Altered:
        name = renames()[column.name]
        clause = f"RENAME COLUMN {column.name} TO {name}"
        return clause, _replaced(columns, column, replace(column, name=name)), True


def _replaced(columns: Sequence[Column], old: Column, new: Column) -> tuple[Column, ...]:
    return tuple(new if column == old else column for column in columns)
