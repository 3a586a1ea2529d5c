"""Partition values between Python and Java, and the unpartitioned spec."""

from decimal import Decimal
from typing import Any, Final

from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    DecimalType,
    FixedType,
    IcebergType,
    LongType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from cdc.commit.java_values import java_class, java_items
from cdc.commit.table import IcebergTable
from cdc.errors import CommitConflictError

LONGS: Final = (LongType, TimeType, TimestampType, TimestamptzType)


class _Long(int):
    """A number that reaches Java as a Long; py4j makes an Integer of each that fits into one."""

    def __le__(self, other: int) -> bool:
        return False


class Partitions:
    """The partitions of one commit's files; each is described to Java once."""

    def __init__(self, table: IcebergTable) -> None:
        self._table = table
        self._specs = table.java.specs()
        self._used: dict[int, Any] = {}
        self._types: dict[int, tuple[IcebergType, ...]] = {}
        self._known: dict[tuple[int, tuple[Any, ...]], Any] = {}

    def spec(self, spec_id: int) -> Any:
        """Give a spec of the table.

        Raises:
            CommitConflictError: Somebody removed it, because no committed file needs it.
        """
        if spec_id not in self._used:
            found = self._specs[spec_id]
            if found is None:
                raise CommitConflictError(str(self._table.name), f"its spec {spec_id} is gone")
            self._used[spec_id] = found
        return self._used[spec_id]

    def values(self, spec_id: int, partition: tuple[Any, ...]) -> Any:
        """Give Java's form of a file's partition values."""
        known = self._known.get((spec_id, partition))
        if known is None:
            known = self._known[spec_id, partition] = self._described(spec_id, partition)
        return known

    def unpartitioned(self) -> Any:
        """Give the spec under which a delete holds in every partition.

        Tables are created with it. An expiry that cleans up metadata drops it where no file needs
        it any more: then it is added again, in a commit of its own.
        """
        found = self._unpartitioned()
        if found is None:
            update = self._table.java.updateSpec()
            for field in self._table.java.spec().fields():
                update = update.removeField(field.name())
            update.addNonDefaultSpec().commit()
            self._specs = self._table.java.specs()
            found = self._unpartitioned()
        return found

    def _unpartitioned(self) -> Any:
        specs = (self.spec(spec_id) for spec_id in java_items(self._specs.keySet()))
        return next((spec for spec in specs if spec.isUnpartitioned()), None)

    def _described(self, spec_id: int, partition: tuple[Any, ...]) -> Any:
        data = self._class("PartitionData")(self.spec(spec_id).partitionType())
        for place, (kind, value) in enumerate(
            zip(self._field_types(spec_id), partition, strict=True)
        ):
            if value is not None:
                data.set(place, self._java_value(kind, value))
        return data

    def _java_value(self, kind: IcebergType, value: Any) -> Any:
        if isinstance(kind, LONGS):
            return _Long(value)
        if isinstance(kind, DecimalType):
            return value.quantize(Decimal(1).scaleb(-kind.scale))
        if isinstance(kind, BinaryType | FixedType):
            return java_class(self._table.gateway.jvm, "java.nio.ByteBuffer").wrap(value)
        if isinstance(kind, UUIDType):
            return java_class(self._table.gateway.jvm, "java.util.UUID").fromString(str(value))
        return value

    def _field_types(self, spec_id: int) -> tuple[IcebergType, ...]:
        if spec_id not in self._types:
            schema = self._class("Schema")(self.spec(spec_id).partitionType().fields())
            parsed = Schema.model_validate_json(self._class("SchemaParser").toJson(schema))
            self._types[spec_id] = tuple(field.field_type for field in parsed.fields)
        return self._types[spec_id]

    def _class(self, name: str) -> Any:
        return java_class(self._table.gateway.jvm, f"org.apache.iceberg.{name}")
