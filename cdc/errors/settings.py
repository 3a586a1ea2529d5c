"""What is wrong with a config, or with what it names on this machine."""

from dataclasses import dataclass

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

    exit_code = 2

    path: str
    problems: tuple[Problem, ...]

    def __str__(self) -> str:
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        indented = ("  " + str(problem).replace("\n", "\n  ") for problem in self.problems)
        return "\n".join([f"{self.path}: {count}", *indented])


class RegistryOptionError(MirrorError):
    """An option of the schema registry's client cannot be used."""

    exit_code = 2

    option: str
    reason: str
    text = "The option {option} of the schema registry {reason}. Correct it under [registry]."


class SecretError(MirrorError):
    """A secret that the config names cannot be read."""

    exit_code = 2

    setting: str
    reference: str  # the name of the secret, never its value
    reason: str

    def __str__(self) -> str:
        place = f"{self.setting} = {self.reference}" if self.setting else self.reference
        return f"{place} cannot be read: {self.reason}. Provide it, or correct its name."


class FolderError(MirrorError):
    """A folder that the config names cannot be created."""

    setting: str
    folder: str
    reason: str
    text = (
        "The folder {folder} of {setting} cannot be created: {reason}. Choose one that this user "
        "may write to."
    )


class JarsMissingError(MirrorError):
    """The folder that should hold Spark's extra jars has none."""

    folder: str
    text = (
        "DATABASE_MIRROR_JARS names {folder}, which holds no jar. Unset it, or fill the folder "
        "with `python -m cdc.downloads.spark_jars {folder}`."
    )
