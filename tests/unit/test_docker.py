"""The image and the compose file keep their promises, as far as their text can tell."""

import json
import os
import re
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from cdc.cli import cli
from cdc.config import MirrorConfig, load_config, unreadable
from cdc.config.load import parse_config
from cdc.dialect import ConnectorRequest
from cdc.downloads.spark_jars import JARS_VARIABLE
from cdc.runtime.stream.heartbeat import HEARTBEAT_VARIABLE
from connectors import DIALECTS
from connectors.converters import JSON_WITH_SCHEMAS
from tests.dockerfile import Context, Stage, parse

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def stages() -> list[Stage]:
    return parse((DOCKER / "Dockerfile").read_text())


@pytest.fixture(scope="module")
def image(stages: list[Stage]) -> Stage:
    return stages[-1]


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    text = (DOCKER / "compose.yaml").read_text()
    found: dict[str, dict[str, Any]] = yaml.safe_load(
        re.sub(r"\$\{(\w+):-([^}]*)\}", r"\2", text)  # as if nothing were set
    )["services"]
    return found


def runs_on(service: dict[str, Any]) -> bool:
    return bool(service["restart"] != "no")


# The image


def test_the_image_runs_as_a_user_of_its_own(image: Stage) -> None:
    user = re.fullmatch(r"(\d+):(\d+)", image.last("USER").rest)
    commands = " ".join(step.rest for step in image.all("RUN"))

    assert user is not None
    assert "0" not in user.groups()
    assert f"useradd --uid {user[1]} --user-group" in commands


def test_the_folder_of_the_mirror_is_a_volume_that_the_user_owns(image: Stage) -> None:
    commands = " ".join(step.rest for step in image.all("RUN"))

    assert image.last("WORKDIR").rest == image.last("VOLUME").rest == "/mirror"
    assert "install --directory --owner=mirror --group=mirror /mirror" in commands
    # What a build changes in a volume after declaring it is lost.
    words = [step.word for step in image.own]
    assert "RUN" not in words[words.index("VOLUME") :]


def test_the_command_gets_the_signals(image: Stage) -> None:
    packages = " ".join(step.rest for step in image.all("RUN"))

    entrypoint = image.last("ENTRYPOINT").exec_form()

    assert entrypoint == ["tini", "--", *PROJECT["project"]["scripts"]]
    assert re.search(r"apt-get install [^&]*\btini\b", packages)
    assert image.last("STOPSIGNAL").rest == "SIGTERM"
    assert image.last("CMD").exec_form() == ["--help"]


@pytest.mark.parametrize(
    ("age", "healthy"),
    [(0, True), (300, True), (1200, False), (None, False)],
    ids=["fresh", "in a long batch", "old", "never written"],
)
def test_the_health_check_tells_a_dead_stream(
    image: Stage, tmp_path: Path, age: float | None, healthy: bool
) -> None:
    heartbeat = tmp_path / "heart beat"
    if age is not None:
        heartbeat.touch()
        os.utime(heartbeat, times=(time.time() - age,) * 2)
    check = image.last("HEALTHCHECK")

    kind, command = check.rest.split(" ", 1)
    done = subprocess.run(
        ["sh", "-c", command], env={**os.environ, HEARTBEAT_VARIABLE: str(heartbeat)}
    )

    assert kind == "CMD"
    assert done.returncode == (0 if healthy else 1)
    assert check.flags["start-period"] == "120s"


def test_the_image_names_the_places_that_the_program_asks_for(image: Stage) -> None:
    environment = image.environment({"PATH": "/bin"})

    assert environment["PATH"] == "/opt/venv/bin:/bin"
    assert environment[JARS_VARIABLE] == "/opt/jars"
    assert environment[HEARTBEAT_VARIABLE].startswith("/tmp/")  # any user may write there
    # Programs that were not compiled beforehand would start slowly each time.
    assert "PYTHONDONTWRITEBYTECODE" not in environment


