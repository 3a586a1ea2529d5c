"""Partition values between Python and Java, and the unpartitioned spec."""

from typing import Any

from pyiceberg.conversions import to_bytes
from pyiceberg.schema import Schema
from pyiceberg.types import PrimitiveType

from cdc.commit.table import IcebergTable


class Partitions:
    """The partitions of one commit's files; each is described to Java once."""

    def __init__(self, table: IcebergTable) -> None:
        self._table = table
        self._specs: dict[int, Any] = dict(table.java.specs())
        self._types: dict[int, tuple[PrimitiveType, ...]] = {}
        self._known: dict[tuple[int, tuple[Any, ...]], Any] = {}

    def spec(self, spec_id: int) -> Any:
        """Give a spec of the table."""
        return self._specs[spec_id]

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
            self._specs = dict(self._table.java.specs())
            found = self._unpartitioned()
        return found

    def _unpartitioned(self) -> Any:
        return next((spec for spec in self._specs.values() if spec.isUnpartitioned()), None)

    def _described(self, spec_id: int, partition: tuple[Any, ...]) -> Any:
        jvm = self._table.jvm
        struct = self._specs[spec_id].partitionType()
        data = jvm.org.apache.iceberg.PartitionData(struct)
        java_types = [field.type() for field in struct.fields()]
        kinds = self._field_types(spec_id)
        for place, (kind, java_type, value) in enumerate(
            zip(kinds, java_types, partition, strict=True)
        ):
            if value is not None:
                # As bytes: py4j would make an Integer of every number that fits into one.
                buffer = jvm.java.nio.ByteBuffer.wrap(to_bytes(kind, value))
                conversions = jvm.org.apache.iceberg.types.Conversions
                data.set(place, conversions.fromByteBuffer(java_type, buffer))
        return data

    def _field_types(self, spec_id: int) -> tuple[PrimitiveType, ...]:
        if spec_id not in self._types:
            jvm = self._table.jvm.org.apache.iceberg
            schema = jvm.Schema(self._specs[spec_id].partitionType().fields())
            parsed = Schema.model_validate_json(jvm.SchemaParser.toJson(schema))
            kinds = [field.field_type for field in parsed.fields]
            self._types[spec_id] = tuple(k for k in kinds if isinstance(k, PrimitiveType))
        return self._types[spec_id]
