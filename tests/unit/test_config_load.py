"""A config file becomes one object: defaults filled in, options gathered, paths made absolute."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from cdc.config import (
    ApplyMode,
    CatalogConfig,
    CatalogType,
    Connector,
    DeleteKind,
    KafkaConfig,
    MirrorConfig,
    OnDelete,
    RecordFormat,
    RegistryConfig,
    SchemaChange,
    Secret,
    SourceConfig,
    SparkConfig,
    StreamConfig,
    TableDefaults,
    TableRule,
    TablesConfig,
    TargetConfig,
    load_config,
)
from cdc.config.load import parse_config

SMALLEST = """
name = "shop"

[source]
connector = "postgres"
topics = ["shop.public.*"]

[kafka]
"bootstrap.servers" = "localhost:9092"
"""

FULL = """
name = "shop"

[source]
connector = "postgres"
topics = ["shop.public.*"]
format = "avro"
url = "env:SHOP_DATABASE_URL"

[kafka]
"bootstrap.servers" = "localhost:9092"
"sasl.password" = "env:KAFKA_PASSWORD"

[registry]
url = "http://localhost:8081"
"basic.auth.user.info" = "env:REGISTRY_USER"

[catalog]
type = "rest"
uri = "http://localhost:8181"
warehouse = "lake"
"s3.region" = "eu-west-1"

[target]
table = "{server}.{schema}.{table}"

[stream]
trigger = "1 minute"
max_records = 1000
checkpoint = "s3://bucket/checkpoint"

[tables.defaults]
mode = "append"
deletes = "equality"
on_delete = "soft"
schema_change = "fail"

[[tables.rules]]
match = "public.orders"
mode = "mirror"
deletes = "equality"
on_delete = "hard"
schema_change = "lenient"
partition = ["day(created_at)"]
exclude = ["internal_note"]
hash = ["email"]
key = ["order_id"]
types = { payload = "string" }