def test_all_that_is_copied_reaches_the_build(stages: list[Stage]) -> None:
    context = Context.of(ROOT)
    names = {stage.name for stage in stages}

    for stage in stages:
        for step in stage.own:
            sources = step.rest.split()[:-1]
            if step.word == "COPY" and "from" in step.flags:
                assert step.flags["from"] in names
            elif step.word == "COPY":
                assert [source for source in sources if not any(context.files(source))] == []


def test_all_that_the_package_needs_is_copied(stages: list[Stage]) -> None:
    (builder,) = (stage for stage in stages if stage.name == "builder")
    copied = {word for step in builder.all("COPY") for word in step.rest.split()[:-1]}
    project = PROJECT["project"]

    needed = {"pyproject.toml", "uv.lock", project["readme"], *project["license-files"]}

    assert copied == needed | {*PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}


def test_nothing_else_reaches_the_build() -> None:
    context = Context.of(ROOT)

    for path in (".git", ".venv", "tests", "docker", "Makefile", "cdc/cli/__pycache__"):
        assert not context.holds(path)
    assert context.holds("cdc/cli/run.py")


def test_the_image_has_the_python_that_the_project_asks_for(image: Stage) -> None:
    offered = re.match(r"python:(\d+)\.(\d+)-", image.image)
    wanted = re.match(r">=(\d+)\.(\d+)", PROJECT["project"]["requires-python"])

    assert offered and wanted
    assert tuple(map(int, offered.groups())) >= tuple(map(int, wanted.groups()))


