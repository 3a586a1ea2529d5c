"""A small server that speaks the part of Confluent's registry interface that a reader needs."""

import json
import ssl
import threading
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from cdc.decode.registry import SchemaRegistry


class RegistryServer:
    """What the server holds, what it was asked, and how it is made to fail."""

    def __init__(self) -> None:
        self.schemas: dict[int, dict[str, Any]] = {}
        self.versions: dict[tuple[str, str], dict[str, Any]] = {}
        self.requests: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.credentials: str | None = None  # user:password, if they are asked for
        self.token: str | None = None
        self.failure: tuple[int, bytes] | None = None  # status and content of every answer
        self.url = ""

    def add(self, id_: int, schema: Any, **more: Any) -> None:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        self.schemas[id_] = {"schema": text, **more}

    def answer(self, path: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
        self.requests.append(path)
        self.headers.append(headers)
        if self.failure is not None:
            return self.failure
        kind, _, secret = headers.get("Authorization", "").partition(" ")
        if self.credentials is not None:
            given = b64decode(secret).decode() if kind == "Basic" else None
            if given != self.credentials:
                return 401, b'{"error_code": 401, "message": "Unauthorized"}'
        if self.token is not None and (kind, secret) != ("Bearer", self.token):
            return 403, b'{"error_code": 403, "message": "Forbidden"}'
        found: Any = None
        match [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]:
            case ["subjects"]:
                found = [f"subject-{id_}" for id_ in self.schemas]
            case ["schemas", "ids", id_]:
                found = self.schemas.get(int(id_))
            case ["subjects", subject, "versions", version]:
                found = self.versions.get((subject, version))
        if found is None:
            return 404, b'{"error_code": 40403, "message": "Schema not found"}'
        return 200, json.dumps(found).encode()


class _Handler(BaseHTTPRequestHandler):
    registry: ClassVar[RegistryServer]

    def do_GET(self) -> None:
        status, content = self.registry.answer(self.path, dict(self.headers))
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(content)))
        if 300 <= status < 400:
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing: what was asked is in `requests`."""


@contextmanager
def serve(
    certificate: Path | None = None, key: Path | None = None, clients: Path | None = None
) -> Iterator[RegistryServer]:
    """Serve a registry until the block ends, over TLS if there is a certificate."""
    registry = RegistryServer()
    handler = type("Handler", (_Handler,), {"registry": registry})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(clients)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "https" if certificate is not None else "http"
    registry.url = f"{scheme}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def served(schemas: Mapping[int, Any]) -> Iterator[str]:
    """Serve some schemas and give the registry's address."""
    with serve() as server:
        for id_, schema in schemas.items():
            server.add(id_, schema)
        yield server.url


@contextmanager
def client_of(schemas: Mapping[int, Any]) -> Iterator[SchemaRegistry]:
    """Give a client of a registry that holds some schemas."""
    with served(schemas) as url:
        yield SchemaRegistry({"url": url})
