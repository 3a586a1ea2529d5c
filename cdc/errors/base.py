"""The base of all deliberate errors."""

from typing import ClassVar


class MirrorError(Exception):
    """Base of all deliberate errors.

    A subclass hands its constructor arguments unchanged to `super().__init__` and builds the text
    in `__str__`, so that it can be pickled on its way back from a Spark worker.
    """

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False  # True: running the same batch again can help
