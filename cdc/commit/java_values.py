"""Python values as Java arrays and lists."""

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
