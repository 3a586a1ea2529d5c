"""A registry's answers are kept; one that does not answer costs no record."""

import json
import pickle
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cdc.commands.check import _check_registry
from cdc.decode import registry as registry_module
from cdc.decode.avro_schema import AvroType
from cdc.decode.registry import SchemaRegistry, UnreadableSchema, open_registry
from cdc.errors import RegistryOptionError, RegistryUnreachableError
from tests.unit.registry_server import RegistryServer, serve

ROW = {"type": "record", "name": "Row", "fields": [{"name": "id", "type": "long"}]}


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with serve() as running:
        running.add(7, ROW)
        yield running


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "SETTLE_SECONDS", 0.01)


def client(server: RegistryServer, **options: str) -> SchemaRegistry:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return SchemaRegistry({"url": server.url, **named})


def refusal(client: SchemaRegistry, id_: int = 7) -> RegistryUnreachableError:
    with pytest.raises(RegistryUnreachableError) as caught:
        client.schema(id_)
    return caught.value


def reason(client: SchemaRegistry, id_: int) -> str:
    found = client.schema(id_)
    assert isinstance(found, UnreadableSchema)
    return found.reason


def test_a_schema_is_asked_for_once(server: RegistryServer) -> None:
    registry = client(server)

    first, again = registry.schema(7), registry.schema(7)

    assert isinstance(first, AvroType)
    assert first is again
    assert server.requests == ["/schemas/ids/7"]


def test_threads_ask_once_between_them(server: RegistryServer) -> None:
    registry = client(server)
    threads = [threading.Thread(target=registry.schema, args=(7,)) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert server.requests == ["/schemas/ids/7"]


def test_a_process_has_one_client_for_the_same_options(server: RegistryServer) -> None:
    options = {"url": server.url, "basic.auth.user.info": "a:b"}

    assert open_registry(options) is open_registry(dict(reversed(options.items())))
    assert open_registry(options) is not open_registry({"url": server.url})


def test_what_a_schema_refers_to_is_fetched_along(server: RegistryServer) -> None:
    money = {"type": "record", "name": "Money", "namespace": "shop", "fields": []}
    price = {
        "type": "record",
        "name": "shop.Price",
        "fields": [{"name": "net", "type": "Money"}, {"name": "tax", "type": "Money"}],
    }
    order = {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "price", "type": "shop.Price"}, {"name": "paid", "type": "shop.Money"}],
    }
    to_money = {"name": "shop.Money", "subject": "money/ü", "version": 3}
    server.versions["money/ü", "3"] = {"schema": json.dumps(money)}
    server.versions["price", "1"] = {"schema": json.dumps(price), "references": [to_money]}
    to_price = {"name": "shop.Price", "subject": "price", "version": 1}
    server.add(8, order, schemaType="AVRO", references=[to_price, to_money])

    found = client(server).schema(8)

    assert isinstance(found, AvroType)
    assert [field.type.logical for field in found.source.fields] == ["shop.Price", "shop.Money"]
    assert len(server.requests) == 3


def test_a_missing_reference_is_named(server: RegistryServer) -> None:
    server.add(8, ROW, references=[{"name": "x", "subject": "lost", "version": 2}])

    assert "version 2 of lost" in reason(client(server), 8)


def test_schemas_that_refer_to_one_another_end(server: RegistryServer) -> None:
    circle = [{"name": "x", "subject": "circle", "version": 1}]
    server.versions["circle", "1"] = {"schema": json.dumps(ROW), "references": circle}
    server.add(8, {**ROW, "name": "Other"}, references=circle)

    assert isinstance(client(server).schema(8), AvroType)


def test_an_unknown_id_is_named_with_what_to_check(server: RegistryServer) -> None:
    text = reason(client(server), 12)

    assert "12" in text
    assert server.url in text
    assert "registry.url" in text


def test_an_id_is_asked_for_again_before_it_is_unknown(server: RegistryServer) -> None:
    registry = client(server)
    answer = server.answer

    def late(path: str, headers: Any) -> tuple[int, bytes]:
        found = answer(path, headers)
        server.add(12, ROW)
        return found

    server.answer = late  # type: ignore[method-assign]

    assert isinstance(registry.schema(12), AvroType)


