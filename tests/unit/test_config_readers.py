"""Every setting that a file may have is read by something: none is accepted and then ignored."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdc.config.shape import Part, all_settings, written

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "cdc" / "config"
# The classes whose methods read settings for others, and the section that each is.
SECTIONS = {
    "KafkaConfig": "kafka",
    "RegistryConfig": "registry",
    "CatalogConfig": "catalog",
    "TargetConfig": "target",
    "TablesConfig": "tables",
    "ResolvedRule": "rule",
}

Access = tuple[str, str]  # what stands before the dot, and behind it


def accesses(tree: ast.AST) -> Iterator[Access]:
    """Name every attribute that is read, with the last name before it: `stream.trigger`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            owner = node.value
            if isinstance(owner, ast.Attribute):
                yield owner.attr.lstrip("_"), node.attr
            elif isinstance(owner, ast.Name):
                yield owner.id.lstrip("_"), node.attr


def outside() -> set[Access]:
    """Collect what the code that is no config reads."""
    return {
        access
        for folder in ("cdc", "connectors")
        for path in (ROOT / folder).rglob("*.py")
        if CONFIG not in path.parents
        for access in accesses(ast.parse(path.read_text()))
    }


def methods() -> Iterator[tuple[str, str, set[Access]]]:
    """Name the methods of the config's classes, and what each reads of its own section."""
    for path in CONFIG.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name in SECTIONS:
                section = SECTIONS[node.name]
                for method in node.body:
                    if isinstance(method, ast.FunctionDef):
                        found = {(section if o == "self" else o, n) for o, n in accesses(method)}
                        yield section, method.name, found


def read_by_others() -> set[Access]:
    """Collect what others read, by themselves or by the methods that they call."""
    found, known = outside(), list(methods())
    for _ in known:  # a method may call another one
        for section, method, inside in known:
            if any(name == method and owner in (section, "self") for owner, name in found):
                found |= inside
    return found


READ = read_by_others()


def reading(path: tuple[Part, ...]) -> Access:
    """Say what the code reads where it reads a setting."""
    *above, name = map(str, path)
    if not above:
        return "config", name
    # A table's settings are read where they are resolved, whatever part of the file they are from.
    return ("rule" if above[0] == "tables" else above[-1]), name


@pytest.mark.parametrize("path", [setting.path for setting in all_settings()], ids=written)
def test_a_setting_is_read_by_more_than_the_config(path: tuple[Part, ...]) -> None:
    read = reading(path) in READ

    assert read, f"nothing reads {written(path)}: a file that has it should be refused"
