"""The code of the documentation runs, against a real server, and prints what the pages show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from tests.docs import blocks, pictures
from tests.servers import server_on

ROOT = Path(__file__).parents[2]
HERE = sorted(
    [
        ROOT / "README.md",
        blocks.DOCS / "start.md",
        *(blocks.DOCS / "guides").glob("*.md"),
        *(blocks.DOCS / "coming-from").glob("*.md"),
    ]
)
ELSEWHERE = {
    "client.md": "tests/client/test_guide.py",
    "command-line.md": "tests/docs/test_command_line.py",
    "integrations.md": "tests/integrations/test_guide.py",
    "mistakes.md": "tests/mistakes/test_mistakes.py",
    "security.md": "tests/access/test_commands.py",
}
"""Pages that a test of their own runs."""
NOT_RUN = {
    "index.md": "installs the package and starts a server, as start.md does",
    "administration.md": "needs systemd, containers, a cluster; tests/deploy reads the recipes and runs their commands",
    "algorithm.md": "formulas and an export of a decision",
    "http.md": "parts of bodies; guides/curl.md has a whole study",
    "operations.md": "ways to start a server; tests/deploy and tests/cli start it so",
    "telemetry.md": "lines of a log, and queries for Prometheus; tests/api and tests/telemetry have them",
    "systems.md": "part of a body; tests/engine has every system",
    "quality.md": "hours",
    "paper.md": "hours",
    "results.md": "hours",
    "reliability.md": "hours",
    "reference/http.md": "examples that python -m tests.api.examples records from a server",
    "concepts/pictures.md": "a drawing",
}
"""Pages whose blocks no test runs, and why."""
COMMANDS_NOT_RUN = {
    "pip": "needs a package registry",
    "python": "makes a virtual environment",
    "make": "this is run by it",
    "export": "prepares the commands below it",
    "adabkb": "is run from docs/command-line.md, and the recipes by tests/examples/test_recipes.py",
    "sbatch": "needs Slurm; tests/examples/test_recipes.py runs the scripts as it does",
    "kubectl": "needs a cluster; tests/examples/test_recipes.py runs what is in the manifests",
}
LANGUAGES_NOT_RUN = {
    "r": "needs R",
    "matlab": "needs Matlab",
    "powerquery": "needs Excel",
    "sh": "is the short form of a recipe that tests/examples/test_recipes.py runs",
}
"""Of code in these languages the requests are sent, which the page lists as HTTP."""


def name(page: Path) -> str:
    return page.relative_to(blocks.DOCS if page.is_relative_to(blocks.DOCS) else ROOT).as_posix()


def score(C: float, gamma: float) -> float:
    """What the README leaves to its reader."""
    return -abs(C - 10) / 1000 - abs(gamma - 0.1)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server for all pages; each has studies of its own."""
    with server_on(f"sqlite:///{tmp_path_factory.mktemp('docs')}/adabkb.db") as found:
        yield found


@pytest.fixture(scope="module")
def api(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60) as client:
        yield client


@pytest.mark.parametrize("page", HERE, ids=name)
def test_the_code_of_a_page_runs_from_top_to_bottom(
    page: Path, address: str, api: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADABKB_URL", address)
    blocks.run_python(page, score=score)
    assert (tmp_path / "history.svg").exists() == (page.name == "start.md")
    for request in blocks.requests(page):
        answer = blocks.send(api, request)
        assert answer.is_success, (request, answer.text)
    for block in blocks.blocks(page):
        if block.language == "console":
            for command, shown in blocks.commands(block.text):
                _check(api, command, shown)
        elif block.language == "yaml":
            assert yaml.safe_load(block.text)["kind"]
        else:
            assert block.language in {"python", "http", "", *LANGUAGES_NOT_RUN}, block


def _check(api: httpx.Client, command: str, shown: str) -> None:
    if command.startswith("curl "):
        printed = blocks.send(api, blocks.curl(command)).text
        assert blocks.matches(shown, printed), (command, printed)
    else:
        assert command.split(maxsplit=1)[0] in COMMANDS_NOT_RUN, command


@pytest.mark.parametrize("page", ["guides/r.md", "guides/matlab.md", "guides/excel.md"])
def test_code_that_cannot_run_here_sends_only_the_requests_that_its_page_lists(page: str) -> None:
    shown = {request.path for request in blocks.requests(blocks.DOCS / page)}
    code = "".join(text for language, text in blocks.blocks(blocks.DOCS / page) if language in LANGUAGES_NOT_RUN)
    sent = set(re.findall(r'(/v1/[^"\s]*)"', code))
    assert sent
    assert sent <= shown


def test_every_page_with_code_is_run_or_says_why_not() -> None:
    pages = {name(page) for page in blocks.DOCS.rglob("*.md") if blocks.blocks(page)}
    pages -= {page for page in pages if page.startswith("decisions/")}
    assert pages <= {*map(name, HERE), *ELSEWHERE, *NOT_RUN}
    for page, test in ELSEWHERE.items():
        assert page in (ROOT / test).read_text()


def test_the_pictures_are_drawn_by_the_code(address: str, tmp_path: Path) -> None:
    """All that the page shows, small enough to be read over a slow line."""
    pictures.draw(tmp_path, address)
    shown = set(re.findall(r"images/(concept-[\w-]+\.svg)", (blocks.DOCS / "concepts/pictures.md").read_text()))
    assert {path.name for path in tmp_path.iterdir()} == shown
    for path in tmp_path.iterdir():
        assert path.stat().st_size < 150_000, path.name
        assert (pictures.IMAGES / path.name).read_text().count("<path") > 5