[spark]
master = "spark://spark:7077"
"spark.executor.memory" = "2g"
"""


def load(text: str, folder: Path) -> MirrorConfig:
    return parse_config(text.encode(), folder / "shop.toml")


def with_table(text: str) -> str:
    return f"{SMALLEST}\n{text}"


def test_the_smallest_file_gets_every_default(tmp_path: Path) -> None:
    assert load(SMALLEST, tmp_path) == MirrorConfig(
        name="shop",
        source=SourceConfig(
            connector=Connector.POSTGRES,
            topics=("shop.public.*",),
            format=RecordFormat.AUTO,
            url=None,
        ),
        kafka=KafkaConfig(options={"bootstrap.servers": "localhost:9092"}),
        registry=None,
        catalog=CatalogConfig(
            type=CatalogType.SQL,
            uri=f"sqlite:///{tmp_path}/mirror/catalog.db",
            warehouse=f"{tmp_path}/mirror/warehouse",
            options={},
        ),
        target=TargetConfig(table="{database}.{table}"),
        stream=StreamConfig(
            trigger="10 seconds", max_records=500_000, checkpoint=f"{tmp_path}/mirror/checkpoint"
        ),
        tables=TablesConfig(defaults=TableDefaults(), rules=()),
        spark=SparkConfig(master="local[*]", options={}),
    )


def test_every_setting_can_be_written(tmp_path: Path) -> None:
    assert load(FULL, tmp_path) == MirrorConfig(
        name="shop",
        source=SourceConfig(
            connector=Connector.POSTGRES,
            topics=("shop.public.*",),
            format=RecordFormat.AVRO,
            url=Secret("env:SHOP_DATABASE_URL"),
        ),
        kafka=KafkaConfig(
            options={
                "bootstrap.servers": "localhost:9092",
                "sasl.password": Secret("env:KAFKA_PASSWORD"),
            }
        ),
        registry=RegistryConfig(
            url="http://localhost:8081",
            options={"basic.auth.user.info": Secret("env:REGISTRY_USER")},
        ),
        catalog=CatalogConfig(
            type=CatalogType.REST,
            uri="http://localhost:8181",
            warehouse="lake",
            options={"s3.region": "eu-west-1"},
        ),
        target=TargetConfig(table="{server}.{schema}.{table}"),
        stream=StreamConfig(
            trigger="1 minute", max_records=1000, checkpoint="s3://bucket/checkpoint"
        ),
        tables=TablesConfig(
            defaults=TableDefaults(
                mode=ApplyMode.APPEND,
                deletes=DeleteKind.EQUALITY,
                on_delete=OnDelete.SOFT,
                schema_change=SchemaChange.FAIL,
            ),
            rules=(
                TableRule(
                    match="public.orders",
                    mode=ApplyMode.MIRROR,
                    deletes=DeleteKind.EQUALITY,
                    on_delete=OnDelete.HARD,
                    schema_change=SchemaChange.LENIENT,
                    partition=("day(created_at)",),
                    exclude=("internal_note",),
                    hash=("email",),
                    key=("order_id",),
                    types={"payload": "string"},
                ),
            ),
        ),
        spark=SparkConfig(master="spark://spark:7077", options={"spark.executor.memory": "2g"}),
    )


def test_a_config_survives_the_way_to_a_worker(tmp_path: Path) -> None:
    config = load(FULL, tmp_path)

    assert pickle.loads(pickle.dumps(config)) == config


@pytest.mark.parametrize("connector", list(Connector))
def test_every_connector_is_a_choice(connector: Connector, tmp_path: Path) -> None:
    text = SMALLEST.replace('"postgres"', f'"{connector}"')

    assert load(text, tmp_path).source.connector is connector


def test_unquoted_dotted_options_are_the_same_as_quoted_ones(tmp_path: Path) -> None:
    unquoted = SMALLEST.replace('"bootstrap.servers"', "bootstrap.servers")

    assert load(unquoted, tmp_path) == load(SMALLEST, tmp_path)


def test_options_may_mix_quotes_at_any_depth(tmp_path: Path) -> None:
    text = with_table('[spark]\nspark."sql.shuffle".partitions = 4\n"spark.ui.enabled" = false')

    options = load(text, tmp_path).spark.options

    assert options == {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}


@pytest.mark.parametrize(
    ("written", "given"),
    [("true", "true"), ("false", "false"), ("100", "100"), ("0.5", "0.5"), ('"x"', "x")],
)
def test_options_reach_the_client_as_text(written: str, given: str, tmp_path: Path) -> None:
    text = SMALLEST + f'"some.option" = {written}\n'

    assert load(text, tmp_path).kafka.options["some.option"] == given


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("sqlite:///lake.db", "sqlite:///{folder}/lake.db"),
        ("sqlite:///../lake.db", "sqlite:///{parent}/lake.db"),
        ("sqlite+pysqlite:///lake.db", "sqlite+pysqlite:///{folder}/lake.db"),
        ("sqlite:////data/lake.db", "sqlite:////data/lake.db"),
        ("postgresql://host/lake", "postgresql://host/lake"),
    ],
)
def test_a_relative_sqlite_address_starts_at_the_file(uri: str, path: str, tmp_path: Path) -> None:
    config = load(with_table(f'[catalog]\nuri = "{uri}"'), tmp_path)

    assert config.catalog.uri == path.format(folder=tmp_path, parent=tmp_path.parent)


@pytest.mark.parametrize(
    ("warehouse", "path"),
    [
        ("lake", "{folder}/lake"),
        ("./lake/", "{folder}/lake"),
        ("/data/lake", "/data/lake"),
        ("s3://bucket/lake", "s3://bucket/lake"),
        ("file:///data/lake", "file:///data/lake"),
    ],
)
def test_a_relative_warehouse_starts_at_the_file(warehouse: str, path: str, tmp_path: Path) -> None:
    config = load(with_table(f'[catalog]\nwarehouse = "{warehouse}"'), tmp_path)

    assert config.catalog.warehouse == path.format(folder=tmp_path)


def test_a_rest_warehouse_is_a_name_and_no_path(tmp_path: Path) -> None:
    text = with_table('[catalog]\ntype = "rest"\nuri = "http://c"\nwarehouse = "lake"')

    assert load(text, tmp_path).catalog.warehouse == "lake"


def test_certificates_start_at_the_file(tmp_path: Path) -> None:
    config = load(SMALLEST + '"ssl.ca.location" = "certs/ca.pem"\n', tmp_path)

    assert config.kafka.options["ssl.ca.location"] == f"{tmp_path}/certs/ca.pem"


def test_paths_start_at_the_link_that_was_named_and_not_at_its_target(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "shop.toml").write_text(SMALLEST)
    (tmp_path / "shop.toml").symlink_to(tmp_path / "data" / "shop.toml")

    config = load_config(tmp_path / "shop.toml")

    assert config.stream.checkpoint == f"{tmp_path}/mirror/checkpoint"


def test_a_relative_config_path_gives_absolute_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop.toml").write_text(SMALLEST)
    monkeypatch.chdir(tmp_path)

    assert load_config("shop.toml").catalog.warehouse == f"{tmp_path}/mirror/warehouse"


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_bytes(b"\xef\xbb\xbf" + SMALLEST.encode())

    assert load_config(tmp_path / "shop.toml").name == "shop"


def test_windows_line_ends_are_fine(tmp_path: Path) -> None:
    assert load(SMALLEST.replace("\n", "\r\n"), tmp_path).name == "shop"


@pytest.mark.parametrize("kind", ["glue", "hadoop"])
def test_a_catalog_that_is_no_sql_has_no_sqlite_file(kind: str, tmp_path: Path) -> None:
    assert load(with_table(f'[catalog]\ntype = "{kind}"'), tmp_path).catalog.uri is None


def test_a_cloud_catalog_has_no_local_warehouse(tmp_path: Path) -> None:
    assert load(with_table('[catalog]\ntype = "glue"'), tmp_path).catalog.warehouse is None


def test_catalog_properties_have_pyiceberg_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE_TOKEN", "t0ken")
    text = '[catalog]\ntype = "rest"\nuri = "http://c"\ntoken = "env:LAKE_TOKEN"\ns3.region = "eu"'

    properties = load(with_table(text), tmp_path).catalog.properties()

    assert properties == {"type": "rest", "uri": "http://c", "token": "t0ken", "s3.region": "eu"}


def test_the_objects_alone_load_no_heavy_library() -> None:
    heavy = "{'pydantic', 'pyspark', 'pyiceberg', 'confluent_kafka', 'tomllib'}"
    code = f"import sys, cdc.config; print(sorted({heavy} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_loading_a_file_loads_no_client_library(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(SMALLEST)
    heavy = "{'pyspark', 'pyiceberg', 'confluent_kafka'}"
    code = (
        "import sys; from cdc.config import load_config; load_config(sys.argv[1]); "
        f"print(sorted({heavy} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "shop.toml")],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "[]"
