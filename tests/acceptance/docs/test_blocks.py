"""The code of the documentation runs, against a real server, and prints what the pages show."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from adabkb_service.settings import Settings
from tests.acceptance.docs import blocks, commands, pictures
from tests.servers import server_on

ROOT = Path(__file__).parents[3]
ELSEWHERE = {
    "client.md": "tests/integration/client/test_guide.py",
    "command-line.md": "tests/acceptance/docs/test_command_line.py",
    "guides/agents.md": "tests/integration/client/mcp/test_guide.py",
    "guides/webhooks.md": "tests/integration/client/test_webhooks.py",
    "integrations.md": "tests/integration/integrations/test_guide.py",
    "mistakes.md": "tests/integration/mistakes/test_mistakes.py",
    "stories/agent.md": "tests/acceptance/examples/test_stories.py",
    "stories/cluster.md": "tests/acceptance/examples/test_stories.py",
    "stories/coating.md": "tests/acceptance/examples/test_stories.py",
    "stories/network.md": "tests/acceptance/examples/test_stories.py",
    "stories/reaction.md": "tests/acceptance/page/test_story.py",
    "security.md": "tests/integration/access/test_commands.py",
    "telemetry.md": "tests/integration/telemetry/test_guide.py",
    "reference/http.md": "tests/acceptance/docs/generated.py",
}
"""Pages that a test of their own runs, or that are made by running a server."""
LANGUAGES_NOT_RUN = {
    "diff": "test_coming_from.py compares it with scripts that it runs",
    "r": "needs R",
    "matlab": "needs Matlab",
    "powerquery": "needs Excel",
    "sh": "is the short form of a recipe that tests/acceptance/examples/test_recipes.py runs",
}
"""Of code in these languages the requests are sent, which the page lists as HTTP."""


def name(page: Path) -> str:
    return page.relative_to(blocks.DOCS if page.is_relative_to(blocks.DOCS) else ROOT).as_posix()


def pages() -> list[Path]:
    """All pages with code that no other test runs."""
    docs = [page for page in blocks.DOCS.rglob("*.md") if blocks.blocks(page) and page.parent.name != "decisions"]
    return sorted([ROOT / "README.md", *(page for page in docs if name(page) not in ELSEWHERE)])


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


@pytest.mark.parametrize("page", pages(), ids=name)
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
        elif block.language == "toml":
            assert Settings(**tomllib.loads(block.text))
        else:
            assert block.language in {"python", "http", "", *LANGUAGES_NOT_RUN}, block


def _check(api: httpx.Client, command: str, shown: str) -> None:
    if command.startswith("curl "):
        printed = blocks.send(api, blocks.curl(command)).text
        assert blocks.matches(shown, printed), (command, printed)
    else:
        commands.check(command)


@pytest.mark.parametrize("page", ["guides/r.md", "guides/matlab.md", "guides/excel.md"])
def test_code_that_cannot_run_here_sends_only_the_requests_that_its_page_lists(page: str) -> None:
    shown = {request.path for request in blocks.requests(blocks.DOCS / page)}
    code = "".join(text for language, text in blocks.blocks(blocks.DOCS / page) if language in LANGUAGES_NOT_RUN)
    sent = set(re.findall(r'(/v1/[^"\s]*)"', code))
    assert sent
    assert sent <= shown


def test_pages_that_are_run_elsewhere_have_code_and_a_test() -> None:
    for page, test in ELSEWHERE.items():
        assert blocks.blocks(blocks.DOCS / page), page
        assert page in (ROOT / test).read_text()


def test_commands_within_a_sentence_are_possible() -> None:
    """Those of an administrator, most of which are no block."""
    found = re.findall(r"`([^`\n]+)`", (blocks.DOCS / "administration.md").read_text())
    told = [text for text in found if text.startswith(("adabkb ", "as_adabkb ", "docker compose ", "kubectl "))]
    assert len(told) > 30
    for command in told:
        if not command.endswith("admin ..."):  # which stands for any command
            commands.check(command)


def test_the_pictures_are_drawn_by_the_code(address: str, tmp_path: Path) -> None:
    """All that the page shows, small enough to be read over a slow line."""
    pictures.draw(tmp_path, address)
    shown = set(re.findall(r"images/(concept-[\w-]+\.svg)", (blocks.DOCS / "concepts/pictures.md").read_text()))
    assert {path.name for path in tmp_path.iterdir()} == shown
    for path in tmp_path.iterdir():
        assert path.stat().st_size < 150_000, path.name
        assert (pictures.IMAGES / path.name).read_text().count("<path") > 5
