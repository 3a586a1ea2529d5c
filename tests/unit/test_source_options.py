"""One set of Kafka options, as each of the two clients takes it."""

from pathlib import Path

import pytest

from cdc.config.load import parse_config
from cdc.source.client_options import JAAS, java_options, librdkafka_options
from cdc.source.stream import reader_options

SERVERS = {"bootstrap.servers": "localhost:9092", "security.protocol": "SASL_SSL"}
PASSWORDS = [
    "plain",
    "",
    'with "quotes"',
    "back\\slash",
    '\\"both\\\\" ',
    "ends with \\",
    "semi;colon = and 'single'",
    'x" username="evil',
    "username=other",
    "ünïcode 🔑",
]


@pytest.mark.parametrize("options", [SERVERS, {**SERVERS, "fetch.min.bytes": "1"}, {}])
def test_options_that_both_clients_share_stay_as_they_are(options: dict[str, str]) -> None:
    assert java_options(options) == options
    assert librdkafka_options(options) == options


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [
        ("PLAIN", "org.apache.kafka.common.security.plain.PlainLoginModule"),
        ("SCRAM-SHA-256", "org.apache.kafka.common.security.scram.ScramLoginModule"),
        ("SCRAM-SHA-512", "org.apache.kafka.common.security.scram.ScramLoginModule"),
    ],
)
@pytest.mark.parametrize("name", ["sasl.mechanism", "sasl.mechanisms"])
def test_user_and_password_become_a_jaas_line_for_java(
    name: str, mechanism: str, module: str
) -> None:
    options = {**SERVERS, name: mechanism, "sasl.username": "ann", "sasl.password": "secret"}

    java = java_options(options)

    assert java == {
        **SERVERS,
        "sasl.mechanism": mechanism,
        JAAS: f'{module} required username="ann" password="secret";',
    }


def test_quotes_and_backslashes_are_escaped_for_java() -> None:
    options = {"sasl.mechanism": "PLAIN", "sasl.username": 'a"b', "sasl.password": "c\\d"}

    jaas = java_options(options)[JAAS]

    assert 'username="a\\"b" password="c\\\\d";' in jaas


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize("user", ["ann", 'a "b" \\c'])
def test_a_password_survives_the_way_to_java_and_back(user: str, password: str) -> None:
    options = {"sasl.mechanism": "PLAIN", "sasl.username": user, "sasl.password": password}

    back = librdkafka_options(java_options(options))

    assert back == options


def test_a_jaas_line_of_ones_own_is_left_alone() -> None:
    line = 'x.OtherModule required username="a" password="b";'
    options = {"sasl.mechanism": "PLAIN", JAAS: line, "sasl.username": "c", "sasl.password": "d"}

    assert java_options(options)[JAAS] == line


def test_librdkafka_gets_user_and_password_from_a_jaas_line() -> None:
    line = 'x.Module required\n  username = "ann"\n  password="p\\"w";'

    options = librdkafka_options({**SERVERS, JAAS: line})

    assert options == {**SERVERS, "sasl.username": "ann", "sasl.password": 'p"w'}


def test_librdkafkas_own_user_wins_over_the_jaas_line() -> None:
    line = 'x.Module required username="java" password="java";'

    options = librdkafka_options({JAAS: line, "sasl.username": "own", "sasl.password": "own"})

    assert options == {"sasl.username": "own", "sasl.password": "own"}


def test_a_mechanism_without_user_and_password_makes_no_jaas_line() -> None:
    assert java_options({"sasl.mechanism": "GSSAPI"}) == {"sasl.mechanism": "GSSAPI"}


@pytest.mark.parametrize(
    "name",
    [
        "ssl.truststore.location",
        "ssl.keystore.password",
        "sasl.login.callback.handler.class",
        "sasl.client.callback.handler.class",
        "max.poll.records",
        "fetch.max.wait.ms",
        "interceptor.classes",
        "key.deserializer",
        "value.deserializer",
        "default.api.timeout.ms",
    ],
)
def test_what_librdkafka_does_not_know_is_kept_from_it(name: str) -> None:
    options = {**SERVERS, name: "x"}

    assert librdkafka_options(options) == SERVERS
    assert java_options(options) == options


def test_a_pem_authority_becomes_a_trust_store_for_java() -> None:
    java = java_options({**SERVERS, "ssl.ca.location": "/etc/ca.pem"})

    assert java == {
        **SERVERS,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/etc/ca.pem",
    }


def test_a_pem_trust_store_becomes_an_authority_for_librdkafka() -> None:
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/etc/ca.pem"}

    assert librdkafka_options({**SERVERS, **trust}) == {**SERVERS, "ssl.ca.location": "/etc/ca.pem"}


def test_a_trust_store_of_another_type_is_no_authority() -> None:
    trust = {"ssl.truststore.type": "JKS", "ssl.truststore.location": "/etc/ca.jks"}

    assert librdkafka_options({**SERVERS, **trust}) == SERVERS


def test_a_certificate_and_its_key_become_a_key_store_for_java(tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    certificate.write_text("CERTIFICATE\n")
    key.write_text("KEY\n")
    options = {
        **SERVERS,
        "ssl.certificate.location": str(certificate),
        "ssl.key.location": str(key),
        "ssl.key.password": "secret",
    }

    assert java_options(options) == {
        **SERVERS,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "CERTIFICATE\n",
        "ssl.keystore.key": "KEY\n",
        "ssl.key.password": "secret",
    }
    assert librdkafka_options(options) == options


def test_neither_translation_changes_what_it_is_given() -> None:
    options = {**SERVERS, "sasl.mechanism": "PLAIN", "sasl.username": "a", "sasl.password": "b"}
    before = dict(options)

    java_options(options)
    librdkafka_options(options)

    assert options == before


CONFIG = """
name = "shop"
[source]
connector = "postgres"
topics = ["shop.*"]
[kafka]
"bootstrap.servers" = "localhost:9092"
"""


@pytest.mark.parametrize(("said", "wait"), [("", "10"), ('"fetch.max.wait.ms" = "70"', "70")])
def test_no_topic_is_waited_for_unless_the_config_says_so(said: str, wait: str) -> None:
    """With Kafka's own half a second a batch over 100 topics took 29 seconds instead of 4."""
    options = reader_options(parse_config((CONFIG + said).encode(), "shop.toml"))

    assert options["kafka.fetch.max.wait.ms"] == wait
