"""Values of PostgreSQL at the edges of its types: SQL literals, by what each of them shows."""

FRACTIONS = {
    "NaN": "'NaN'",
    "infinity": "'Infinity'",
    "minus infinity": "'-Infinity'",
    "zero": "0",
    "minus zero": "'-0'",
    "inexact": "0.1",
    "negative": "-1.5",
}
TEXTS = {
    "empty": "''",
    "Unicode": "'héllo wörld 🚀 中文 עברית'",
    "combining": r"E'e\u0301 \u200d \ufeff'",
    "last code point": r"E'\U0010FFFF'",
    "quotes": r"""E'"double" ''single'' \\back /slash'""",
    "control characters": r"E'\x01\b\t\n\r\x1f\x7f'",
    "line separators": r"E'\u0085\u2028\u2029'",
    "blanks around": "'  both  '",
    "looks like null": "'null'",
    "looks like NaN": "'NaN'",
    "looks like base64": "'AAAA'",
}
DATES = {
    "epoch": "'1970-01-01'",
    "before the epoch": "'1969-12-31'",
    "year 1": "'0001-01-01'",
    "year 9999": "'9999-12-31'",
    "year 10000": "'10000-01-01'",
    "leap day": "'2000-02-29'",
    "no leap day": "'1900-03-01'",
    "between the calendars": "'1582-10-10'",
    "before the calendars": "'1582-10-04'",
    "before year 1": "'0001-12-31 BC'",
}
TIMES = {
    "midnight": "'00:00'",
    "end of day": "'24:00'",
    "last microsecond": "'23:59:59.999999'",
    "leap second": "'23:59:60'",
    "microseconds": "'12:34:56.789012'",
    "one microsecond": "'00:00:00.000001'",
    "half a millisecond": "'01:02:03.0005'",
}
TIMESTAMPS = {
    "epoch": "'1970-01-01 00:00:00'",
    "just before the epoch": "'1969-12-31 23:59:59.999999'",
    "year 1": "'0001-01-01 00:00:00'",
    "year 9999": "'9999-12-31 23:59:59.999999'",
    "leap second": "'2016-12-31 23:59:60'",
    "microseconds": "'2024-02-29 12:34:56.789012'",
    "half a millisecond": "'2024-02-29 12:34:56.0005'",
    "no such hour in Paris": "'2024-03-31 02:30:00'",
    "twice such an hour in Paris": "'2024-10-27 02:30:00'",
    "between the calendars": "'1582-10-10 12:00:00'",
    "before the calendars": "'1500-03-01 12:00:00'",
}
FAR_TIMESTAMPS = {
    **TIMESTAMPS,
    "year 10000": "'10000-01-01 00:00:00.000001'",
    "before year 1": "'0044-03-15 12:00:00 BC'",
    "last": "'294246-12-31 23:59:59.999999'",
    "first": "'4713-01-01 00:00:00 BC'",
}
ZONED = {
    **{edge: f"{literal[:-1]}+00'" for edge, literal in TIMESTAMPS.items()},
    "year 10000": "'10000-01-01 00:00:00.000001+00'",
    "before year 1": "'0044-03-15 12:00:00+00 BC'",
    "east": "'2024-01-01 00:00:00.5+14'",
    "west": "'2024-01-01 00:00:00.5-15:59:59'",
}
INTERVALS = {
    "zero": "'0'",
    "all parts": "'1 year 2 mons 3 days 04:05:06.789012'",
    "months": "'14 mons'",
    "days": "'400 days'",
    "hours beyond a day": "'100:00:00'",
    "negative": "'-1 day -00:00:01.5'",
    "mixed signs": "'1 mon -1 day 00:00:01'",
    "one microsecond": "'0.000001 s'",
    "thousands of years": "'9999 years'",
    "max": "'178000000 years 11 mons'",
    "min": "'-178000000 years'",
    "infinity": "'infinity'",
}
NUMERICS = {"zero": "0", "negative": "-0.01", "inexact in binary": "0.1"}
DECIMALS = {**NUMERICS, "NaN": "'NaN'"}
JSONS = {
    "object": """'{"a": 1,  "b":[1,2], "é": "🚀"}'""",
    "null of its own": "'null'",
    "empty object": "'{}'",
    "empty text": "'\"\"'",
    "long number": "'12345678901234567890.123456789012345678901234567890'",
    "escapes": r"""'"\u00e9\\\n\""'""",
    "deep": f"'{'[' * 50}{']' * 50}'",
}
UUIDS = {
    "zero": "'00000000-0000-0000-0000-000000000000'",
    "max": "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
    "capitals": "'6F1D0F5E-7C1E-4B0E-9D3C-0A1B2C3D4E5F'",
}
OCTETS = {
    "empty": r"'\x'",
    "zero byte": r"'\x00'",
    "every byte": "'\\x" + bytes(range(256)).hex() + "'",
    "high": r"'\xfffefbff'",
    "looks like text": "'text'",
}


def whole(bits: int) -> dict[str, str]:
    least = -(1 << (bits - 1))
    return {"zero": "0", "negative": "-1", "min": f"'{least}'", "max": f"'{-least - 1}'"}


def array(kind: str, *values: str) -> dict[str, str]:
    """Make arrays of some values, and those that every array may be."""
    return {
        "empty": "'{}'",
        "one": f"ARRAY[{values[0]}]::{kind}[]",
        "several": f"ARRAY[{', '.join(values)}]::{kind}[]",
        "null inside": f"ARRAY[NULL, {values[-1]}, NULL]::{kind}[]",
        "only null": f"ARRAY[NULL]::{kind}[]",
    }


def ranges(closed: str, open_: str, from_: str) -> dict[str, str]:
    return {"closed": closed, "open": open_, "unbounded": from_, "all": "'(,)'", "empty": "'empty'"}


INFINITIES = {"infinity": "'infinity'", "minus infinity": "'-infinity'", "usual": "'2024-02-29'"}
INFINITE_ARRAYS = {edge: f"'{{NULL, {value[1:-1]}}}'" for edge, value in INFINITIES.items()}
# Later than 64 bits of microseconds since 1970 reach.
LAST = {"last": "'294276-12-31 23:59:59.999999'"}
