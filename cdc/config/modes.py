"""The settings of a Debezium connector that decide how its messages write values."""

from collections.abc import Mapping

from cdc.config.checks import Misfit, nearest
from cdc.errors import Problem

HANDLING_MODES: Mapping[str, tuple[str, ...]] = {
    "decimal.handling.mode": ("precise", "double", "string"),
    "time.precision.mode": (
        *("adaptive", "adaptive_time_microseconds", "microseconds", "nanoseconds"),
        *("connect", "isostring"),
    ),
    "binary.handling.mode": ("bytes", "base64", "base64-url-safe", "hex"),
    "bigint.unsigned.handling.mode": ("long", "precise"),
    "hstore.handling.mode": ("json", "map"),
    "interval.handling.mode": ("numeric", "string"),
    "money.fraction.digits": tuple(str(digits) for digits in range(19)),
}


def handling_modes(value: Mapping[str, str]) -> None:
    """Accept the connector's own names, each with a value that Debezium knows."""
    problems = []
    for name, mode in value.items():
        if name not in HANDLING_MODES:
            near = nearest(name, HANDLING_MODES)
            advice = f'Did you mean "{near}"?' if near else f"Known: {', '.join(HANDLING_MODES)}."
            problems.append(Problem(name, "is no handling mode of a connector", advice))
        elif mode not in HANDLING_MODES[name]:
            choices = ", ".join(HANDLING_MODES[name])
            problems.append(Problem(name, f"is not one of {choices}", "As the connector has it."))
    if problems:
        raise Misfit(*problems)
