"""The base of all deliberate errors."""

from dataclasses import dataclass
from typing import Any, ClassVar, dataclass_transform


class _Listed(tuple[str, ...]):
    """Several facts of one kind; a template says what stands between them, as in `{causes:; }`."""

    def __format__(self, between: str) -> str:
        return (between or ", ").join(self)


@dataclass_transform(eq_default=False)
class MirrorError(Exception):
    """Base of all deliberate errors: what happened, where, and what to do next.

    Every subclass is a dataclass, without a decorator. Its fields are the facts; `text` is a
    template of them, and `__str__` takes its place where the words depend on the facts. No fact may
    be a secret: the text, `repr` and `args` show them all. Fields, notes and text survive pickling
    on the way back from a Spark worker. As any exception, an error equals nothing but itself.
    """

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False  # True: running the same batch again can help
    text: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(eq=False)(cls)

    def __post_init__(self) -> None:
        self.args = tuple(vars(self).values())

    def __str__(self) -> str:
        facts = {k: _Listed(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}
        return self.text.format_map(facts)

    def __reduce__(self) -> tuple[Any, ...]:
        # Not by way of `args`, as other exceptions: a field may be one for keywords alone.
        return type(self).__new__, (type(self),), {**vars(self), "args": self.args}
