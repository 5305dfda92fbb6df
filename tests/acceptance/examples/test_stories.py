"""The stories of the documentation run as described, including their failures."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest

from adabkb_client import Client
from examples.stories import coating, network
from tests.acceptance.docs import blocks
from tests.acceptance.examples.killed import killed_once
from tests.acceptance.examples.programs import finish, start
from tests.acceptance.examples.test_recipes import PATH, ended, task
from tests.waiting import wait_for

EXAMPLES = Path(__file__).parents[3] / "examples"
PAGES = blocks.DOCS / "stories"


@pytest.mark.long
def test_killed_gpu_process_costs_no_trial(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """stories/network.md"""
    with Client(server) as client:
        trials = list(network.tune(client, 3, ["3", "5"], partial(killed_once, tmp_path)).trials())
    assert {trial.attributes["gpu"] for trial in trials} == {"3", "5"}
    assert sorted(trial.attempt for trial in trials) == [1, 1, 2]
    assert {trial.state for trial in trials} <= {"completed", "stopped"}
    output = capsys.readouterr().out
    assert output.startswith("GPUs: 3, 5\n")
    assert re.search(r"0 failed; \d+ epochs\nBest validation loss 0\.\d+ at", output), output


@pytest.mark.long
def test_poor_networks_are_stopped_early_within_the_budget(server: str) -> None:
    with Client(server) as client:
        study = client.create_study("epochs", **network.DEFINITION, budget=4, seed=1)
        report = study.run(network.train, pass_trial=True)
        assert min(report.completed, report.stopped) >= 1
        epochs = sum(trial.curve.step for trial in study.trials() if trial.curve)
        assert 3 * network.EPOCHS < epochs <= 4 * network.EPOCHS


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """A copy of the story's folder, since tasks write files there."""
    (tmp_path / "data").symlink_to(EXAMPLES / "data")
    return Path(shutil.copytree(EXAMPLES / "stories/cluster", tmp_path / "stories/cluster"))


@pytest.mark.long
def test_array_task_at_its_time_limit_passes_on_its_trial(server: str, cluster: Path) -> None:
    """stories/cluster.md"""
    definition = json.loads((cluster / "study.json").read_text())
    (cluster / "study.json").write_text(json.dumps({**definition, "budget": 2}))
    create = ["adabkb", "study", "create", "study.json"]
    there = {"PATH": PATH, "ADABKB_URL": server, "OMP_NUM_THREADS": "1"}
    subprocess.run(create, cwd=cluster, env={**os.environ, **there}, check=True, capture_output=True)
    with Client(server) as client:
        study = client.study("pulsars")
        first = task(cluster / "array.sbatch", 0, **there)
        wait_for(lambda: list(study.trials("active")))
        first.send_signal(signal.SIGTERM)  # what --signal=B:TERM@60 does
        ended(first, 128 + signal.SIGTERM)
        assert not list(study.trials("active"))
        assert "Study pulsars is complete (budget)" in ended(task(cluster / "array.sbatch", 1, **there))
        assert [trial.state for trial in study.trials()] == ["completed"] * 2
        best = study.best()
        assert best is not None
        assert best.value > 0.8
    assert len(list((cluster / "logs/4711").iterdir())) >= 2


def test_array_without_a_server_address_reports_the_missing_setting(cluster: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ADABKB_URL"}
    script = ["bash", str(cluster / "array.sbatch")]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "set it to the address of the server" in done.stderr


@pytest.mark.long
def test_mixture_plates_are_filled_and_the_spoilt_panel_is_found(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """stories/coating.md"""
    with Client(server) as client:
        study = coating.main(client, plates=4)
        trials, results = list(study.trials()), list(study.observations())
    for plate in range(1, 5):
        points = [trial.parameters for trial in trials if trial.plate == plate]
        assert len(points) == 8
        assert len({point["temperature"] for point in points}) == 1
        assert all(abs(sum(point[share] for share in coating.SHARES) - 100) < 1e-9 for point in points)
    [excluded] = [each for each in results if each.excluded]
    assert {trial.number: trial.plate for trial in trials}[excluded.trial or 0] == 3
    assert f"The result of trial {excluded.trial} is" in capsys.readouterr().out


@pytest.mark.long
def test_agent_makes_the_calls_that_the_page_shows(server: str) -> None:
    """stories/agent.md"""
    output = finish(start("examples/stories/agent.py", "6", ADABKB_URL=server))
    exchanges = output.split("\n\n")
    [shown] = [block.text for block in blocks.blocks(PAGES / "agent.md") if block.language == "text"]
    for exchange in shown.strip().split("\n\n"):
        assert any(blocks.matches(exchange, each) for each in exchanges), exchange
    assert "# Study `suzuki`" in output
    with Client(server) as client:
        assert [each.trial for each in client.study("suzuki").observations()] == [1, 2, 3, 4, 5, 6]


def test_stories_are_short_and_listed_on_the_index_page() -> None:
    index = (PAGES / "index.md").read_text()
    for page in PAGES.glob("*.md"):
        prose = re.sub(r"^```.*?^```|^\|.*?$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        assert len(prose.split()) <= 700, page.name
        assert page.name == "index.md" or f"({page.name})" in index
