"""The command without the server's packages: it works, or says what to install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.integration.api.conftest import DEFINITION

ROOT = Path(__file__).parents[3]
PROGRAM = "from adabkb_service.cli import main; main()"


def installed(folder: Path, requirements: list[str]) -> Path:
    """Create a folder with links to the packages of these requirements, and to this project's code."""
    for code in ("service/adabkb_service", "client/adabkb_client"):
        (folder / Path(code).name).symlink_to(ROOT / code)
    link(folder, distribution("adabkb-service"))  # for its version
    return with_requirements(folder, requirements)


def with_requirements(folder: Path, requirements: Iterable[str], extra: str = "") -> Path:
    """Add links to the folder for the packages of these requirements, and for what they require themselves.

    ``extra`` is the extra for which their markers are evaluated.
    """
    waiting = [(Requirement(text), extra) for text in requirements]
    found: set[tuple[str, str]] = set()
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        for each in {"", *requirement.extras} - {known for name, known in found if name == requirement.name}:
            found.add((requirement.name, each))
            package = distribution(requirement.name)
            waiting += [(Requirement(text), each) for text in package.requires or ()]
            link(folder, package)
    return folder


def link(folder: Path, package: Distribution) -> None:
    tops = {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}
    tops = {top for top in tops if not top.endswith(".pth")}  # these would add the whole checkout
    for top in tops:
        if not (folder / top).exists():
            (folder / top).symlink_to(Path(str(package.locate_file(top))))


def adabkb(packages: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command with these packages and nothing else."""
    return subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, *arguments],
        env={**os.environ, "PYTHONPATH": str(packages)},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def project() -> dict[str, list[str]]:
    """The requirements by extra; "" for the base requirements."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"": ["adabkb-client"], **table["optional-dependencies"]}


def test_the_client_alone_names_the_package_to_install(project: dict[str, list[str]], tmp_path: Path) -> None:
    packages = installed(tmp_path, project[""])
    done = adabkb(packages, "study", "list")
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "pip install 'adabkb-service[cli]'" in line


def test_the_client_imports_what_only_some_programs_use_when_they_use_it(
    project: dict[str, list[str]], tmp_path: Path
) -> None:
    packages = installed(tmp_path, project[""])
    program = (
        "import sys, adabkb_client; print(sorted({'asyncio', 'tqdm', 'matplotlib', 'pandas'} & sys.modules.keys())); "
        "print(adabkb_client.AsyncClient.__name__, 'AsyncStudy' in dir(adabkb_client))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={**os.environ, "PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\nAsyncClient True\n", "")


@pytest.mark.long
def test_the_extra_cli_is_enough_to_talk_to_a_server(
    project: dict[str, list[str]], tmp_path: Path, server: str
) -> None:
    packages = installed(tmp_path, project[""] + project["cli"])
    url = ["--url", server]
    created = adabkb(packages, "study", "create", "-", *url, stdin=json.dumps(DEFINITION))
    assert created.stdout == "Study s is running.\n", created.stderr
    assert adabkb(packages, "trial", "suggest", "s", *url).stdout.startswith("trial 1: x=")
    assert "completed" in adabkb(packages, "result", "observe", "s", "1", "-0.5", *url).stdout
    assert adabkb(packages, "study", "export", "s", "--format", "csv", *url).stdout.startswith("trial,state")
    assert "completed 1 trial" in adabkb(packages, "run", "s", "--n-trials", "1", *url, "--", "echo", "1").stdout
    assert "serve" in adabkb(packages, "--help").stdout


def test_the_server_of_a_file_names_the_package_to_install(project: dict[str, list[str]], tmp_path: Path) -> None:
    packages = installed(tmp_path, project[""] + project["cli"])
    done = adabkb(packages, "study", "list", "--local", str(tmp_path / "study.db"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: the server for a file needs the server's packages; install them: pip install 'adabkb-service[server]'\n"
    )


@pytest.mark.parametrize(
    "command",
    [
        "serve",
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in ("work", "data backup", "data doctor", "data replay", "token list")
        ),
    ],
)
def test_a_command_that_needs_the_server_names_the_package_to_install(
    project: dict[str, list[str]], tmp_path: Path, command: str
) -> None:
    packages = installed(tmp_path, project[""] + project["cli"])
    done = adabkb(packages, *command.split(), "x", "--port", "1")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert "pip install 'adabkb-service[server]'" in line
