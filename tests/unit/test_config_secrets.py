"""Secrets are named in the file, read late, and never shown."""

import dataclasses
import logging
import pickle
import traceback
from pathlib import Path

import pytest

from cdc.config import MirrorConfig, Secret, reveal, revealed, unreadable
from cdc.config.load import parse_config
from cdc.errors import ConfigError, SecretError

VALUE = "hunter2-correct-horse"
SMALLEST = """
name = "shop"
[source]
connector = "postgres"
topics = ["shop.public.*"]
[kafka]
"bootstrap.servers" = "localhost:9092"
"""


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SHOP_PASSWORD", VALUE)
    return "env:SHOP_PASSWORD"


def load(text: str, folder: Path = Path("/etc")) -> MirrorConfig:
    return parse_config(text.encode(), folder / "shop.toml")


def refused(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        load(text)
    return raised.value


def test_a_variable_is_read_at_the_moment_of_use(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = load(SMALLEST + '"sasl.password" = "env:LATE"').kafka.options["sasl.password"]

    monkeypatch.setenv("LATE", VALUE)

    assert reveal(secret) == VALUE


def test_a_changed_variable_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = Secret("env:ROTATED")
    monkeypatch.setenv("ROTATED", "old")
    assert secret.reveal() == "old"

    monkeypatch.setenv("ROTATED", "new")

    assert secret.reveal() == "new"


def test_a_secret_file_starts_at_the_config_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(f"{VALUE}\n")

    config = load(SMALLEST + '"sasl.password" = "file:password"', tmp_path)

    assert config.kafka.client_options()["sasl.password"] == VALUE


def test_an_absolute_secret_file_stays_absolute(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(VALUE)

    assert Secret(f"file:{tmp_path}/password", folder="/etc").reveal() == VALUE


@pytest.mark.parametrize("content", [f"{VALUE}\n", f"{VALUE}\r\n", VALUE, f"{VALUE}\n\n"])
def test_the_line_end_of_a_secret_file_is_no_part_of_the_secret(
    content: str, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text(content)

    assert Secret("file:password", folder=str(tmp_path)).reveal() == VALUE


def test_spaces_are_part_of_a_secret(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(" a b \n")

    assert Secret("file:password", folder=str(tmp_path)).reveal() == " a b "


def test_a_file_location_is_no_secret() -> None:
    text = f'{SMALLEST}\n[spark]\n"spark.eventLog.dir" = "file:///var/log"'

    assert load(text).spark.options["spark.eventLog.dir"] == "file:///var/log"


def test_a_missing_variable_names_itself_and_its_setting() -> None:
    secret = load(SMALLEST + '"sasl.password" = "env:NO_SUCH"').kafka.options["sasl.password"]

    with pytest.raises(SecretError) as raised:
        reveal(secret)

    error = raised.value
    assert (error.setting, error.reference) == ('kafka."sasl.password"', "env:NO_SUCH")
    assert error.exit_code == 2
    assert "NO_SUCH" in str(error)


@pytest.mark.parametrize("reference", ["file:none", "file:.", "file:", "file:a\0b", "file:/none"])
def test_an_unreadable_file_names_itself_and_its_setting(reference: str, tmp_path: Path) -> None:
    with pytest.raises(SecretError) as raised:
        Secret(reference, "source.url", str(tmp_path)).reveal()

    assert (raised.value.setting, raised.value.reference) == ("source.url", reference)


@pytest.mark.parametrize("reference", ["env:", "env:NO SUCH", "env:A=B", "env:7"])
def test_an_impossible_variable_name_is_a_secret_error(reference: str) -> None:
    with pytest.raises(SecretError):
        Secret(reference).reveal()


def test_a_secret_file_of_bytes_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "password").write_bytes(VALUE.encode() + b"\xff")

    with pytest.raises(SecretError) as raised:
        Secret("file:password", folder=str(tmp_path)).reveal()

    error = raised.value
    assert error.__context__ is None
    assert VALUE not in "".join(traceback.format_exception(error)) + repr(error)


def test_an_address_may_be_a_secret(password: str) -> None:
    text = SMALLEST.replace("[source]", f'[source]\nurl = "{password}"')
    for setting in ("registry.url", "catalog.uri"):
        text = f'{setting} = "{password}"\n{text}'
    config = load(text)

    places = (config.source.url, config.registry, config.catalog.uri)

    assert str(places).count(repr(Secret(password))) == 3


def test_no_form_of_a_loaded_config_shows_a_secret(
    password: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = SMALLEST.replace("[source]", f'[source]\nurl = "{password}"')
    text += f'"sasl.password" = "{password}"\n[catalog]\nuri = "{password}"\n'
    text += f'[spark]\n"spark.hadoop.fs.s3a.secret.key" = "{password}"\n'
    config = load(text)

    used = (
        revealed(config.kafka.options),
        config.catalog.properties(),
        reveal(config.source.url or ""),
    )
    logging.getLogger("cdc").error("%s %r %s", config, config, config.kafka.options)

    assert str(used).count(VALUE) == 3
    shown = [repr(config), str(config), f"{config.source.url}", caplog.text]
    shown += [str(dataclasses.asdict(config)), str(pickle.dumps(config))]
    assert not any(VALUE in text for text in shown)
    assert VALUE.encode() not in pickle.dumps(config)


def test_a_setting_that_is_no_secret_may_be_a_reference_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {
        "NAME": "store",
        "CONNECTOR": "mysql",
        "TOPIC": "store.*",
        "MOST": "77",
        "KEY": "id",
    }.items():
        monkeypatch.setenv(f"SHOP_{name}", value)

    config = load("""
name = "env:SHOP_NAME"
[source]
connector = "env:SHOP_CONNECTOR"
topics = ["env:SHOP_TOPIC"]
[kafka]
"bootstrap.servers" = "env:SHOP_SERVERS"
[stream]
max_records = "env:SHOP_MOST"
[[tables.rules]]
match = "a.b"
key = ["env:SHOP_KEY"]
""")

    assert (config.name, config.source.connector.value) == ("store", "mysql")
    assert config.source.topics == ("store.*",)
    assert config.stream.max_records == 77
    assert config.tables.rules[0].key == ("id",)


def test_a_missing_reference_in_any_setting_is_reported_with_the_rest() -> None:
    text = SMALLEST.replace('"shop"', '"env:NO_NAME"').replace('"postgres"', '"env:NO_CONNECTOR"')

    problems = refused(f'{text}\n[stream]\ntrigger = "soon"').problems

    assert [problem.path for problem in problems] == ["name", "source.connector", "stream.trigger"]
    assert "NO_NAME" in problems[0].advice


@pytest.mark.parametrize(
    "setting",
    [
        'name = "env:SHOP_PASSWORD x"',
        'catalog.type = "env:SHOP_PASSWORD"',
        'stream.trigger = "env:SHOP_PASSWORD"',
        'stream.max_records = "env:SHOP_PASSWORD"',
        'stream = "env:SHOP_PASSWORD"',
        'maintenance = "env:SHOP_PASSWORD"',
        'source = "env:SHOP_PASSWORD"',
        'target.table = "env:SHOP_PASSWORD"',
        'tables.rules = [{match = "env:SHOP_PASSWORD"}]',
        'tables.rules = [{match = "a.b", key = "env:SHOP_PASSWORD"}]',
        'unknown = "env:SHOP_PASSWORD"',
    ],
)
def test_a_referenced_value_that_does_not_fit_is_not_shown(
    setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "{hunter2}")
    name = "" if setting.startswith("name") else 'name = "shop"\n'
    source = "" if setting.startswith("source") else 'source.connector = "mysql"\n'

    error = refused(f'{name}{setting}\n{source}kafka."bootstrap.servers" = "a"\n')

    assert "hunter2" not in "".join(traceback.format_exception(error)) + repr(error)
    assert (error.__cause__, error.__context__) == (None, None)


@pytest.mark.parametrize(
    ("table", "option"),
    [
        ("kafka", "sasl.password"),
        ("kafka", "ssl.key.password"),
        ("kafka", "sasl.jaas.config"),
        ("kafka", "sasl.oauthbearer.client.secret"),
        ("registry", "basic.auth.user.info"),
        ("registry", "bearer.auth.token"),
        ("catalog", "token"),
        ("catalog", "credential"),
        ("catalog", "s3.secret-access-key"),
        ("catalog", "s3.session-token"),
        ("catalog", "adls.account-key"),
        ("spark", "spark.hadoop.fs.s3a.secret.key"),
        ("spark", "spark.ssl.keyPassword"),
    ],
)
@pytest.mark.parametrize("value", [f'"{VALUE}"', "8675309"])
def test_a_secret_written_into_the_file_is_refused_and_not_shown(
    table: str, option: str, value: str
) -> None:
    url = 'url = "http://registry"\n' if table == "registry" else ""
    head = "" if table == "kafka" else f"[{table}]\n{url}"

    error = refused(f'{SMALLEST}{head}"{option}" = {value}\n')

    (problem,) = error.problems
    assert problem.path.startswith(table)
    assert "env:" in problem.advice
    assert value.strip('"') not in "".join(traceback.format_exception(error)) + repr(error)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://shop:{VALUE}@db/shop",
        f"postgresql://shop:{VALUE}/x@db/shop",
        f"postgresql://db/shop?user=shop&password={VALUE}",
        f"jdbc:sqlserver://db;user=shop;password={VALUE}",
        f"host=db user=shop password={VALUE}",
        f"mongodb+srv://:{VALUE}@db",
    ],
)
def test_a_password_within_an_address_is_refused_and_not_shown(url: str) -> None:
    error = refused(SMALLEST.replace("[source]", f'[source]\nurl = "{url}"'))

    assert [problem.path for problem in error.problems] == ["source.url"]
    assert VALUE not in str(error)


@pytest.mark.parametrize(
    ("place", "setting"),
    [
        ("[source]", 'url = "postgresql://shop@db:5432/shop"'),
        ("[source]", 'url = "postgresql://a:5432,b:5432/shop?options=x@y"'),
        ("[kafka]", '"sasl.oauthbearer.token.endpoint.url" = "https://login:8443/token"'),
        ("[kafka]", '"ssl.keystore.location" = "keys"'),
        ("[catalog]", '"token-refresh-enabled" = "true"'),
        ("[catalog]", "s3.secret = true"),
        ("[spark]", '"spark.kubernetes.driver.secrets.spark" = "/etc/secrets"'),
        ("[spark]", '"spark.kubernetes.driver.secretKeyRef.KEY" = "name:key"'),
        ("[spark]", '"spark.hadoop.fs.s3a.aws.credentials.provider" = "com.Provider"'),
    ],
)
def test_what_only_sounds_like_a_secret_is_fine(place: str, setting: str) -> None:
    text = SMALLEST if place in SMALLEST else f"{SMALLEST}{place}\n"

    assert load(text.replace(place, f"{place}\n{setting}"))


def test_a_column_may_be_called_password() -> None:
    rule = '[[tables.rules]]\nmatch = "a.b"\nhash = ["password"]\ntypes = { secret = "string" }'

    assert load(f"{SMALLEST}{rule}").tables.rules[0].types == {"secret": "string"}


def test_a_table_of_the_file_is_no_secret() -> None:
    error = refused(SMALLEST.replace("[source]", '[source]\nurl = { reference = "env:X" }'))

    assert [problem.path for problem in error.problems] == ["source.url"]


def test_a_secret_catalog_address_starts_at_the_config_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE_URI", "sqlite:///lake.db")

    catalog = load(f'{SMALLEST}[catalog]\nuri = "env:LAKE_URI"', tmp_path).catalog

    assert catalog.properties()["uri"] == f"sqlite:///{tmp_path}/lake.db"


def test_all_unreadable_secrets_are_listed_at_once(password: str) -> None:
    text = SMALLEST.replace("[source]", '[source]\nurl = "env:NO_URL"')
    text += f'"sasl.username" = "{password}"\n"sasl.password" = "file:none"\n'
    text += '[catalog]\nuri = "env:NO_URI"\n'

    problems = unreadable(load(text))

    paths = [problem.path for problem in problems]
    assert paths == ["source.url", 'kafka."sasl.password"', "catalog.uri"]
