"""Who may import whom, and which library lives where: read from the sources, so it cannot drift."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 400  # lines
MOST_MEMBERS = 15  # public ones, of a class
BANNED_NAMES = {"utils.py", "json.py", "types.py"}

# From the ground up. A room imports rooms of lower floors, and of its own floor none but itself.
FLOORS: list[set[str]] = [
    {"cdc.errors"},
    {"cdc.model"},
    {"cdc.dialect"},
    {"cdc.config"},
    {"cdc.state"},
    {
        *("cdc.source", "cdc.decode", "cdc.schema", "cdc.collapse", "cdc.index", "cdc.write"),
        *("cdc.commit", "cdc.sql", "cdc.maintain", "cdc.observe", "cdc.downloads", "connectors"),
    },
    {"cdc.sandbox"},
    {"cdc.runtime.task"},
    {"cdc.runtime.tables"},
    {"cdc.runtime.follow"},
    {"cdc.runtime.stream"},
    {"cdc.runtime.replay"},
    {"cdc.commands", "cdc.demo"},
    {"cdc.cli"},
]
ROOMS = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# What a database brings of its own knows the words and the config, and nothing of the stages.
CONNECTORS_KNOW = {"cdc.errors", "cdc.model", "cdc.dialect", "cdc.config"}
# Rooms that no JVM and no Kafka may come into: executors run the one, pure tests the other.
BARRED = {
    "cdc.state": ("pyspark.sql", "py4j", "confluent_kafka"),
    "cdc.runtime.task": ("pyspark.sql", "py4j", "confluent_kafka"),
}
HOMES = {
    "confluent_kafka": "cdc.source",
    "datafusion": "cdc.decode.avro_container",
    "pydantic": "cdc.config.load",
    "pydantic_core": "cdc.config.load",
    "tenacity": "cdc.runtime.stream.mirror",
    "py4j": "cdc.commit",
    "pyiceberg_core": "cdc.write.transforms",
}
MAY_SHARE = {("mariadb", "mysql")}  # the only database that knows another one


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(path: Path) -> list[str]:
    return list(path.relative_to(ROOT).parts[:-1])


def imports_of(source: str, package: list[str]) -> Iterator[str]:
    """Name everything that a source imports, also late, relatively, or by its name as text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else None
            called = node.func.id if isinstance(node.func, ast.Name) else called
            name = node.args[0]
            if called in ("import_module", "__import__") and isinstance(name, ast.Constant):
                yield str(name.value)


def is_within(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def room_of(name: str) -> str | None:
    return next((room for room in ROOMS if is_within(name, room)), None)


def database_of(name: str) -> str | None:
    """Name the database whose folder a module of connectors/ is in."""
    parts = name.split(".")
    if parts[0] != "connectors" or len(parts) < 2:
        return None
    return parts[1] if (ROOT / "connectors" / parts[1]).is_dir() else None


def may_know(here: str, there: str) -> bool:
    if here == "connectors":
        return there in CONNECTORS_KNOW
    return ROOMS[there] < ROOMS[here]


def offences(module: str, source: str, package: list[str]) -> list[str]:
    """List the imports of one source that break the rules."""
    here = room_of(module)
    found = []
    for name in imports_of(source, package):
        there = room_of(name)
        if there and there != here and not (here and may_know(here, there)):
            found.append(f"{module} imports {name}: {here} may not import {there}")
        if any(is_within(name, barred) for barred in BARRED.get(here or "", ())):
            found.append(f"{module} imports {name}, which may not come into {here}")
        home = HOMES.get(name.split(".")[0])
        if home and not is_within(module, home):
            found.append(f"{module} imports {name}, which lives in {home}")
        pair = (database_of(module), database_of(name))
        if all(pair) and pair[0] != pair[1] and pair not in MAY_SHARE:
            found.append(f"{module} imports {name}: no database knows another one")
    return found


def sources() -> list[Path]:
    return sorted(
        path for folder in ("cdc", "connectors") for path in (ROOT / folder).rglob("*.py")
    )


@pytest.mark.parametrize("path", sources(), ids=module_name)
def test_a_module_imports_only_what_it_may(path: Path) -> None:
    assert offences(module_name(path), path.read_text(), package_of(path)) == []


@pytest.mark.parametrize("path", sources(), ids=module_name)
def test_a_module_has_a_room(path: Path) -> None:
    name = module_name(path)

    assert name in ("cdc", "cdc.runtime") or room_of(name)


@pytest.mark.parametrize("path", sources(), ids=module_name)
def test_a_module_stays_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) < LONGEST


def is_record(node: ast.ClassDef) -> bool:
    """Tell a value that has as many fields as there are facts, as frozen dataclasses are."""
    return any(
        isinstance(d, ast.Call) and any(k.arg == "frozen" for k in d.keywords)
        for d in node.decorator_list
    )


