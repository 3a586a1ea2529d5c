"""What the footers of Parquet files say of their columns, as Iceberg notes it in manifests."""

from contextlib import closing
from functools import cached_property
from typing import Any, Final

from cdc.commit.java_values import java_class
from cdc.model import WrittenFile

PARQUET: Final = "org.apache.iceberg.shaded.org.apache.parquet"
# A file ends with the footer's length, in four bytes, and with four letters.
END: Final = 8


class FooterReader:
    """Reads the footers of one table's files.

    Iceberg's own `ParquetUtil.fileMetrics` gives the same. It makes a Hadoop configuration for each
    file, though, and that parses a long XML file: a good part of what a small commit costs.
    """

    def __init__(self, jvm: Any, io: Any) -> None:
        self._jvm = jvm
        self._io = io

    def metrics(self, file: WrittenFile, config: Any) -> Any:
        """Give counts, sizes and bounds of a file's columns, as `MetricsConfig` wants them."""
        with closing(self._io.newInputFile(file.path, file.size).newStream()) as stream:
            stream.seek(file.size - END)
            length = int.from_bytes(bytes(stream.readNBytes(END))[:4], "little")
            stream.seek(file.size - END - length)
            whole = java_class(self._jvm, "java.io.BufferedInputStream")(stream, length)
            footer = self._converter.readParquetMetadata(whole)
        none = java_class(self._jvm, "java.util.stream.Stream").empty()
        util = java_class(self._jvm, "org.apache.iceberg.parquet.ParquetUtil")
        return util.footerMetrics(footer, none, config)

    @cached_property
    def _converter(self) -> Any:
        plain = java_class(self._jvm, f"{PARQUET}.conf.PlainParquetConfiguration")()
        options = java_class(self._jvm, f"{PARQUET}.ParquetReadOptions").builder(plain).build()
        return java_class(self._jvm, f"{PARQUET}.format.converter.ParquetMetadataConverter")(
            options
        )
