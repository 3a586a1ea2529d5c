"""What is wrong with a config file is said all at once, with place and advice."""

import pickle
from pathlib import Path

import pytest

from cdc.config import (
    ApplyMode,
    CatalogConfig,
    CatalogType,
    KafkaConfig,
    StreamConfig,
    TableRule,
    load_config,
)
from cdc.config.checks import Misfit
from cdc.config.load import parse_config
from cdc.errors import ConfigError, Problem

SMALLEST = """
name = "shop"
[source]
connector = "postgres"
topics = ["shop.public.*"]
[kafka]
"bootstrap.servers" = "localhost:9092"
"""


def problems_of(content: str | bytes) -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as raised:
        parse_config(content.encode() if isinstance(content, str) else content, "/etc/shop.toml")
    assert raised.value.path == "/etc/shop.toml"
    return raised.value.problems


def paths_of(content: str | bytes) -> list[str]:
    return [problem.path for problem in problems_of(content)]


def the_problem(content: str) -> Problem:
    (problem,) = problems_of(content)
    return problem


def with_table(text: str) -> str:
    return f"{SMALLEST}\n{text}"


def test_every_problem_is_reported_at_once() -> None:
    text = """
name = "shop in town"
color = "red"

[source]
connector = "postgre"
topics = []
fromat = "json"

[kafka]
"sasl.password" = "hunter2"

[catalog]
type = "sqll"
uri = 5

[target]
table = "x"

[stream]
trigger = "soon"
max_records = 0

[[tables.rules]]
match = "public.orders"

[[tables.rules]]
match = "orders"
deletes = "equal"
partition = "day(x)"

[spark]
master = ["local"]
"""

    assert paths_of(text) == [
        "name",
        "color",
        "source.connector",
        "source.topics",
        "source.fromat",
        'kafka."bootstrap.servers"',  # missing
        'kafka."sasl.password"',
        "catalog.type",
        "catalog.uri",
        "target.table",  # no {table}
        "target.table",  # no dot
        "stream.trigger",
        "stream.max_records",
        "tables.rules[1].match",
        "tables.rules[1].deletes",
        "tables.rules[1].partition",
        "spark.master",
    ]


def test_a_config_error_exits_with_2_and_survives_pickling() -> None:
    error = ConfigError("shop.toml", (Problem("name", "is missing", "Write it."),))

    again = pickle.loads(pickle.dumps(error))

    assert isinstance(again, ConfigError)
    assert (again.exit_code, again.path, again.problems) == (2, error.path, error.problems)
    assert str(again) == str(error)


def test_the_text_of_the_error_holds_every_path_and_advice() -> None:
    problems = (Problem("a.b", "is odd", "Make it even."), Problem("", "is empty"))

    text = str(ConfigError("shop.toml", problems))

    assert text.splitlines() == [
        "shop.toml: 2 problems",
        "  a.b: is odd",
        "      Make it even.",
        "  is empty",
    ]


