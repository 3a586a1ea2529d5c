"""The options of a registry's client, named as Confluent's clients name them."""

import ssl
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from cdc.config.checks import REGISTRY_OPTIONS, REGISTRY_PREFIX
from cdc.errors import RegistryOptionError

KNOWN: Final = frozenset({"url", *REGISTRY_OPTIONS})


@dataclass(frozen=True, slots=True)
class RegistryServer:
    """One server of a registry, and what a request to it carries."""

    url: str  # without credentials
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RegistryOptions:
    """What the client needs, made of the options."""

    servers: tuple[RegistryServer, ...]
    tls: ssl.SSLContext

    @staticmethod
    def of(options: Mapping[str, str]) -> "RegistryOptions":
        """Read the options.

        Raises:
            RegistryOptionError: An option is unknown or cannot be used.
        """
        named = {name.removeprefix(REGISTRY_PREFIX): value for name, value in options.items()}
        for name in named:
            if name not in KNOWN:
                raise RegistryOptionError(name, f"is none of {', '.join(sorted(KNOWN))}")
        common = _headers(named)
        servers = []
        for url in named.get("url", "").split(","):
            if not url.strip():
                raise RegistryOptionError("url", "names no server, or ends in a comma")
            servers.append(_server(url.strip(), common, named))
        return RegistryOptions(tuple(servers), _tls(named))


def _server(url: str, common: Mapping[str, str], options: Mapping[str, str]) -> RegistryServer:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise RegistryOptionError("url", "is no http:// or https:// address")
    address = parts.netloc.rpartition("@")[2]
    plain = urlunsplit((parts.scheme, address, parts.path.rstrip("/"), "", ""))
    own = dict(common)
    if parts.username is not None and "Authorization" not in own:
        if options.get("basic.auth.credentials.source", "URL") != "URL":
            raise RegistryOptionError("url", "has credentials that no other option speaks of")
        own["Authorization"] = _basic(f"{unquote(parts.username)}:{unquote(parts.password or '')}")
    return RegistryServer(plain, own)


def _headers(options: Mapping[str, str]) -> dict[str, str]:
    """Make the headers by which the registry knows the client."""
    user = options.get("basic.auth.user.info")
    token = options.get("bearer.auth.token")
    source = options.get("basic.auth.credentials.source")
    if source not in (None, "USER_INFO", "URL"):
        raise RegistryOptionError("basic.auth.credentials.source", "is not USER_INFO or URL")
    if source == "USER_INFO" and user is None:
        raise RegistryOptionError("basic.auth.user.info", "is missing")
    if options.get("bearer.auth.credentials.source") not in (None, "STATIC_TOKEN"):
        raise RegistryOptionError("bearer.auth.credentials.source", "is not STATIC_TOKEN")
    if user is not None and token is not None:
        raise RegistryOptionError("bearer.auth.token", "is set beside basic.auth.user.info")
    headers = {}
    if user is not None and source != "URL":
        if ":" not in user:
            raise RegistryOptionError("basic.auth.user.info", "does not look like user:password")
        headers["Authorization"] = _basic(user)
    if token is not None:
        headers["Authorization"] = f"Bearer {_one_line(token)}"
        for option, header in (
            ("bearer.auth.logical.cluster", "target-sr-cluster"),
            ("bearer.auth.identity.pool.id", "Confluent-Identity-Pool-Id"),
        ):
            if option in options:
                headers[header] = _one_line(options[option])
    return headers


def _basic(user_info: str) -> str:
    return f"Basic {b64encode(user_info.encode()).decode()}"


def _one_line(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        raise RegistryOptionError("bearer.auth.token", "holds what no header may hold")
    return text


def _tls(options: Mapping[str, str]) -> ssl.SSLContext:
    authority = options.get("ssl.ca.location")
    folder = authority is not None and Path(authority).is_dir()
    try:
        context = ssl.create_default_context(
            cafile=None if folder else authority, capath=authority if folder else None
        )
    except (OSError, ssl.SSLError) as error:
        raise RegistryOptionError("ssl.ca.location", f"cannot be read: {error}") from error
    algorithm = options.get("ssl.endpoint.identification.algorithm", "https")
    if algorithm in ("", "none"):
        context.check_hostname = False
    elif algorithm != "https":
        raise RegistryOptionError(
            "ssl.endpoint.identification.algorithm", 'is neither "https" nor "none"'
        )
    certificate, key = options.get("ssl.certificate.location"), options.get("ssl.key.location")
    if key is not None and certificate is None:
        raise RegistryOptionError("ssl.certificate.location", "is missing beside ssl.key.location")
    if certificate is not None:
        # Without a password it would be asked for at the terminal.
        password = options.get("ssl.key.password", "")
        try:
            context.load_cert_chain(certificate, key, password)
        except (OSError, ssl.SSLError) as error:
            reason = f"cannot be read, or its key cannot: {error}"
            raise RegistryOptionError("ssl.certificate.location", reason) from error
    return context
