"""Read a Dockerfile and a .dockerignore far enough to check them and to replay their steps."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

_FLAG = re.compile(r"--([a-z-]+)=(\S+)\s+")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its word, its flags and the rest."""

    word: str
    flags: Mapping[str, str]
    rest: str

    def exec_form(self) -> list[str]:
        """The command as a list.

        Raises:
            ValueError: It is in shell form.
        """
        command = json.loads(self.rest)
        if not isinstance(command, list):
            raise ValueError(f"{self.word} is not in exec form: {self.rest}")
        return [str(part) for part in command]


@dataclass(frozen=True, slots=True)
class Stage:
    """A FROM with what follows it; `earlier` is the stage it builds on, if it is not an image."""

    name: str
    base: str
    earlier: "Stage | None"
    own: list[Instruction] = field(default_factory=list)

    @property
    def instructions(self) -> list[Instruction]:
        """All instructions, those of the earlier stages first."""
        return [*(self.earlier.instructions if self.earlier else ()), *self.own]

    @property
    def image(self) -> str:
        """The image at the bottom."""
        return self.earlier.image if self.earlier else self.base

    def all(self, word: str) -> list[Instruction]:
        """All instructions of one kind."""
        return [step for step in self.instructions if step.word == word]

    def last(self, word: str) -> Instruction:
        """The instruction of a kind that counts."""
        return self.all(word)[-1]

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """Give the variables of the stage on top of those of its image."""
        variables = dict(given)
        for step in self.all("ENV"):
            variables |= assignments(step.rest, variables)
        return variables


def parse(text: str) -> list[Stage]:
    """Split a Dockerfile into its stages.

    Raises:
        ValueError: It uses what this reader does not know, or has steps before the first stage.
    """
    stages: list[Stage] = []
    for line in _whole_lines(text):
        word, _, rest = line.partition(" ")
        word, rest = word.upper(), rest.strip()
        flags = {}
        while flag := _FLAG.match(rest):
            flags[flag[1]] = flag[2]
            rest = rest[flag.end() :]
        if word == "FROM":
            base, *name = re.split(r"\s+AS\s+", rest, flags=re.IGNORECASE)
            earlier = next((stage for stage in stages if stage.name == base), None)
            stages.append(Stage(name[0] if name else "", base, earlier))
        elif not stages or "<<" in rest:
            raise ValueError(f"cannot read {line!r}")
        else:
            stages[-1].own.append(Instruction(word, flags, rest))
    return stages


def _whole_lines(text: str) -> Iterator[str]:
    """Join continued lines; comments may stand between them."""
    line = ""
    for part in text.splitlines():
        if part.lstrip().startswith("#") or not part.strip():
            continue
        line += part.strip().removesuffix("\\")
        if not part.rstrip().endswith("\\"):
            yield line
            line = ""
    if line:
        raise ValueError(f"nothing continues {line!r}")


def assignments(text: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Read the `name=value` pairs of an ENV or a LABEL."""
    pairs = (word.partition("=") for word in shlex.split(text))
    return {
        name: _VARIABLE.sub(lambda found: variables.get(found[1], ""), value)
        for name, _, value in pairs
    }


@dataclass(frozen=True, slots=True)
class Context:
    """What a build sees of a folder."""

    folder: Path
    rules: Sequence[str]

    @classmethod
    def of(cls, folder: Path) -> "Context":
        """Read the folder's .dockerignore."""
        lines = (folder / ".dockerignore").read_text().splitlines()
        return cls(folder, [line for line in lines if line and not line.startswith("#")])

    def holds(self, path: str) -> bool:
        """Say whether a path reaches the build: the last rule that fits it decides."""
        whole = PurePosixPath(path)
        tried = [str(place) for place in (whole, *whole.parents) if str(place) != "."]
        held = True
        for rule in self.rules:
            pattern = _pattern(rule.removeprefix("!"))
            if any(pattern.fullmatch(place) for place in tried):
                held = rule.startswith("!")
        return held and (self.folder / path).exists()

    def files(self, path: str) -> Iterator[str]:
        """List the files that COPY takes for a source; none if the source does not reach it."""
        source = self.folder / path
        found = sorted(source.rglob("*")) if source.is_dir() else [source]
        names = (str(file.relative_to(self.folder)) for file in found if file.is_file())
        yield from (name for name in names if self.holds(name))


def _pattern(glob: str) -> re.Pattern[str]:
    meanings = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob.strip("/"))
    return re.compile("".join(meanings.get(part, re.escape(part)) for part in parts))