@pytest.mark.parametrize(
    ("text", "path", "meant"),
    [
        ("[stream]\ntriger = '1 second'", "stream.triger", "stream.trigger"),
        ("[stream]\nmax-records = 5", "stream.max-records", "stream.max_records"),
        ("[stram]\ntrigger = '1 second'", "stram", "stream"),
        ("[[tables.rules]]\nmatch = 'a.b'\ndelets = 'x'", "tables.rules[0].delets", "deletes"),
        ("[tables.default]\nmode = 'mirror'", "tables.default", "tables.defaults"),
        ("[target]\ntrigger = '1 second'", "target.trigger", "stream.trigger"),
        ("[catalog]\nwarehous = 'x'", "catalog.warehous", "warehouse"),
        ("[catalog]\nurl = 'x'", "catalog.url", "uri"),
        ("[spark]\nMaster = 'yarn'", "spark.Master", "master"),
        ("[spark]\nexecutor.memory = '2g'", 'spark."executor.memory"', "spark.executor.memory"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_right_one(
    text: str, path: str, meant: str
) -> None:
    problem = the_problem(with_table(text))

    assert problem.path == path
    assert meant in problem.advice


def test_an_unknown_name_like_no_other_is_answered_with_the_known_ones() -> None:
    problem = the_problem(with_table("[target]\nzzz = 1"))

    assert (problem.path, problem.advice) == ("target.zzz", "Known here: table.")


@pytest.mark.parametrize(
    "text",
    [
        "[maintenance]\nenabled = true",
        "[connect]\nurl = 'http://localhost:8083'",
        "[connect]\nurl = 'env:NO_SUCH'",
        "[maintenance]",
    ],
)
def test_a_section_that_nothing_reads_yet_is_refused_plainly(text: str) -> None:
    section = text[1:].partition("]")[0]

    problem = the_problem(with_table(text))

    assert (problem.path, problem.text) == (section, "is no setting of this version")
    assert "remove it" in problem.advice


@pytest.mark.parametrize(
    ("text", "path", "choices"),
    [
        ("[catalog]\ntype = 'SQL'", "catalog.type", ["sql", "rest", "hive", "glue", "hadoop"]),
        ("[tables.defaults]\nmode = 'x'", "tables.defaults.mode", ["mirror", "append", "history"]),
        (
            "[[tables.rules]]\nmatch = 'a.b'\nschema_change = 7",
            "tables.rules[0].schema_change",
            ["evolve", "lenient", "ignore", "fail"],
        ),
    ],
)
def test_a_wrong_choice_is_answered_with_the_right_ones(
    text: str, path: str, choices: list[str]
) -> None:
    problem = the_problem(with_table(text))

    assert problem.path == path
    assert all(choice in problem.text for choice in choices)


def test_a_misspelt_choice_is_answered_with_the_nearest_one() -> None:
    problem = the_problem(SMALLEST.replace('"postgres"', '"PostgreSQL"'))

    assert (problem.path, '"postgres"' in problem.advice) == ("source.connector", True)


@pytest.mark.parametrize(
    "text",
    [
        "source = 5",
        "source = []",
        "kafka = 'localhost:9092'",
        "tables = []",
        "tables.defaults = 1",
        "tables.rules = 1",
        "tables.rules = {match = 'a.b'}",
        "tables.rules = [5]",
        "catalog = 1",
        "registry = []",
        "spark = true",
        "stream = ''",
    ],
)
def test_a_value_in_the_place_of_a_table_is_a_problem_of_that_place(text: str) -> None:
    section = text.partition(" ")[0]
    rest = {
        "name": '"shop"',
        "source": '{connector = "mysql", topics = ["a"]}',
        "kafka": '{"bootstrap.servers" = "a"}',
    }
    others = "\n".join(f"{key} = {value}" for key, value in rest.items() if key != section)

    assert the_problem(f"{others}\n{text}").path.startswith(section)


@pytest.mark.parametrize("name", ["", "shop town", "shop/town", "../shop", "größe", "a.b", "a\\n"])
def test_a_name_must_be_a_safe_word(name: str) -> None:
    assert the_problem(SMALLEST.replace('"shop"', f'"{name}"')).path == "name"


@pytest.mark.parametrize("name", ["shop", "Shop-EU_2", "7"])
def test_a_safe_word_is_a_name(name: str) -> None:
    content = SMALLEST.replace('"shop"', f'"{name}"').encode()

    assert parse_config(content, "shop.toml").name == name


@pytest.mark.parametrize(
    "template",
    [
        "{table}",
        "orders",
        "{database}.orders",
        "{db}.{table}",
        "{}.{table}",
        "{0}.{table}",
        "{table!r}.x",
        "{table:>9}.x",
        "{table.x}.y",
        "{table[0]}.y",
        "x.{table",
        "x.table}",
        "x.{{table}}",
        "{{x}}.{table}",
        ".{table}",
        "x..{table}",
        "{table}.",
        "",
    ],
)
def test_a_table_template_must_name_every_table(template: str) -> None:
    assert set(paths_of(with_table(f"[target]\ntable = '{template}'"))) == {"target.table"}


@pytest.mark.parametrize("trigger", ["", "10", "seconds", "10 parsecs", "-1 second", "1.5 seconds"])
def test_a_trigger_must_be_a_spark_interval(trigger: str) -> None:
    assert the_problem(with_table(f"[stream]\ntrigger = '{trigger}'")).path == "stream.trigger"


@pytest.mark.parametrize("trigger", ["0 seconds", "500 milliseconds", "1 Minute", "2 hours"])
def test_a_spark_interval_is_a_trigger(trigger: str) -> None:
    content = with_table(f"[stream]\ntrigger = '{trigger}'").encode()

    assert parse_config(content, "shop.toml").stream.trigger == trigger


@pytest.mark.parametrize("count", ["0", "-5", "true", "1.5", "'many'", "[1]", "{}"])
def test_max_records_must_be_a_count(count: str) -> None:
    assert the_problem(with_table(f"[stream]\nmax_records = {count}")).path == "stream.max_records"


@pytest.mark.parametrize("setting", ["stream.checkpoint", "catalog.warehouse", "catalog.uri"])
@pytest.mark.parametrize("value", ["", " ", "a\\u0000b"])
def test_a_location_must_be_one(setting: str, value: str) -> None:
    assert the_problem(f'{setting} = "{value}"\n{SMALLEST}').path == setting


@pytest.mark.parametrize("uri", ["sqlite://", "sqlite:///:memory:", "sqlite+pysqlite://"])
def test_a_catalog_in_memory_is_refused(uri: str) -> None:
    assert the_problem(with_table(f"[catalog]\nuri = '{uri}'")).path == "catalog.uri"


@pytest.mark.parametrize("kind", ["rest", "hive"])
def test_a_catalog_server_needs_an_address(kind: str) -> None:
    assert the_problem(with_table(f"[catalog]\ntype = '{kind}'")).path == "catalog.uri"


@pytest.mark.parametrize("topics", ['["a b"]', '["a,b"]', '[""]', '["a", "b/c"]'])
def test_a_topic_glob_must_fit_a_topic_name(topics: str) -> None:
    text = SMALLEST.replace('["shop.public.*"]', topics)

    assert the_problem(text).path.startswith("source.topics[")


@pytest.mark.parametrize("address", ["localhost:8081", "", "ftp://x", "http://"])
def test_an_address_must_be_http(address: str) -> None:
    assert the_problem(with_table(f"[registry]\nurl = '{address}'")).path == "registry.url"


def test_every_address_of_a_registry_must_be_http() -> None:
    text = with_table("[registry]\nurl = 'http://one:8081, two:8081'")

    assert the_problem(text).path == "registry.url"


@pytest.mark.parametrize("option", ["basic.auth.user.inf", "timeout", "schema.registry.ssl.ca"])
def test_an_option_that_the_registrys_client_does_not_have_is_refused(option: str) -> None:
    text = with_table(f'[registry]\nurl = "http://one"\n"{option}" = "x"')

    assert (
        the_problem(text).path == f'registry."{option}"' if "." in option else f"registry.{option}"
    )


def test_avro_needs_a_registry() -> None:
    text = SMALLEST.replace("[source]", '[source]\nformat = "avro"')

    assert the_problem(text).path == "registry"


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("match = 'orders'", "match"),
        ("match = '.orders'", "match"),
        ("match = 'public.'", "match"),
        ("mode = 'append'", "match"),  # missing
        ("match = 'a.b'\nkey = ['id', 'id']", "key[1]"),
        ("match = 'a.b'\nexclude = ['']", "exclude[0]"),
        ("match = 'a.b'\nkey = 'id'", "key"),
        ("match = 'a.b'\nkey = [5]", "key[0]"),
        ("match = 'a.b'\nkey = ['id']\nexclude = ['id']", "exclude"),
        ("match = 'a.b'\nhash = ['x']\nexclude = ['x']", "hash"),
        ("match = 'a.b'\nhash = ['x']\ntypes = { x = 'long' }", "types.x"),
        ("match = 'a.b'\nkey = ['id']\nmode = 'append'", "key"),
        ("match = 'a.b'\nrenamed_from = 'b'", "renamed_from"),
        ("match = 'a.b'\nrenamed_from = 'a.*'", "renamed_from"),
        ("match = 'a.*'\nrenamed_from = 'a.b'", "renamed_from"),
        ("match = 'a.b'\nrenamed_from = 'a.b'", "renamed_from"),
        ("match = 'a.b'\ntypes = { payload = 5 }", "types.payload"),
        ("match = 'a.b'\ntypes = { payload = '' }", "types.payload"),
        ("match = 'a.b'\ntypes = { 'odd name' = '' }", 'types."odd name"'),
    ],
)
def test_a_wrong_rule_is_named_by_its_number(rule: str, path: str) -> None:
    text = with_table(f"[[tables.rules]]\nmatch = 'first.rule'\n[[tables.rules]]\n{rule}")

    assert the_problem(text).path == f"tables.rules[1].{path}"


def test_a_rule_that_can_never_win_is_refused() -> None:
    text = with_table("[[tables.rules]]\nmatch = 'a.b'\n[[tables.rules]]\nmatch = 'a.b'")

    assert the_problem(text).path == "tables.rules[1].match"


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ('x = ["a", "b"]', "kafka.x"),
        ("x = 2024-01-01", "kafka.x"),
        ("x = {}", "kafka.x"),
        ('"a.b" = 1\na.b = 2', 'kafka."a.b"'),
        ('"" = 1', 'kafka.""'),
        ('"a." = 1', 'kafka."a."'),
    ],
)
def test_an_option_that_no_client_can_take_is_refused(options: str, path: str) -> None:
    assert the_problem(f"{SMALLEST}{options}\n").path == path