def public_members(node: ast.ClassDef) -> set[str]:
    """Name what others see of a class: methods, properties, attributes."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = {n.name for n in node.body if isinstance(n, functions)}
    if not is_record(node):
        fields = (n.target for n in node.body if isinstance(n, ast.AnnAssign))
        found |= {target.id for target in fields if isinstance(target, ast.Name)}
        found |= {
            n.attr
            for n in ast.walk(node)
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
            if isinstance(n.value, ast.Name) and n.value.id == "self"
        }
    return {name for name in found if not name.startswith("_")}


def classes(source: str) -> list[ast.ClassDef]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("path", sources(), ids=module_name)
def test_a_class_shows_little(path: Path) -> None:
    counts = {node.name: len(public_members(node)) for node in classes(path.read_text())}

    assert {name: n for name, n in counts.items() if n > MOST_MEMBERS} == {}


def test_methods_properties_fields_and_attributes_are_members() -> None:
    source = """
class Counted:
    field: int
    _hidden: int
    def __init__(self): self.attribute = 1
    @property
    def shown(self): ...
    def method(self): self.later = self._own = 2
@dataclass(frozen=True)
class Record:
    field: int
    def method(self): ...
"""

    found = [public_members(node) for node in classes(source)]

    assert found == [{"field", "attribute", "shown", "method", "later"}, {"method"}]


@pytest.mark.parametrize("path", sources(), ids=module_name)
def test_a_module_is_named_after_a_thing_and_shadows_nothing(path: Path) -> None:
    assert path.name not in BANNED_NAMES


def test_every_source_is_read() -> None:
    assert {"cdc.cli", "cdc.config.load", "connectors"} <= {module_name(path) for path in sources()}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("cdc.decode.envelope", "import cdc.write"),
        ("cdc.decode.envelope", "import cdc.write.files as files"),
        ("cdc.decode.envelope", "from cdc.write.files import write"),
        ("cdc.decode.envelope", "from cdc import write"),
        ("cdc.decode.envelope", "from ..write import files"),
        ("cdc.decode.envelope", "from .. import write"),
        ("cdc.decode.envelope", "def late():\n    from cdc.runtime.stream import mirror"),
        ("cdc.decode.envelope", "import importlib\nimportlib.import_module('cdc.write')"),
        ("cdc.decode.envelope", "from connectors import DIALECTS"),
        ("cdc.config.settings", "from cdc.source import topics"),
        ("cdc.errors", "from cdc import model"),
        ("cdc.model", "from cdc.dialect import Dialect"),
        ("cdc", "from cdc.config import MirrorConfig"),
        ("connectors.postgres", "from cdc.decode import envelope"),
        ("connectors.postgres", "from connectors.mysql import position"),
        ("connectors.mysql.position", "from ..mariadb import position"),
        ("cdc.sandbox.kafka", "import confluent_kafka"),
        ("cdc.decode.registry", "from datafusion import SessionContext"),
        ("cdc.config.settings", "from pydantic import BaseModel"),
        ("connectors.postgres", "from cdc.state import names"),
        ("cdc.state.ledger", "from cdc.commit import read_ledger"),
        ("cdc.state.ledger", "from pyspark.sql import DataFrame"),
        ("cdc.observe.status", "from cdc.source import topics"),
        ("cdc.downloads.jars", "from cdc.sandbox import server"),
        ("cdc.runtime.task.partition", "from cdc.runtime.tables import reports"),
        ("cdc.runtime.task.partition", "import pyspark.sql.functions as F"),
        ("cdc.runtime.tables.quarantine", "from cdc.runtime.follow import actions"),
        ("cdc.runtime.follow.actions", "from cdc.runtime.stream import batch"),
        ("cdc.commands.check", "from cdc.demo import run"),
        ("cdc.commands.check", "from cdc.cli import show"),
        ("cdc.runtime.stream.session", "import tenacity"),
        ("cdc.runtime.stream.session", "from py4j.java_gateway import JavaGateway"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str) -> None:
    package = module.split(".") if "." not in module else module.split(".")[:-1]

    assert len(offences(module, source, package)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("cdc.decode.envelope", "from cdc.model import OFFSET"),
        ("cdc.decode.envelope", "from .json_codec import decode"),
        ("cdc.decode.avro_container", "import datafusion"),
        ("cdc.source.topics", "from confluent_kafka.admin import AdminClient"),
        ("cdc.commit.row_delta", "from py4j.java_gateway import JavaObject"),
        ("cdc.runtime.stream.mirror", "import tenacity\nfrom cdc.write import files"),
        ("cdc.runtime.stream.batch", "from connectors import DIALECTS"),
        ("cdc.runtime.follow.actions", "from cdc.runtime.tables import reports"),
        ("cdc.commands.check", "from cdc.runtime.replay.replay import Replayer"),
        ("cdc.cli.run", "from cdc.runtime.stream.mirror import run_mirror"),
        ("connectors.mariadb", "from connectors.mysql import position"),
        ("connectors.mysql", "from connectors.mysql.position import position"),
        ("connectors", "from connectors import mysql, postgres"),
    ],
)
def test_a_right_import_is_allowed(module: str, source: str) -> None:
    package = module.split(".") if "." not in module else module.split(".")[:-1]

    assert offences(module, source, package) == []
