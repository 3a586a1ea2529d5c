"""One set of Kafka options for two clients: Spark's Java client and librdkafka.

The config takes the names that both share, librdkafka's names for passwords and certificates, and
`sasl.jaas.config`, which Java users have at hand. Each client gets what it understands.
"""

import re
from collections.abc import Mapping
from pathlib import Path

JAAS = "sasl.jaas.config"
JAAS_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
# Options of the Java client that librdkafka does not know, or that concern consumer groups only.
JAVA_ONLY = re.compile(
    r"ssl\.(trust|key)store\.|sasl\.(client\.callback|login)\.|max\.poll\.|interceptor\.|"
    r"fetch\.max\.wait\.|(key|value)\.deserializer|default\.api\.timeout"
)


def librdkafka_options(options: Mapping[str, str]) -> dict[str, str]:
    """Give the options as librdkafka takes them."""
    kept = {name: value for name, value in options.items() if not JAVA_ONLY.match(name)}
    jaas = kept.pop(JAAS, None)
    if jaas is not None:
        for name in ("username", "password"):
            found = re.search(rf"""{name}\s*=\s*(["'])((?:(?!\1)[^\\]|\\.)*)\1""", jaas)
            if found:
                kept.setdefault(f"sasl.{name}", re.sub(r"\\(.)", r"\1", found[2]))
    if "ssl.truststore.location" in options and options.get("ssl.truststore.type") == "PEM":
        kept.setdefault("ssl.ca.location", options["ssl.truststore.location"])
    return kept


def java_options(options: Mapping[str, str]) -> dict[str, str]:
    """Give the options as the Java client takes them."""
    kept = dict(options)
    user, password = kept.pop("sasl.username", None), kept.pop("sasl.password", None)
    mechanism = kept.pop("sasl.mechanisms", None) or kept.get("sasl.mechanism")
    if mechanism:
        kept["sasl.mechanism"] = mechanism
    if user is not None and JAAS not in kept and mechanism in JAAS_MODULES:
        kept[JAAS] = (
            f"{JAAS_MODULES[mechanism]} required "
            f"username={_jaas_text(user)} password={_jaas_text(password or '')};"
        )
    authority = kept.pop("ssl.ca.location", None)
    if authority is not None:
        kept.setdefault("ssl.truststore.type", "PEM")
        kept.setdefault("ssl.truststore.location", authority)
    certificate, key = (
        kept.pop("ssl.certificate.location", None),
        kept.pop("ssl.key.location", None),
    )
    if certificate is not None and key is not None:
        kept.setdefault("ssl.keystore.type", "PEM")
        kept.setdefault("ssl.keystore.certificate.chain", Path(certificate).read_text())
        kept.setdefault("ssl.keystore.key", Path(key).read_text())
    return kept


def _jaas_text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
