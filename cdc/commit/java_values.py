"""Python values as Java arrays."""

from collections.abc import Sequence
from typing import Any


def java_array(gateway: Any, kind: Any, values: Sequence[Any]) -> Any:
    """Make a Java array of one kind, such as `jvm.int`."""
    array = gateway.new_array(kind, len(values))
    for place, value in enumerate(values):
        array[place] = value
    return array
