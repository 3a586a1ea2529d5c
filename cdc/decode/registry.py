"""A schema registry with Confluent's interface: the writer schema behind each id.

An id never changes its meaning, so an answer is kept for as long as the process lives. A registry
that does not answer, or not as one, stops the reading of the batch: what it would have said is not
known, and no record is given up for that. Only a working registry that holds other schemas can say
that an id is unknown.
"""

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import quote

from cdc.decode.avro_schema import AvroSchemaError, AvroType, parse_schema
from cdc.decode.registry_options import RegistryOptions
from cdc.errors import RegistryUnreachableError

ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"
ANSWER_SECONDS: Final = 10.0
# A schema may be known to one server of a registry a moment before it is to another.
SETTLE_SECONDS: Final = 1.0
# For how long an id stays unknown before the registry is asked again.
DOUBT_SECONDS: Final = 60.0
GREATEST_ID: Final = (1 << 31) - 1
MOST_REFERENCES: Final = 1000


@dataclass(frozen=True, slots=True)
class UnreadableSchema:
    """An id whose messages cannot be read, and why."""

    reason: str


class _NotFoundError(Exception):
    """The registry says that it does not have what was asked for."""


class _NoDetour(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: it would hand the credentials to wherever that leads."""

    def redirect_request(self, *_: object) -> None:
        return None


class SchemaRegistry:
    """The client of one registry; safe to use from several threads."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Read the options, named as Confluent's clients name them.

        Raises:
            RegistryOptionError: An option is unknown or cannot be used.
        """
        self._options = RegistryOptions.of(options)
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=self._options.tls), _NoDetour()
        )
        self._lock = threading.Lock()
        self._known: dict[int, AvroType | UnreadableSchema] = {}
        self._unknown: dict[int, tuple[float, UnreadableSchema]] = {}
        self._settled = -DOUBT_SECONDS  # when the registry was last given time
        self._answering = 0  # which of the servers answered last

    @property
    def address(self) -> str:
        """Where the registry is, without its credentials."""
        return ", ".join(server.url for server in self._options.servers)

    def schema(self, id_: int) -> AvroType | UnreadableSchema:
        """Give the writer schema of an id.

        Raises:
            RegistryUnreachableError: The registry does not answer as one.
        """
        with self._lock:
            known = self._known.get(id_)
            if known is not None:
                return known
            doubted = self._unknown.get(id_)
            if doubted is not None and time.monotonic() - doubted[0] < DOUBT_SECONDS:
                return doubted[1]
            try:
                found = self._fetch(id_)
            except _NotFoundError as error:
                unknown = UnreadableSchema(str(error))
                self._unknown[id_] = (time.monotonic(), unknown)
                return unknown
            self._known[id_] = found
            return found

    def subjects(self) -> list[str]:
        """List the subjects, to see that the registry is there.

        Raises:
            RegistryUnreachableError: The registry does not answer as one.
        """
        try:
            found = self._get("/subjects")
        except _NotFoundError as error:
            raise self._no_registry() from error
        if not isinstance(found, list):
            raise self._no_registry()
        return [str(subject) for subject in found]

    def _fetch(self, id_: int) -> AvroType | UnreadableSchema:
        advice = (
            f"its schema has the id {id_}, which the registry at {self.address} does not know: "
            "see that registry.url is where the connector's converter keeps its schemas and that "
            "the registry has not lost any"
        )
        if id_ > GREATEST_ID:
            raise _NotFoundError(f"its schema has the id {id_}, which none can have")
        try:
            answer = self._get_settled(f"/schemas/ids/{id_}")
        except _NotFoundError as error:
            raise _NotFoundError(advice) from error
        kind = answer.get("schemaType") or "AVRO" if isinstance(answer, Mapping) else None
        if kind is None or not isinstance(answer.get("schema"), str):
            raise self._no_registry()
        if kind != "AVRO":
            return UnreadableSchema(
                f"its schema, id {id_}, is {str(kind)[:50]}; of messages with a schema id, only "
                "Avro is read"
            )
        try:
            return parse_schema(answer["schema"], list(self._references(answer)))
        except AvroSchemaError as error:
            return UnreadableSchema(f"its schema, id {id_}, cannot be read: {error}")

    def _references(self, answer: Mapping[str, Any]) -> Iterator[str]:
        """Give the schemas that one refers to, each after those that it refers to itself."""
        seen: set[tuple[str, str]] = set()

        def texts(of: Mapping[str, Any]) -> Iterator[str]:
            for reference in of.get("references") or ():
                if not isinstance(reference, Mapping):
                    raise self._no_registry()
                version = (str(reference.get("subject")), str(reference.get("version")))
                if version in seen:
                    continue
                seen.add(version)
                if len(seen) > MOST_REFERENCES:
                    raise AvroSchemaError(f"it refers to more than {MOST_REFERENCES} others")
                subject, number = (quote(part, safe="") for part in version)
                try:
                    found = self._get_settled(f"/subjects/{subject}/versions/{number}?deleted=true")
                except _NotFoundError as error:
                    reason = f"its schema refers to version {version[1]} of {version[0]}"
                    raise _NotFoundError(
                        f"{reason}, which the registry at {self.address} does not have"
                    ) from error
                if not isinstance(found, Mapping) or not isinstance(found.get("schema"), str):
                    raise self._no_registry()
                yield from texts(found)
                yield found["schema"]

        yield from texts(answer)

    def _get_settled(self, path: str) -> Any:
        """Get what may have been registered only just now.

        Raises:
            RegistryUnreachableError: The registry does not answer, or has no schema at all.
            _NotFoundError: It has other schemas.
        """
        try:
            return self._get(path)
        except _NotFoundError:
            # Once in a while: a topic full of made-up ids must not be waited for again and again.
            if time.monotonic() - self._settled < DOUBT_SECONDS:
                raise
        time.sleep(SETTLE_SECONDS)
        try:
            return self._get(path)
        except _NotFoundError:
            if not self.subjects():
                raise RegistryUnreachableError(
                    self.address, "it answers, but has no schema at all, as if its data were lost"
                ) from None
            self._settled = time.monotonic()
            raise

    def _get(self, path: str) -> Any:
        """Ask the servers in turn, beginning with the one that answered last."""
        servers = self._options.servers
        reason, missing = "", False
        for turn in range(len(servers)):
            index = (self._answering + turn) % len(servers)
            headers = {"Accept": ACCEPT, **servers[index].headers}
            request = urllib.request.Request(servers[index].url + path, headers=headers)
            try:
                with self._opener.open(request, timeout=ANSWER_SECONDS) as response:
                    content = response.read()
                    kind = response.headers.get_content_type()
            except urllib.error.HTTPError as error:
                with error:
                    missing |= error.code == 404 and _is_registrys(error)
                reason = _refusal(error.code)
            except urllib.error.URLError as error:
                reason = str(error.reason)
            except (OSError, HTTPException, ValueError) as error:
                reason = str(error) or type(error).__name__
            else:
                self._answering = index
                try:
                    return json.loads(content)
                except (ValueError, RecursionError):
                    reason = f"it answers with {kind}, not with JSON"
        if missing:
            raise _NotFoundError
        raise RegistryUnreachableError(self.address, reason)

    def _no_registry(self) -> RegistryUnreachableError:
        return RegistryUnreachableError(self.address, "what answers there is no schema registry")


def _is_registrys(error: urllib.error.HTTPError) -> bool:
    """Tell a registry's own "not found" from that of a server that is none."""
    try:
        return "error_code" in json.loads(error.read())
    except (OSError, HTTPException, ValueError, TypeError, RecursionError):
        return False


def _refusal(code: int) -> str:
    if code in (401, 403):
        return f"it refuses the credentials (HTTP {code})"
    if code == 404:
        return "there is no schema registry at this path (HTTP 404)"
    if 300 <= code < 400:
        return f"it points to another address (HTTP {code}), and credentials go nowhere else"
    return f"it answers with HTTP {code}"


def open_registry(options: Mapping[str, str]) -> SchemaRegistry:
    """Give the client for these options, the same one for the whole life of the process.

    Raises:
        RegistryOptionError: An option is unknown or cannot be used.
    """
    return _opened(frozenset(options.items()))


@lru_cache(maxsize=16)
def _opened(options: frozenset[tuple[str, str]]) -> SchemaRegistry:
    return SchemaRegistry(dict(options))
