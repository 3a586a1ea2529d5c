"""Python values as Java arrays and lists, and Java maps as Python's."""

from collections.abc import Iterable, Sequence
from typing import Any


def java_array(gateway: Any, kind: Any, values: Sequence[Any]) -> Any:
    """Make a Java array of one kind, such as `jvm.int`."""
    array = gateway.new_array(kind, len(values))
    for place, value in enumerate(values):
        array[place] = value
    return array


def java_strings(jvm: Any, texts: Iterable[str]) -> Any:
    """Make a Java list of texts without a call for each of them; none may hold a NUL."""
    guava = jvm.org.apache.iceberg.relocated.com.google.common
    return guava.base.Splitter.on("\0").splitToList("\0".join(texts))


def map_joiner(jvm: Any) -> Any:
    """Make the Java object that `joined_map` needs; it serves for ever."""
    guava = jvm.org.apache.iceberg.relocated.com.google.common
    return guava.base.Joiner.on("\0").withKeyValueSeparator("\0")


def joined_map(joiner: Any, texts: Any) -> dict[str, str]:
    """Fetch a Java map of texts at once, and not by calls for each of them."""
    count = len(texts)
    if not count:
        return {}
    parts = str(joiner.join(texts)).split("\0")
    if len(parts) != 2 * count:  # a text with a NUL in it
        return dict(texts)
    return dict(zip(parts[::2], parts[1::2], strict=True))
