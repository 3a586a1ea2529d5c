"""Arrow tables to Parquet files, on the executors."""

from cdc.write.parquet_files import FileWriter, WrittenRows

__all__ = ["FileWriter", "WrittenRows"]
