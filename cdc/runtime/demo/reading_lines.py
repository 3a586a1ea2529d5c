"""Lines to paste that read the mirrored tables with other tools."""

import importlib.util
import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from cdc.config import MirrorConfig
from cdc.runtime.session import session_options

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
    script = shutil.which("spark-sql", path=str(Path(sys.executable).parent)) or "spark-sql"
    wanted = {
        # Without it, spark-sql leaves a Hive metastore in the working folder.
        "spark.sql.catalogImplementation": "in-memory",
        **{name: value for name, value in options.items() if name.startswith(SPARK_OPTIONS)},
    }
    return _continued(
        [
            shlex.quote(script),
            f"--jars {shlex.quote(options['spark.jars'])}",
            *(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in wanted.items()),
            f"-e {shlex.quote(QUERY.format(f'{config.name}.{TABLE}'))}",
        ]
    )


def _installed_extensions() -> list[Path]:
    """Find DuckDB's extensions where they are installed as Python packages, or none of them."""
    found = []
    for name, package in WHEELS.items():
        spec = importlib.util.find_spec(package)
        folders = (spec.submodule_search_locations or []) if spec else []
        files = [f for d in folders for f in Path(d).glob(f"extensions/*/{name}.duckdb_extension")]
        found += files[:1]
    return found if len(found) == len(WHEELS) else []


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _continued(parts: Iterable[str]) -> list[str]:
    first, *rest = parts
    lines = [first, *(f"    {part}" for part in rest)]
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]
