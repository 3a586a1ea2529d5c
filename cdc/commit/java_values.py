"""Java's classes; Python values in Java's forms, and Java's maps and collections in Python's."""

from collections.abc import Iterable, Sequence
from typing import Any

from py4j.java_gateway import JavaClass

GUAVA = "org.apache.iceberg.relocated.com.google.common.base"


def java_class(jvm: Any, name: str) -> Any:
    """Give a Java class by its whole name.

    `jvm.org.apache…` asks Java at each dot whether there is such a class, and for every part that
    is a package Java looks through all its jars in vain: milliseconds for each.
    """
    return JavaClass(name, jvm._gateway_client)


def java_items(collection: Any) -> list[Any]:
    """List what a Java collection holds.

    py4j's iterators end with a Java exception, and Spark asks a dozen times what kind that is.
    """
    array = collection.toArray()
    return [array[place] for place in range(len(array))]


def java_array(gateway: Any, kind: Any, values: Sequence[Any]) -> Any:
    """Make a Java array of one kind, such as `jvm.int`."""
    array = gateway.new_array(kind, len(values))
    for place, value in enumerate(values):
        array[place] = value
    return array


def java_strings(jvm: Any, texts: Iterable[str]) -> Any:
    """Make a Java list of texts without a call for each of them; none may hold a NUL."""
    return java_class(jvm, f"{GUAVA}.Splitter").on("\0").splitToList("\0".join(texts))


def map_joiner(jvm: Any) -> Any:
    """Make the Java object that `joined_map` needs; it serves for ever."""
    return java_class(jvm, f"{GUAVA}.Joiner").on("\0").withKeyValueSeparator("\0")


def joined_map(joiner: Any, texts: Any) -> dict[str, str]:
    """Fetch a Java map of texts at once, and not by calls for each of them."""
    count = len(texts)
    if not count:
        return {}
    parts = str(joiner.join(texts)).split("\0")
    if len(parts) != 2 * count:  # a text with a NUL in it
        return dict(texts)
    return dict(zip(parts[::2], parts[1::2], strict=True))