def test_a_list_of_servers_is_one_problem_and_not_two() -> None:
    text = SMALLEST.replace('"localhost:9092"', '["a:1", "b:2"]')

    assert the_problem(text).path == 'kafka."bootstrap.servers"'


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("name = \n", "line 1, column 8"),
        ("name = 'shop'\nname = 'shop'\n", "line 2, column 14"),
        ("[source\n", "line 1, column 8"),
        ("name = 'a'\n[x]\n\x00", "line 3, column 1"),
    ],
)
def test_a_syntax_error_has_its_line_and_column(content: str, place: str) -> None:
    assert the_problem(content).path == place


@pytest.mark.parametrize("content", [b"", b"\n  \n", b"# nothing here\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_one_problem(content: bytes) -> None:
    assert len(problems_of(content)) == 1


def test_text_that_is_not_utf8_has_its_line() -> None:
    assert paths_of(SMALLEST.encode() + b"x = '\xff'") == ["line 8"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_another_encoding_is_one_problem(encoding: str) -> None:
    assert len(problems_of(SMALLEST.encode(encoding))) == 1


@pytest.mark.parametrize(
    "content",
    [
        "name = " + "[" * 5000 + "]" * 5000,
        "[kafka]\n" + ".".join(["a"] * 3000) + " = 1",
        "x = " + "9" * 5000,
    ],
)
def test_a_monstrous_file_is_a_problem_and_no_crash(content: str) -> None:
    assert problems_of(content)


def test_a_missing_file_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load_config(tmp_path / "none.toml")

    assert raised.value.path == str(tmp_path / "none.toml")


def test_a_folder_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        load_config(tmp_path)


@pytest.mark.parametrize("path", ["a\0b", "", "x" * 5000])
def test_an_impossible_path_is_a_config_error(path: str) -> None:
    with pytest.raises(ConfigError):
        load_config(path)


def test_a_path_with_control_characters_is_shown_escaped() -> None:
    problem = the_problem(with_table('[target]\n"\\u001b[31m" = 1'))

    assert problem.path == 'target."\\u001b[31m"'


def test_objects_built_by_hand_are_checked_too() -> None:
    with pytest.raises(Misfit):
        StreamConfig(trigger="soon")
    with pytest.raises(Misfit):
        KafkaConfig(options={})
    with pytest.raises(Misfit):
        TableRule(match="a.b", key=("id",), mode=ApplyMode.APPEND)
    with pytest.raises(Misfit):
        CatalogConfig(type=CatalogType.REST)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ('"decimal.handling.mode" = "exact"', 'source.modes."decimal.handling.mode"'),
        ('"decimal.handling" = "string"', 'source.modes."decimal.handling"'),
        ('"snapshot.mode" = "initial"', 'source.modes."snapshot.mode"'),
        ('"money.fraction.digits" = "two"', 'source.modes."money.fraction.digits"'),
    ],
)
def test_only_handling_modes_that_debezium_knows_are_taken(line: str, path: str) -> None:
    assert the_problem(with_table(f"[source.modes]\n{line}")).path == path


def test_handling_modes_are_taken_by_the_connectors_own_names() -> None:
    text = with_table('[source.modes]\n"time.precision.mode" = "connect"')

    modes = parse_config(text.encode(), "/etc/shop.toml").source.modes

    assert modes == {"time.precision.mode": "connect"}
