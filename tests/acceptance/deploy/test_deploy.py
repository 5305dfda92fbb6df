"""Dockerfile and docker-compose.yml: no container engine is available, so the tests read the files and run their
commands.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import urllib.request
import venv
import zipfile
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest
import yaml
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from packaging.requirements import Requirement

from adabkb_client._version import VERSION
from adabkb_docs import PAGES
from adabkb_service.settings import table
from tests.integration.cli.test_installations import with_requirements
from tests.waiting import wait_for

ROOT = Path(__file__).parents[3]
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
INSTRUCTIONS = [line.split(maxsplit=1) for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]


def arguments(instruction: str) -> list[str]:
    return [rest for name, rest in INSTRUCTIONS if name == instruction]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


PIP = ["-m", "pip", "--quiet", "--disable-pip-version-check"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as in the image."""
    return built(tmp_path_factory.mktemp("image"), ROOT)


@pytest.fixture(scope="module")
def client_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the client, built as in the image."""
    return built(tmp_path_factory.mktemp("client"), ROOT / "client")


def built(folder: Path, project: Path) -> Path:
    build = ["wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(project)]
    subprocess.run([sys.executable, *PIP, *build], env={**os.environ, "ADABKB_RELEASE": "1"}, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def docs_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the documentation, likewise."""
    return built(tmp_path_factory.mktemp("docs"), ROOT / "site")


