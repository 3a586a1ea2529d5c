"""Which handling modes go together: every mode in both formats, without their full product."""

from collections.abc import Mapping, Sequence

from tests.integration.values.cells import Format, Mode, Setup

POSTGRES: Mapping[Mode, Sequence[str]] = {
    Mode.TIME: (
        *("adaptive", "adaptive_time_microseconds", "connect"),
        *("isostring", "microseconds", "nanoseconds"),
    ),
    Mode.DECIMAL: ("precise", "string", "double"),
    Mode.BINARY: ("bytes", "base64", "base64-url-safe", "hex"),
    Mode.HSTORE: ("json", "map"),
    Mode.INTERVAL: ("numeric", "string"),
}
# Debezium refuses the mode `adaptive` for these two.
MYSQL: Mapping[Mode, Sequence[str]] = {
    Mode.TIME: (
        *("adaptive_time_microseconds", "connect"),
        *("isostring", "microseconds", "nanoseconds"),
    ),
    Mode.DECIMAL: ("precise", "string", "double"),
    Mode.BINARY: ("bytes", "base64", "base64-url-safe", "hex"),
    Mode.UNSIGNED: ("precise", "long"),
}


def setups(prefix: str, modes: Mapping[Mode, Sequence[str]]) -> list[Setup]:
    """Make as many setups as the longest list of modes needs, each in every format."""
    longest = max(len(values) for values in modes.values())
    return [
        Setup(
            f"{prefix}_{place}_{format_}",
            format_,
            {mode: values[place % len(values)] for mode, values in modes.items()},
        )
        for place in range(longest)
        for format_ in Format
    ]