def test_many_unknown_ids_are_not_waited_for_one_by_one(
    server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    # Of this module alone: other threads of the process sleep as well.
    sleeps = SimpleNamespace(sleep=waits.append, monotonic=time.monotonic)
    monkeypatch.setattr("cdc.decode.registry.time", sleeps)
    registry = client(server)

    for id_ in range(100, 150):
        reason(registry, id_)
        reason(registry, id_)

    assert len(waits) == 1
    assert len(server.requests) == 50 + 2  # asked again, and for the subjects, at the first


def test_an_unknown_id_may_become_known(
    server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = client(server)
    reason(registry, 12)
    server.add(12, ROW)

    monkeypatch.setattr(registry_module, "DOUBT_SECONDS", 0.0)

    assert isinstance(registry.schema(12), AvroType)


def test_an_id_beyond_all_ids_is_not_asked_for(server: RegistryServer) -> None:
    assert str(2**32 - 1) in reason(client(server), 2**32 - 1)
    assert server.requests == []


def test_a_registry_that_lost_all_its_schemas_costs_no_record(server: RegistryServer) -> None:
    server.schemas.clear()

    assert "no schema at all" in refusal(client(server)).reason


@pytest.mark.parametrize("kind", ["PROTOBUF", "JSON"])
def test_a_schema_that_is_not_avro_is_named(server: RegistryServer, kind: str) -> None:
    server.add(9, "syntax = 'proto3';", schemaType=kind)

    assert kind in reason(client(server), 9)


@pytest.mark.parametrize("text", ["", "{", '"string"', '{"type": "record", "name": "R"}'])
def test_a_schema_that_cannot_be_read_is_named(server: RegistryServer, text: str) -> None:
    server.add(9, text)

    assert "id 9, cannot be read" in reason(client(server), 9)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 406, 429, 500, 502, 503, 504])
def test_a_registry_that_fails_costs_no_record(server: RegistryServer, status: int) -> None:
    server.failure = (status, b"<html>no</html>")
    registry = client(server)

    error = refusal(registry)
    server.failure = None

    assert error.retryable
    assert str(status) in error.reason
    assert isinstance(registry.schema(7), AvroType)


def test_a_registry_behind_another_path_is_not_taken_for_one_without_schemas() -> None:
    with serve() as server:
        server.failure = (404, b'{"detail": "no such page"}')

        assert (
            "no schema registry" in refusal(SchemaRegistry({"url": f"{server.url}/wrong"})).reason
        )


@pytest.mark.parametrize("content", [b"", b"hello", b"[]", b"{}", b'{"schema": 5}', b"[" * 10**5])
def test_an_answer_that_is_none_costs_no_record(server: RegistryServer, content: bytes) -> None:
    server.failure = (200, content)

    assert refusal(client(server)).retryable


def test_credentials_follow_no_redirection(server: RegistryServer) -> None:
    server.failure = (302, b"")

    assert "302" in refusal(client(server)).reason


def test_a_registry_that_is_not_there_costs_no_record() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    error = refusal(SchemaRegistry({"url": f"http://127.0.0.1:{port}"}))

    assert error.retryable
    assert str(port) in error.url


def test_a_registry_that_says_nothing_costs_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "ANSWER_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"

        assert "timed out" in refusal(SchemaRegistry({"url": url})).reason


def test_the_next_server_is_asked_where_one_fails(server: RegistryServer) -> None:
    with serve() as broken:
        broken.failure = (503, b"")
        registry = SchemaRegistry({"url": f"{broken.url}, {server.url}/"})

        assert isinstance(registry.schema(7), AvroType)
        server.add(8, ROW)
        assert isinstance(registry.schema(8), AvroType)

        assert len(broken.requests) == 1


def test_an_id_is_unknown_only_if_no_server_knows_it(server: RegistryServer) -> None:
    with serve() as behind:
        behind.add(1, ROW)
        registry = SchemaRegistry({"url": f"{behind.url},{server.url}"})

        assert isinstance(registry.schema(7), AvroType)


@pytest.mark.parametrize(
    "options",
    [
        {"basic.auth.user.info": "mirror:se:cret"},
        {"schema.registry.basic.auth.user.info": "mirror:se:cret"},
        {
            "basic.auth.user.info": "mirror:se:cret",
            "basic.auth.credentials.source": "USER_INFO",
        },
        {"url": "mirror:se%3Acret@"},
        {"url": "mirror:se%3Acret@", "basic.auth.credentials.source": "URL"},
    ],
)
def test_basic_credentials_are_sent(server: RegistryServer, options: dict[str, str]) -> None:
    server.credentials = "mirror:se:cret"
    url = server.url.replace("//", f"//{options.get('url', '')}")

    registry = SchemaRegistry({**options, "url": url})

    assert isinstance(registry.schema(7), AvroType)
    assert "cret" not in registry.address


def test_wrong_credentials_are_named_and_not_shown(server: RegistryServer) -> None:
    server.credentials = "mirror:right"

    error = refusal(client(server, basic_auth_user_info="mirror:wrong"))

    assert "credentials" in error.reason
    assert "wrong" not in str(error) + repr(error)


