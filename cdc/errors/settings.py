"""What is wrong with a config, or with what it names on this machine."""

from dataclasses import dataclass
from typing import ClassVar

from cdc.errors.base import MirrorError


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a config file."""

    path: str  # the setting, such as tables.rules[2].deletes
    text: str  # what is wrong with it
    advice: str = ""  # what to write instead

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.text}" if self.path else self.text]
        return "\n".join([*lines, f"    {self.advice}"] if self.advice else lines)


class ConfigError(MirrorError):
    """A config file cannot be used; all that is wrong with it at once."""

    exit_code: ClassVar[int] = 2

    def __init__(self, path: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(path, problems)
        self.path, self.problems = path, problems

    def __str__(self) -> str:
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        return "\n".join(
            [
                f"{self.path}: {count}",
                *("  " + str(problem).replace("\n", "\n  ") for problem in self.problems),
            ]
        )


class RegistryOptionError(MirrorError):
    """An option of the schema registry's client cannot be used."""

    exit_code: ClassVar[int] = 2

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(option, reason)
        self.option, self.reason = option, reason

    def __str__(self) -> str:
        return f"The option {self.option} of the schema registry {self.reason}. See [registry]."


class SecretError(MirrorError):
    """A secret that the config names cannot be read."""

    exit_code: ClassVar[int] = 2

    def __init__(self, setting: str, reference: str, reason: str) -> None:
        super().__init__(setting, reference, reason)
        self.setting, self.reference, self.reason = setting, reference, reason

    def __str__(self) -> str:
        place = f"{self.setting} = {self.reference}" if self.setting else self.reference
        return f"{place} cannot be read: {self.reason}"


class FolderError(MirrorError):
    """A folder that the config names cannot be made."""

    def __init__(self, setting: str, folder: str, reason: str) -> None:
        super().__init__(setting, folder, reason)
        self.setting, self.folder, self.reason = setting, folder, reason

    def __str__(self) -> str:
        return (
            f"The folder {self.folder} of {self.setting} cannot be made: {self.reason}. "
            "Choose a place that this user may write to."
        )


class JarsMissingError(MirrorError):
    """The folder that should hold Spark's extra jars has none."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.folder = folder

    def __str__(self) -> str:
        return (
            f"DATABASE_MIRROR_JARS names {self.folder}, which holds no jar. Unset it, or fill the "
            "folder with `python -m cdc.downloads.spark_jars FOLDER`."
        )
