"""An Avro writer schema: what its bytes look like, and the Connect types that they stand for.

The same change gives the same `SourceType` in Avro as in JSON: the converters leave Connect's
names in the schema as `connect.*`, and where they are missing Avro's own logical types speak.

Two kinds of types have no fixed form as a column: a union of several types, and a record that
contains itself. They are taken as JSON text, the value written plainly without its branch's name.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from cdc.model import SourceColumn, SourceType

JSON_TEXT: Final = SourceType("string", "io.debezium.data.Json")

KINDS: Final = {
    "boolean": "boolean",
    "int": "int32",
    "long": "int64",
    "float": "float",
    "double": "double",
    "bytes": "bytes",
    "string": "string",
    "fixed": "bytes",
    "enum": "string",
    "array": "array",
    "map": "map",
    "record": "struct",
}
PRIMITIVES: Final = frozenset(
    ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
)
SMALL_INTEGERS: Final = frozenset({"int8", "int16"})

CONNECT_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
PRECISION: Final = "connect.decimal.precision"
# What the converters write where Connect knows no precision.
UNKNOWN_PRECISION: Final = 64
# Where a schema has no connect.name: the name that Debezium or Connect has for the same numbers.
LOGICAL_TYPES: Final = {
    ("int", "date"): "org.apache.kafka.connect.data.Date",
    ("int", "time-millis"): "org.apache.kafka.connect.data.Time",
    ("long", "time-micros"): "io.debezium.time.MicroTime",
    ("long", "timestamp-millis"): "org.apache.kafka.connect.data.Timestamp",
    ("long", "timestamp-micros"): "io.debezium.time.MicroTimestamp",
    ("long", "timestamp-nanos"): "io.debezium.time.NanoTimestamp",
    ("long", "local-timestamp-millis"): "io.debezium.time.Timestamp",
    ("long", "local-timestamp-micros"): "io.debezium.time.MicroTimestamp",
    ("long", "local-timestamp-nanos"): "io.debezium.time.NanoTimestamp",
    ("string", "uuid"): "io.debezium.data.Uuid",
}

CONVERTER_NAMESPACE: Final = "io.confluent.connect.avro"
# The name that a converter makes up for a struct without one.
NAMELESS: Final = f"{CONVERTER_NAMESPACE}.ConnectDefault"
# How converters write a map whose keys are no texts: an array of such records.
MAP_ENTRY: Final = "MapEntry"

# A widest table has some thousands; a type used by types used by types … may stand for billions.
MOST_TYPES: Final = 50_000


class AvroSchemaError(ValueError):
    """A text that is no Avro schema, or not one of a row."""


@dataclass(slots=True, eq=False)
class AvroType:
    """One type of a writer schema, as its bytes are laid out; a recursive one contains itself."""

    kind: str  # Avro's word: null, boolean, int, …, record, enum, array, map, fixed, union
    source: SourceType = JSON_TEXT
    fields: tuple[tuple[str, "AvroType"], ...] = ()  # of a record
    branches: tuple["AvroType", ...] = ()  # of a union; what an array or a map holds
    symbols: tuple[str, ...] = ()  # of an enum
    size: int = 0  # of a fixed
    as_text: bool = False  # it has no fixed form and is taken as JSON text
    weight: int = 1  # how many types it is made of, each counted wherever it is used

    @property
    def is_pairs(self) -> bool:
        """Whether this is an array that stands for a map."""
        return self.kind == "array" and self.source.kind == "map"

    @property
    def item(self) -> "AvroType":
        """What an array or a map holds."""
        return self.branches[0]

    @property
    def optional(self) -> bool:
        """Whether null is among its values."""
        branches = self.branches if self.kind == "union" else (self,)
        return any(branch.kind == "null" for branch in branches)

    @property
    def present(self) -> "AvroType | None":
        """The other type of a union with null; nothing for any other type."""
        kinds = [branch.kind for branch in self.branches]
        if self.kind != "union" or len(kinds) != 2 or "null" not in kinds:
            return None
        return self.branches[1 - kinds.index("null")]


def parse_schema(text: str, references: Sequence[str] = ()) -> AvroType:
    """Read a writer schema that refers to types in the texts of other schemas.

    Raises:
        AvroSchemaError: It is no Avro schema, or not that of a record.
    """
    parser = _Parser()
    try:
        for reference in references:
            parser.type_of(json.loads(reference), "")
        root = parser.type_of(json.loads(text), "")
        if root.kind != "record":
            raise AvroSchemaError(f"it describes a {root.kind}, not a record")
        if parser.met_itself:
            root = _take_as_text(root, parser)
        _Naming(parser.blocks).name(root)
    except RecursionError as error:
        raise AvroSchemaError("it is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise AvroSchemaError(f"it is not JSON: {error}") from error
    return root


class _Parser:
    """Reads the types of a schema; a named type is one object wherever it is referred to."""

    def __init__(self) -> None:
        self.named: dict[str, AvroType] = {}
        self.blocks: dict[AvroType, tuple[str, Mapping[str, Any]]] = {}
        self.open: set[str] = set()
        self.met_itself = False

    def type_of(self, block: Any, namespace: str) -> AvroType:
        if isinstance(block, str):
            return (
                self._primitive(block, {}) if block in PRIMITIVES else self._find(block, namespace)
            )
        if isinstance(block, list):
            return self._union(block, namespace)
        if not isinstance(block, Mapping):
            raise AvroSchemaError(f"a type that is none: {_excerpt(block)}")
        kind = block.get("type")
        if not isinstance(kind, str):
            return self.type_of(kind, namespace)
        if kind in PRIMITIVES:
            return self._primitive(kind, block)
        if kind in ("array", "map"):
            item = self.type_of(block.get("items" if kind == "array" else "values"), namespace)
            return self._known(AvroType(kind, branches=(item,)), "", block)
        if kind in ("record", "error", "enum", "fixed"):
            return self._define(kind, block, namespace)
        return self._find(kind, namespace)

    def _primitive(self, kind: str, block: Mapping[str, Any]) -> AvroType:
        return self._known(AvroType(kind), "", block)

    def _union(self, blocks: list[Any], namespace: str) -> AvroType:
        if not blocks or any(isinstance(block, list) for block in blocks):
            raise AvroSchemaError(f"a union that is none: {_excerpt(blocks)}")
        branches = tuple(self.type_of(block, namespace) for block in blocks)
        return self._known(AvroType("union", branches=branches), "", {})

    def _define(self, kind: str, block: Mapping[str, Any], namespace: str) -> AvroType:
        own = block.get("namespace", namespace)
        name = _full_name(block.get("name"), own if isinstance(own, str) else namespace)
        if name in self.named:
            raise AvroSchemaError(f"it defines {name} twice")
        defined = AvroType("record" if kind == "error" else kind)
        self.named[name] = self._known(defined, name, block)
        if kind == "enum":
            defined.symbols = _texts(block, "symbols")
        elif kind == "fixed":
            defined.size = _size(block)
        else:
            self.open.add(name)
            inside = name.rpartition(".")[0]
            fields = block.get("fields")
            if not isinstance(fields, list):
                raise AvroSchemaError(f"the record {name} has no fields")
            defined.fields = tuple(self._field(part, name, inside) for part in fields)
            if len({field for field, _ in defined.fields}) < len(fields):
                raise AvroSchemaError(f"the record {name} has two fields of one name")
            self.open.remove(name)
        return defined

    def _field(self, part: Any, record: str, namespace: str) -> tuple[str, AvroType]:
        name = part.get("name") if isinstance(part, Mapping) else None
        if not isinstance(name, str) or "type" not in part or not _is_text(name):
            raise AvroSchemaError(f"the record {record} has a field without name or type")
        return name, self.type_of(part["type"], namespace)

    def _find(self, name: str, namespace: str) -> AvroType:
        full = _full_name(name, namespace)
        # A name without dots is looked for in the namespace around it first.
        found = self.named.get(full) or self.named.get(name)
        if found is None:
            raise AvroSchemaError(f"it refers to {full}, which it does not define")
        self.met_itself |= full in self.open or name in self.open
        return found

    def _known(self, type_: AvroType, name: str, block: Mapping[str, Any]) -> AvroType:
        self.blocks[type_] = (name, block)
        return type_


class _Naming:
    """Gives every type of a schema the Connect type that it stands for."""

    def __init__(self, blocks: Mapping[AvroType, tuple[str, Mapping[str, Any]]]) -> None:
        self.blocks = blocks
        self.done: set[AvroType] = set()

    def name(self, type_: AvroType) -> SourceType:
        if type_ not in self.done and not type_.as_text:
            self.done.add(type_)
            if type_.kind in ("null", "union"):
                self._name_union(type_)
            else:
                type_.source = self._source(type_)
            type_.weight += sum(child.weight for child in _children(type_))
            if type_.weight > MOST_TYPES:
                raise AvroSchemaError(f"it is made of more than {MOST_TYPES} types")
        return type_.source

    def _name_union(self, type_: AvroType) -> None:
        for branch in type_.branches:
            self.name(branch)
        alone = type_.branches[0] if len(type_.branches) == 1 else None
        present = type_.present or alone
        type_.as_text = present is None or present.as_text
        if present is not None:
            type_.source = present.source

    def _source(self, type_: AvroType) -> SourceType:
        name, block = self.blocks[type_]
        kind, element, fields = KINDS[type_.kind], None, tuple[SourceColumn, ...]()
        if type_.kind == "record":
            parts = zip(type_.fields, block["fields"], strict=True)
            fields = tuple(
                SourceColumn(
                    field,
                    _with_parameters(self.name(part), of_field),
                    part.optional,
                    _default(part, of_field.get("default")),
                )
                for (field, part), of_field in parts
            )
        elif type_.kind == "map":
            key = SourceColumn("key", SourceType("string"))
            fields = (key, SourceColumn("value", self.name(type_.item)))
        elif type_.kind == "array":
            element = self.name(type_.item)
            if self._is_map_entry(type_.item):
                kind, fields, element = "map", element.fields, None
        elif type_.kind == "int" and block.get("connect.type") in SMALL_INTEGERS:
            kind = block["connect.type"]
        logical = block.get("connect.name")
        if not isinstance(logical, str):
            logical = LOGICAL_TYPES.get((type_.kind, str(block.get("logicalType"))))
            if type_.kind == "record" and name != NAMELESS:
                logical = name
        source = _with_parameters(SourceType(kind, logical, (), element, fields), block)
        return _decimal(source, block) if type_.kind in ("bytes", "fixed") else source

    def _is_map_entry(self, item: AvroType) -> bool:
        name, block = self.blocks[item]
        marked = name == f"{CONVERTER_NAMESPACE}.{MAP_ENTRY}" or (
            block.get("connect.internal.type") == MAP_ENTRY
        )
        members = [field for field, _ in item.fields]
        return marked and members == ["key", "value"] and not item.as_text


def _with_parameters(source: SourceType, block: Mapping[str, Any]) -> SourceType:
    """Add the parameters that a converter left at a type or at a field of it."""
    given = block.get("connect.parameters")
    if not isinstance(given, Mapping) or not given:
        return source
    merged = dict(source.parameters) | {str(name): str(value) for name, value in given.items()}
    return replace(source, parameters=tuple(sorted(merged.items())))


def _decimal(source: SourceType, block: Mapping[str, Any]) -> SourceType:
    """Name bytes that are a decimal as Connect does."""
    precision, scale = block.get("precision"), block.get("scale", 0)
    if source.logical is None:
        # Avro has a decimal that makes no sense read as plain bytes.
        sensible = isinstance(precision, int) and isinstance(scale, int)
        if block.get("logicalType") != "decimal" or not sensible or not 0 <= scale <= precision:
            return source
    elif source.logical != CONNECT_DECIMAL:
        return source
    own = {"scale": str(scale)}
    if precision not in (None, UNKNOWN_PRECISION):
        own[PRECISION] = str(precision)
    parameters = own | dict(source.parameters)
    return replace(source, logical=CONNECT_DECIMAL, parameters=tuple(sorted(parameters.items())))


def _take_as_text(root: AvroType, parser: _Parser) -> AvroType:
    """Mark every record that contains itself; the row stays a struct, whatever it contains."""
    for record in [type_ for type_ in _parts(root) if type_.kind == "record"]:
        record.as_text = any(part is record for c in _children(record) for part in _parts(c))
    if not root.as_text:
        return root
    row = AvroType("record", fields=root.fields)
    parser.blocks[row] = parser.blocks[root]
    return row


def _parts(type_: AvroType) -> Iterator[AvroType]:
    """List a type and all that it contains, each once."""
    seen, waiting = {type_}, [type_]
    while waiting:
        part = waiting.pop()
        yield part
        new = [child for child in _children(part) if child not in seen]
        seen.update(new)
        waiting += new


def _default(part: AvroType, value: Any) -> Any:
    """Give a field's default as JSON messages write it: Avro writes bytes as characters."""
    kind = part.present or part
    if kind.kind not in ("bytes", "fixed") or not isinstance(value, str):
        return value
    try:
        return base64.b64encode(value.encode("latin-1")).decode()
    except UnicodeEncodeError:
        return None


def _children(type_: AvroType) -> list[AvroType]:
    return [*type_.branches, *(part for _, part in type_.fields)]


def _full_name(name: Any, namespace: str) -> str:
    if not isinstance(name, str) or not name or not _is_text(name):
        raise AvroSchemaError(f"a type without a name: {_excerpt(name)}")
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _texts(block: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = block.get(key)
    if not isinstance(values, list) or not all(isinstance(v, str) and _is_text(v) for v in values):
        raise AvroSchemaError(f"an enum without {key}: {_excerpt(block)}")
    return tuple(values)


def _size(block: Mapping[str, Any]) -> int:
    size = block.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 1 << 31:
        raise AvroSchemaError(f"a fixed without a size: {_excerpt(block)}")
    return size


def _is_text(name: str) -> bool:
    """Say whether a name can be written as UTF-8; half a surrogate pair cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _excerpt(block: Any) -> str:
    return str(block)[:200]
