"""Every case, by its name."""

import tests.conformance.cases.changes
import tests.conformance.cases.keys
import tests.conformance.cases.tables
import tests.conformance.cases.truncates
import tests.conformance.cases.values  # noqa: F401
from tests.conformance.case import CASES

__all__ = ["CASES"]