@pytest.fixture(scope="module")
def installed(wheel: Path, client_wheel: Path, docs_wheel: Path) -> Path:
    """The wheels in an empty environment, with links to the packages of the extra ``server`` only, since installing
    them takes longer than all tests here. Returns the folder of the commands."""
    environment = wheel.parent / "venv"
    venv.create(environment)
    python = environment / "bin" / "python"
    install = ["install", "--no-compile", "--no-deps", str(client_wheel), str(docs_wheel), str(wheel)]
    subprocess.run([sys.executable, *PIP, "--python", python, *install], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (described,) = packages.glob("adabkb_service-*.dist-info")
    with_requirements(packages, Distribution.at(described).requires or (), "server")
    return python.parent


def test_image_has_two_stages_an_unprivileged_user_and_a_health_check() -> None:
    assert len(arguments("FROM")) == 2
    assert arguments("USER") == ["10001"]
    names = [name for name, _ in INSTRUCTIONS]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert "/readyz" in arguments("HEALTHCHECK")[0]


def test_image_copies_only_existing_files() -> None:
    ignored = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for copy in arguments("COPY"):
        for source in copy.split()[:-1]:
            if not source.startswith("--from"):
                assert (ROOT / source).exists() or source.startswith("/opt/")
                assert source in ignored or source.startswith("/opt/")


def test_image_contains_all_files_that_the_documentation_links() -> None:
    """The strict build fails for a link to a file that is not in the image."""
    sent = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for page in (ROOT / "docs").rglob("*.md"):
        for link in re.findall(r"\]\((\.\./[^)#\s]+)", page.read_text()):
            linked = (page.parent / link).resolve().relative_to(ROOT)
            assert any(linked.is_relative_to(each) for each in sent), f"{page.name} links to {linked}"


def test_environment_variables_are_settings(compose: dict[str, Any]) -> None:
    known = {setting.variable for setting in table()}
    named = set(re.findall(r"(ADABKB_\w+)=", DOCKERFILE)) | set(compose["x-server"]["environment"])
    assert named <= known


def test_compose_keeps_its_data_and_does_not_migrate_automatically(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert services.keys() == {"database", "server"}
    assert services["server"]["depends_on"]["database"]["condition"] == "service_healthy"
    volume = services["database"]["volumes"][0].split(":")[0]
    assert volume in compose["volumes"]
    assert all(port.startswith("127.0.0.1:") for port in services["server"]["ports"])
    assert services["server"]["environment"]["ADABKB_DATABASE"].startswith("postgresql://")


@pytest.mark.parametrize(
    "package", ["service/adabkb_service", "client/adabkb_client", "integrations/adabkb_integrations"]
)
def test_wheels_contain_all_package_files_and_types(wheel: Path, client_wheel: Path, package: str) -> None:
    name = Path(package).name
    wheel = client_wheel if name == "adabkb_client" else wheel
    files = (path for path in (ROOT / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    expected = {path.relative_to((ROOT / package).parent).as_posix() for path in files}
    with zipfile.ZipFile(wheel) as archive:
        packed = {file for file in archive.namelist() if file.startswith(f"{name}/")}
    assert f"{name}/py.typed" in packed
    assert {file for file in packed if not file.startswith(f"{name}/_migrations/")} == expected


@pytest.mark.long
def test_server_requires_client_and_documentation_of_the_same_version(
    wheel: Path, client_wheel: Path, docs_wheel: Path
) -> None:
    for each, name in {client_wheel: "adabkb_client", docs_wheel: "adabkb_docs"}.items():
        assert each.name.split("-")[:2] == [name, VERSION]
        with zipfile.ZipFile(each) as archive:
            assert {name.split("/")[0] for name in archive.namelist()} == {name, f"{name}-{VERSION}.dist-info"}
    assert docs_wheel.name.endswith("-py3-none-any.whl")
    assert wheel.name.split("-")[:2] == ["adabkb_service", VERSION]
    assert wheel.stat().st_size < 3e6
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.startswith(("adabkb_client", "adabkb_docs"))]
        (metadata,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
    assert f"Requires-Dist: adabkb-client=={VERSION}\n" in metadata
    assert f"Requires-Dist: adabkb-docs=={VERSION} ; extra == 'server'\n" in metadata.replace("; extra", " ; extra")


@pytest.mark.parametrize(
    ("environment", "places"),
    [
        ({}, {name: f" @ {(ROOT / folder).as_uri()}" for name, folder in {"client": "client", "docs": "site"}.items()}),
        ({"ADABKB_RELEASE": "1"}, dict.fromkeys(("client", "docs"), f"=={VERSION}")),
    ],
    ids=["checkout", "release"],
)
def test_checkouts_use_local_packages_and_releases_their_versions(
    environment: dict[str, str], places: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So pip can install a checkout without a package index."""
    monkeypatch.delenv("ADABKB_RELEASE", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    needed = [Requirement(each) for each in ProjectMetadata(str(ROOT), PluginManager()).core.dependencies]
    docs = f"adabkb-docs{places['docs']} ; extra == 'server'"
    assert needed == [Requirement(f"adabkb-client{places['client']}"), Requirement(docs)]


def test_client_works_with_its_declared_dependencies(client_wheel: Path, tmp_path: Path, server: str) -> None:
    """It needs no part of the server, so it is enough for the workers of a cluster."""
    with zipfile.ZipFile(client_wheel) as archive:
        archive.extractall(tmp_path)
    (described,) = tmp_path.glob("*.dist-info")
    with_requirements(tmp_path, Distribution.at(described).requires or ())
    program = (
        "import adabkb_client as a; client = a.Client(); "
        "study = client.create_study('s', {'x': a.Float(0, 1)}, direction='minimize', budget=2); "
        "print(a.__file__, study.run(lambda x: x, progress=False).completed)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "ADABKB_URL": server}
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == f"{tmp_path}/adabkb_client/__init__.py 2\n", done.stderr
    packages = {path.name for path in tmp_path.iterdir()}
    assert packages.isdisjoint({"adabkb_service", "fastapi", "numpy", "pydantic", "sqlalchemy", "typer"})


def test_documentation_needs_no_other_host() -> None:
    """It has no inline code, which the content security policy blocks, and loads nothing from other hosts."""
    pages = {file.relative_to(PAGES).as_posix(): file.read_text() for file in PAGES.rglob("*.html")}
    assert len(pages) > 50
    for file, text in pages.items():
        assert not re.search(r"<script(?![^>]*\b(?:src=|application/json))|<style|<[^>]* (?:style|on\w+)=", text), file
        loaded = re.findall(r"<(?:script|img|link|iframe)[^>]*? (?:src|href)=\"?([^\s\">]+)", text)
        assert not [url for url in loaded if "//" in url], file
    assert (PAGES / "files/benchmarks/results/quality.json").is_file()
    reference = re.sub(r"<[^>]+>|\s", "", pages["reference/python.html"])
    assert not [text for text in ("Generator[", "ThebuiltinsTrue", "Listing[") if text in reference], (
        "as callers see it"
    )
    for shown in (
        "AbstractContextManager[adabkb_client._trial.LeasedTrial]",
        "AdaBKBSampler",
        "to_server",
        "AdaBKBSearchCV",
    ):
        assert shown in reference, shown


@pytest.mark.long
def test_commands_of_image_and_compose_run_from_the_wheel(
    installed: Path, compose: dict[str, Any], tmp_path: Path
) -> None:
    """``adabkb data migrate``, ``adabkb serve`` and the health check, from the installed wheel in an empty folder."""
    environment = {**os.environ, "ADABKB_DATABASE": f"sqlite:///{tmp_path}/adabkb.db", "ADABKB_PORT": "0"}
    environment.pop("PYTHONPATH", None)
    command = [str(installed / "adabkb")]

    def run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    where = [str(installed / "python"), "-c", "import adabkb_service; print(adabkb_service.__file__)"]
    assert str(installed.parent) in subprocess.check_output(where, env=environment, cwd=tmp_path, text=True)
    migrated = run(["data", "migrate"])
    assert migrated.returncode == 0, migrated.stderr
    serve = compose["services"]["server"]["command"]
    assert serve == ["serve"] == yaml.safe_load(arguments("CMD")[0])
    check = shlex.split(arguments("HEALTHCHECK")[0].split("CMD")[1].strip().strip("[]").replace('", "', '" "'))
    with subprocess.Popen(
        [*command, *serve], env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[-1]
            check[0] = str(installed / "python")
            check[-1] = check[-1].replace("http://127.0.0.1:8000", address)
            wait_for(lambda: subprocess.run(check, check=False).returncode == 0)
            with urllib.request.urlopen(f"{address}/docs/", timeout=60) as answer:
                assert b"Ada-BKB: ask, measure, tell" in answer.read()
        finally:
            process.terminate()
            process.wait(60)


@pytest.mark.long
def test_readme_example_uses_the_model_for_every_trial(installed: Path, tmp_path: Path) -> None:
    """Runs ``adabkb serve`` in an empty environment without any cache, then the example: no quasi-random points, and an
    estimate at the end.
    """
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    report = "print({trial.origin for trial in study.trials()}, study.info().counts.completed)\n"
    program = example.replace("Client()", "Client(address)") + report
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    serve = [str(installed / "adabkb"), "serve", "--port", "0"]
    with subprocess.Popen(serve, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[-1]
            run = [str(installed / "python"), "-c", f"address = {address!r}\n{program}"]
            done = subprocess.run(run, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        finally:
            process.terminate()
            process.wait(60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "{'policy'} 20"
    assert "Recommendation: by the model " in done.stdout
