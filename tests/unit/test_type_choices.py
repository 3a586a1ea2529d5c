"""The grammar of `types` in a rule."""

import subprocess
import sys

import pytest

from cdc.config import DeleteKind, TableDefaults, TableRule, TablesConfig
from cdc.config.checks import Misfit
from cdc.config.type_choices import SEMANTIC, Otherwise, TypeChoice, parse_type_choice
from cdc.model import SourceType, logical

DECIMAL_10_2 = SourceType(
    "bytes", logical.DECIMAL, (("connect.decimal.precision", "10"), ("scale", "2"))
)


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("string", TypeChoice("string")),
        ("  long ", TypeChoice("long")),
        ("decimal(38,2)", TypeChoice("decimal(38, 2)")),
        ("decimal( 5 , 0 )", TypeChoice("decimal(5, 0)")),
        ("decimal(1,1) or null", TypeChoice("decimal(1, 1)", otherwise=Otherwise.NULL)),
        ("timestamp or nearest", TypeChoice("timestamp", otherwise=Otherwise.NEAREST)),
        ("list<string>", TypeChoice("list<string>")),
        ("list< list<decimal(5,2)> >", TypeChoice("list<list<decimal(5, 2)>>")),
        (
            "io.debezium.time.MicroTimestamp",
            TypeChoice(semantic=SourceType("int64", logical.MICRO_TIMESTAMP)),
        ),
        (
            "org.apache.kafka.connect.data.Decimal(10,2)",
            TypeChoice(semantic=DECIMAL_10_2),
        ),
        (
            "org.apache.kafka.connect.data.Decimal(10,2) as double or null",
            TypeChoice("double", DECIMAL_10_2, Otherwise.NULL),
        ),
        (
            "org.apache.kafka.connect.data.Decimal(2)",
            TypeChoice(semantic=SourceType("bytes", logical.DECIMAL, (("scale", "2"),))),
        ),
        (
            "io.debezium.data.Bits(12)",
            TypeChoice(semantic=SourceType("bytes", logical.BITS, (("length", "12"),))),
        ),
        (
            "io.debezium.time.Date or nearest",
            TypeChoice(semantic=SourceType("int32", logical.DATE), otherwise=Otherwise.NEAREST),
        ),
        ("int64", TypeChoice(semantic=SourceType("int64"))),
        ("bytes as string", TypeChoice("string", SourceType("bytes"))),
    ],
)
def test_a_choice_is_read(text: str, choice: TypeChoice) -> None:
    assert parse_type_choice(text) == choice


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "strin", "String", "varchar(10)", "decimal", "decimal(5)", "decimal(39,0)"),
        *("decimal(0,0)", "decimal(5,6)", "decimal(-5,2)", "int(5)", "string or", "or null"),
        *("string or zero", "string or nearest", "list<date> or nearest", "list<>", "list<strin>"),
        *("io.debezium.time.Nothing", "io.debezium.time.Date(3)", "io.debezium.data.Bits"),
        *("org.apache.kafka.connect.data.Decimal", "io.debezium.data.Bits(1,2)", "string as long"),
        *("io.debezium.data.VariableScaleDecimal", "_mirror.EscapedEnum", "int64(5)"),
        *("io.debezium.time.Date as", "io.debezium.time.Date as strin", "map<string,string>"),
    ],
)
def test_what_is_no_choice_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_type_choice(text)


@pytest.mark.parametrize("name", SEMANTIC)
def test_every_meaning_may_be_named(name: str) -> None:
    arguments = {logical.DECIMAL: "(10,2)", logical.BITS: "(8)"}.get(name, "")

    semantic = parse_type_choice(name + arguments).semantic

    assert semantic is not None
    assert logical.meaning(semantic) == name


def test_every_wrong_type_is_named_with_its_column() -> None:
    with pytest.raises(Misfit) as raised:
        TableRule(match="a.b", types={"good": "string", "typo": "strng", "odd": "list<x>"})

    assert [problem.path for problem in raised.value.problems] == ["types.typo", "types.odd"]
    assert raised.value.problems[0].advice == "Did you mean string?"


@pytest.mark.parametrize("choice", ["time", "time or null", "list<time>"])
@pytest.mark.parametrize("deletes", [None, DeleteKind.POSITIONAL])
def test_a_time_is_refused_where_spark_would_have_to_merge_it(
    choice: str, deletes: DeleteKind | None
) -> None:
    rule = TableRule(match="a.b", types={"at": choice}, deletes=deletes)

    with pytest.raises(Misfit) as raised:
        TablesConfig(rules=(rule,))

    assert [problem.path for problem in raised.value.problems] == ["rules[0].types.at"]


@pytest.mark.parametrize("by_default", [True, False])
def test_a_time_is_accepted_where_spark_merges_nothing(by_default: bool) -> None:
    own = None if by_default else DeleteKind.EQUALITY
    defaults = TableDefaults(deletes=DeleteKind.EQUALITY if by_default else DeleteKind.POSITIONAL)
    rule = TableRule(match="a.b", types={"at": "time", "x": "timestamp"}, deletes=own)

    assert TablesConfig(defaults=defaults, rules=(rule,)).rule_for("a", "b").types == rule.types


def test_checking_a_choice_loads_no_heavy_library() -> None:
    code = (
        "import sys; from cdc.config.type_choices import parse_type_choice as p; p('string');"
        "print([m for m in ('pyarrow', 'pyiceberg', 'numpy', 'pyspark') if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
