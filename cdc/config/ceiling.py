"""How many records of one batch may go into quarantine before their table is parked."""

import math
import re
from typing import Final

from cdc.config.checks import Misfit
from cdc.config.secret import Secret
from cdc.errors import Problem

Ceiling = int | float | str

# Bad values are rare. Where one record in ten cannot be read it is the schema or a setting that is
# wrong, and the table had better wait for that than be left full of holes.
USUAL: Final = "10%"
# A share says nothing of few records: of five, one is a fifth already.
FEW: Final = 100

_SHARE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_COUNT: Final = re.compile(r"\d+")


def ceiling(value: object) -> None:
    """Accept a count of records, or a share of them: `"5%"` or 0.05."""
    if value is None or isinstance(value, Secret):
        return  # the rule sets none; a secret is looked at when it has been read
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _misfit()
    if isinstance(value, str) and not (_COUNT.fullmatch(value) or _SHARE.fullmatch(value)):
        raise _misfit()
    count, share = _parts(value)
    if (count or 0) < 0 or not 0 <= (share or 0) <= 1:
        raise _misfit()


def most_quarantined(value: Ceiling, records: int) -> int:
    """Give how many of a batch's records of one table may be bad.

    A count is taken as it is; a share never parks a table for a few records.
    """
    count, share = _parts(value)
    if share is None:
        return count or 0
    return max(FEW, math.floor(share * records))


def _parts(value: Ceiling) -> tuple[int | None, float | None]:
    """Read a ceiling as a count, or as a share."""
    if isinstance(value, str):
        percent = _SHARE.fullmatch(value)
        return (None, float(percent[1]) / 100) if percent else (int(value), None)
    return (None, value) if isinstance(value, float) else (value, None)


def _misfit() -> Misfit:
    text = "must be a number of records, or a share of them"
    return Misfit(Problem("", text, 'Such as 1000, "5%" or 0.05; 0 allows no bad record.'))