def test_a_bearer_token_is_sent(server: RegistryServer) -> None:
    server.token = "abc.def"
    options = {"bearer.auth.token": "abc.def", "bearer.auth.logical.cluster": "lsrc-1"}

    registry = SchemaRegistry({"url": server.url, **options})

    assert isinstance(registry.schema(7), AvroType)
    assert server.headers[0]["Target-Sr-Cluster"] == "lsrc-1"


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"url": ""}, "url"),
        ({"url": "http://a,"}, "url"),
        ({"url": "ftp://a"}, "url"),
        (
            {"url": "http://a:b@c", "basic.auth.credentials.source": "USER_INFO"},
            "basic.auth.user.info",
        ),
        ({"basic.auth.user.info": "nobody"}, "basic.auth.user.info"),
        ({"basic.auth.credentials.source": "SASL_INHERIT"}, "basic.auth.credentials.source"),
        ({"bearer.auth.credentials.source": "OAUTHBEARER"}, "bearer.auth.credentials.source"),
        ({"bearer.auth.token": "a\r\nb"}, "bearer.auth.token"),
        ({"bearer.auth.token": "t", "basic.auth.user.info": "a:b"}, "bearer.auth.token"),
        ({"ssl.ca.location": "/no/such/file"}, "ssl.ca.location"),
        ({"ssl.certificate.location": "/no/such/file"}, "ssl.certificate.location"),
        ({"ssl.key.location": "/no/such/file"}, "ssl.certificate.location"),
        ({"ssl.endpoint.identification.algorithm": "x"}, "ssl.endpoint.identification.algorithm"),
        ({"basic.auth.user.inf": "a:b"}, "basic.auth.user.inf"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(options: dict[str, str], option: str) -> None:
    with pytest.raises(RegistryOptionError) as caught:
        SchemaRegistry({"url": "http://registry", **options})

    assert caught.value.option == option
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_check_says_what_a_registry_holds_or_why_it_does_not_answer(
    server: RegistryServer,
) -> None:
    options = {"url": server.url.replace("//", "//mirror:secret@")}

    holding = _check_registry(options)
    server.credentials = "mirror:other"
    refusing = _check_registry(options)
    unusable = _check_registry({"url": server.url, "ssl.ca.location": "/no/such/file"})

    assert (holding.part, holding.ok) == ("registry", True)
    assert "1 subjects" in holding.detail
    assert (refusing.ok, unusable.ok) == (False, False)
    assert "credentials" in refusing.detail
    assert "ssl.ca.location" in unusable.detail
    assert "secret" not in holding.detail + refusing.detail


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make certificates that sign themselves: `server` for 127.0.0.1, `client`, `other`."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates, and is not installed")
    folder = tmp_path_factory.mktemp("certificates")
    for name, address in (("server", "127.0.0.1"), ("client", "10.0.0.1"), ("other", "10.0.0.1")):
        subprocess.run(
            [
                *(
                    "openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "ec",
                    "-pkeyopt",
                    "ec_paramgen_curve:P-256",
                ),
                *("-nodes", "-days", "2", "-subj", f"/CN={name}"),
                *("-addext", f"subjectAltName=IP:{address}"),
                *("-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"),
            ],
            check=True,
            capture_output=True,
        )
    return folder


def test_a_registry_is_read_over_tls_with_credentials(certificates: Path) -> None:
    with serve(certificates / "server.pem", certificates / "server.key") as server:
        server.add(7, ROW)
        server.credentials = "mirror:secret"
        options = {
            "url": server.url,
            "ssl.ca.location": str(certificates / "server.pem"),
            "basic.auth.user.info": "mirror:secret",
        }

        assert isinstance(SchemaRegistry(options).schema(7), AvroType)


@pytest.mark.parametrize("authority", [None, "other.pem"])
def test_a_registry_that_cannot_prove_itself_is_given_no_credentials(
    certificates: Path, authority: str | None
) -> None:
    with serve(certificates / "server.pem", certificates / "server.key") as server:
        server.add(7, ROW)
        options = {"url": server.url, "basic.auth.user.info": "mirror:secret"}
        if authority is not None:
            options["ssl.ca.location"] = str(certificates / authority)

        error = refusal(SchemaRegistry(options))

        assert "certificate" in error.reason.lower()
        assert server.requests == []


def test_a_certificate_for_another_host_is_refused_unless_that_is_wanted(
    certificates: Path,
) -> None:
    with serve(certificates / "other.pem", certificates / "other.key") as server:
        server.add(7, ROW)
        options = {"url": server.url, "ssl.ca.location": str(certificates / "other.pem")}

        refusal(SchemaRegistry(options))
        lax = {**options, "ssl.endpoint.identification.algorithm": "none"}

        assert isinstance(SchemaRegistry(lax).schema(7), AvroType)


def test_a_client_proves_itself_with_its_certificate(certificates: Path) -> None:
    with serve(
        certificates / "server.pem",
        certificates / "server.key",
        clients=certificates / "client.pem",
    ) as server:
        server.add(7, ROW)
        options = {"url": server.url, "ssl.ca.location": str(certificates / "server.pem")}
        own = {
            "ssl.certificate.location": str(certificates / "client.pem"),
            "ssl.key.location": str(certificates / "client.key"),
        }

        refusal(SchemaRegistry(options))

        assert isinstance(SchemaRegistry({**options, **own}).schema(7), AvroType)