def test_the_image_is_installed_from_the_lock_with_the_same_uv_as_here(stages: list[Stage]) -> None:
    commands = [step.rest for stage in stages for step in stage.own if step.word == "RUN"]
    version = re.search(r"^UV_VERSION := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)

    syncs = [command for command in commands if command.startswith("uv ")]

    assert version is not None
    assert f"pip install 'uv{version[1]}'" in commands
    assert syncs
    assert all("--locked --no-default-groups" in command for command in syncs)
    assert not any("--extra" in command or "--all-extras" in command for command in syncs)


# The compose file


def test_every_server_comes_back_and_tells_its_health(
    services: dict[str, dict[str, Any]], image: Stage
) -> None:
    for name, service in services.items():
        if runs_on(service):
            checked = "healthcheck" in service or ("build" in service and image.all("HEALTHCHECK"))
            assert checked, name
            assert service["restart"] == "unless-stopped", name


def test_ports_are_open_to_this_machine_only(services: dict[str, dict[str, Any]]) -> None:
    ports = [port for service in services.values() for port in service.get("ports", ())]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert len({port.split(":")[1] for port in ports}) == len(ports)


def test_services_wait_for_what_can_happen(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        for other, wish in service.get("depends_on", {}).items():
            if wish["condition"] == "service_completed_successfully":
                assert not runs_on(services[other]), name
            else:
                assert wish["condition"] == "service_healthy", name
                assert "healthcheck" in services[other], name


def test_all_mounted_files_and_volumes_exist(services: dict[str, dict[str, Any]]) -> None:
    declared = yaml.safe_load((DOCKER / "compose.yaml").read_text())["volumes"]

    for service in services.values():
        for mount in service.get("volumes", ()):
            source = mount.split(":")[0]
            known = (DOCKER / source).is_file() if source.startswith(".") else source in declared
            assert known, mount


def test_the_build_of_the_mirror_is_the_image(services: dict[str, dict[str, Any]]) -> None:
    build = services["mirror"]["build"]

    assert (DOCKER / build["context"]).resolve() == ROOT
    assert ROOT / build["dockerfile"] == DOCKER / "Dockerfile"


@pytest.fixture
def mirror(services: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> MirrorConfig:
    """The config as the container reads it."""
    for name, value in services["mirror"]["environment"].items():
        monkeypatch.setenv(name, value)
    load_config(DOCKER / "shop.toml")
    return parse_config((DOCKER / "shop.toml").read_bytes(), "/mirror/shop.toml")


def test_the_mirror_runs_a_config_that_is_right(
    services: dict[str, dict[str, Any]], mirror: MirrorConfig
) -> None:
    command, path = services["mirror"]["command"]

    assert command in cli.commands
    assert f"./shop.toml:{path}:ro" in services["mirror"]["volumes"]
    assert unreadable(mirror) == []


def test_all_that_the_mirror_writes_is_in_its_volume(
    services: dict[str, dict[str, Any]], mirror: MirrorConfig
) -> None:
    properties = mirror.catalog.properties()

    assert "mirror:/mirror" in services["mirror"]["volumes"]
    assert properties["uri"] == "sqlite:////mirror/catalog.db"
    assert properties["warehouse"] == "/mirror/warehouse"
    assert mirror.stream.checkpoint == "/mirror/checkpoint"


def test_the_mirror_and_connect_find_kafka(
    services: dict[str, dict[str, Any]], mirror: MirrorConfig
) -> None:
    advertised = services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"].split(",")
    inside = next(listener for listener in advertised if listener.startswith("INSIDE://kafka:"))

    address = inside.removeprefix("INSIDE://")

    assert mirror.kafka.client_options()["bootstrap.servers"] == address
    assert services["connect"]["environment"]["BOOTSTRAP_SERVERS"] == address


def test_the_port_of_kafka_leads_to_the_address_it_tells(
    services: dict[str, dict[str, Any]],
) -> None:
    (port,) = services["kafka"]["ports"]
    host, outer, inner = port.split(":")
    told = services["kafka"]["environment"]

    assert f"OUTSIDE://{host}:{outer}" in told["KAFKA_ADVERTISED_LISTENERS"].split(",")
    assert f"OUTSIDE://:{inner}" in told["KAFKA_LISTENERS"].split(",")


# The connector


def test_the_connector_is_the_one_that_the_project_describes() -> None:
    connector = json.loads((DOCKER / "connector.json").read_text())
    request = ConnectorRequest(
        name="shop",
        topic_prefix="shop",
        hostname="postgres",
        port=5432,
        user="${env:SHOP_USER}",
        password="${env:SHOP_PASSWORD}",
        database="shop",
        tables=("public.*",),
        bootstrap_servers="kafka:9092",
    )

    assert connector == DIALECTS["postgres"].connector_config(request) | JSON_WITH_SCHEMAS


def test_connect_can_fill_in_the_login(services: dict[str, dict[str, Any]]) -> None:
    named = set(re.findall(r"\$\{env:(\w+)\}", (DOCKER / "connector.json").read_text()))
    connect, postgres = services["connect"]["environment"], services["postgres"]["environment"]

    assert named == {"SHOP_USER", "SHOP_PASSWORD"}
    assert connect["SHOP_USER"] == postgres["POSTGRES_USER"]
    assert connect["SHOP_PASSWORD"] == postgres["POSTGRES_PASSWORD"]
    assert connect["CONNECT_CONFIG_PROVIDERS"] == "env"


def test_the_mirror_reads_the_topics_of_the_connector(mirror: MirrorConfig) -> None:
    connector = json.loads((DOCKER / "connector.json").read_text())

    assert mirror.source.topics == (f"{connector['topic.prefix']}.public.*",)


# The reader of these files


def test_a_stage_has_the_steps_of_the_stage_it_builds_on() -> None:
    first, second = parse(
        "FROM debian AS one\nENV A=1 \\\n  # why\n  B=$A\nFROM one\nRUN --mount=type=cache true\n"
    )

    assert first.environment({"A": "0"}) == {"A": "1", "B": "0"}
    assert [step.word for step in second.instructions] == ["ENV", "RUN"]
    assert second.last("RUN").flags == {"mount": "type=cache"}
    assert second.image == "debian"


@pytest.mark.parametrize("text", ["RUN true", "FROM a\nRUN <<EOF", "FROM a\nRUN b \\\n"])
def test_a_file_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_the_last_rule_that_fits_decides_what_reaches_a_build(tmp_path: Path) -> None:
    for name in ("a/b.py", "a/__pycache__/b.pyc", "c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".dockerignore").write_text("# all\n*\n!a\n**/__pycache__\n")

    context = Context.of(tmp_path)

    assert list(context.files("a")) == ["a/b.py"]
    assert list(context.files("c.py")) == []
