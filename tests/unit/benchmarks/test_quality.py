"""The quality benchmark: its functions, its shifts, its scoring, and one short run."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from typer.testing import CliRunner

from adabkb_service.engine.auto.state.checkpoint import REVISION
from benchmarks.functions import Array
from benchmarks.quality import report, store
from benchmarks.quality.__main__ import GROUPS, PROBLEMS, QUALITY, app
from benchmarks.quality.functions import FUNCTIONS
from benchmarks.quality.gaps import Case, rows
from benchmarks.quality.methods import METHODS
from benchmarks.quality.methods.direct import Direct
from benchmarks.quality.problems import FUNCTION_PROBLEMS, MARGIN, MAX_SHIFT, WithRegret, generator, shifted
from benchmarks.quality.report import DOCUMENT, sections
from benchmarks.quality.runs import BUDGETS, COUNTS, Job, Run
from benchmarks.quality.scores import collect, standings, tied
from benchmarks.quality.stopping import gap_share_below, losses, no_gain_for, stopped_at
from benchmarks.quality.store import Results
from benchmarks.quality.tasks import TASK_PROBLEMS
from benchmarks.quality.traces import Trace
from tests.samples import some


@pytest.mark.parametrize("name", FUNCTIONS)
def test_minimum_is_attained_and_no_value_is_below_it(name: str) -> None:
    function = FUNCTIONS[name]
    low, high = np.array(function.box).T
    assert function.regret(np.array(function.minimizer)) == pytest.approx(0.0, abs=1e-9)

    rng = np.random.default_rng(0)
    near = [np.array(function.minimizer) + rng.normal(0.0, scale, (500, len(low))) for scale in (1e-2, 1e-4)]
    everywhere = rng.uniform(low, high, (1000, len(low)))
    assert min(function.regret(x) for x in (*near[0], *near[1], *everywhere)) >= -1e-9


@pytest.mark.parametrize("name", FUNCTIONS)
def test_shifted_box_keeps_its_size_and_contains_the_minimizer(name: str) -> None:
    function = FUNCTIONS[name]
    low, high = np.array(function.box).T
    width, minimizer = high - low, np.array(function.minimizer)
    boxes: list[Array] = []
    for seed in range(50):
        moved_low, moved_high = np.array(shifted(function, generator(name, seed)).box).T
        assert moved_high - moved_low == pytest.approx(width)
        assert np.all(np.abs(moved_low - low) <= MAX_SHIFT * width + 1e-9)
        margin = (MARGIN - 1e-9) * width
        assert np.all((moved_low + margin <= minimizer) & (minimizer <= moved_high - margin))
        boxes.append(moved_low)
    assert len(np.unique(boxes, axis=0)) == 50


def results_of(scores: dict[str, dict[str, list[float]]]) -> Results:
    """Results with the same score at every number of evaluations."""
    return Results(
        {
            (problem, method, seed): {"observed": [score] * len(COUNTS), "recommended": []}
            for method, of_problem in scores.items()
            for problem, of_seed in of_problem.items()
            for seed, score in enumerate(of_seed)
        }
    )


def test_ranks_and_ratios_of_a_small_table() -> None:
    results = results_of(
        {
            "random": {"f": [8.0] * 5, "g": [0.004] * 5},
            "tpe": {"f": [1.0, 1.1, 0.9, 1.0, 1.0], "g": [0.04] * 5},
            "ours": {"f": [4.0] * 5, "g": [0.001, 0.002, 0.003, 0.004, 0.005]},
            "unfinished": {"f": [0.1] * 5},
        }
    )
    scores = collect(results, ["f", "g"], 50, floor=0.01)
    assert scores.keys() == {"ours", "random", "tpe"}

    standing = standings(scores, ours={"ours"})
    # f: tpe, ours, random; g: random and ours tie below the noise, then tpe.
    assert [standing[name].rank for name in ("tpe", "ours", "random")] == [2.0, 1.75, 2.25]
    assert [standing[name].lowest for name in ("tpe", "ours", "random")] == [1, 1, 1]
    # Our own method is not a peer: tpe is compared with random, and random with tpe.
    assert [standing[name].much_worse for name in ("tpe", "ours", "random")] == [1, 1, 1]
    assert standing["ours"].ratio == pytest.approx(np.sqrt(4.0 * 1.0))
    assert standing["tpe"].ratio == pytest.approx(np.sqrt(1 / 8 * 4.0))


def test_ties_are_statistical() -> None:
    a = np.arange(10.0)
    assert tied(a, a + 1)
    assert not tied(a + 20, a)
    assert tied(np.full(5, 0.01), np.full(5, 0.01))


def test_direct_stops_its_thread_when_closed() -> None:
    before = set(threading.enumerate())
    method = Direct(FUNCTIONS["Branin"].space, seed=0)
    for _ in range(5):
        parameters = method.ask()
        method.tell(parameters, FUNCTIONS["Branin"].evaluate(np.array(list(parameters.values()))))
    assert set(threading.enumerate()) > before
    method.close()
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("name", some(TASK_PROBLEMS, list(TASK_PROBLEMS)[::5]))
def test_tasks_are_deterministic_and_their_splits_differ(name: str) -> None:
    problem = TASK_PROBLEMS[name]
    instance, other = problem.draw(0), problem.draw(1)
    parameters = instance.space.decode([0.4] * problem.dimension)
    outcome = instance.evaluate(parameters)
    assert instance.evaluate(parameters) == outcome
    assert other.evaluate(parameters) != outcome
    assert np.isfinite([outcome.value, outcome.score]).all()


def test_seeds_give_the_same_problem_to_every_method() -> None:
    jobs = [Job(FUNCTION_PROBLEMS["Branin"], "random", METHODS["random"], seed, 25) for seed in (0, 0, 1)]
    first, again, other = (job.run().observed for job in jobs)
    assert first == again
    assert first != other


@pytest.mark.long
def test_run_resumes_and_writes_tables(tmp_path: Path) -> None:
    out = tmp_path / "quality.json"
    command = ["run", "--methods", "random", "--problems", "Branin,logistic_cancer", "--seeds", "1", "--out", str(out)]
    for budget in ("5", "10"):
        result = CliRunner().invoke(app, [*command, "--budget", budget])
        assert result.exit_code == 0, result.output
    runs = store.load(out).runs
    assert {key: run["evaluations"] for key, run in runs.items()} == {
        ("Branin", "random", 0): 10,
        ("logistic_cancer", "random", 0): 10,
    }
    run = runs["logistic_cancer", "random", 0]
    assert len(run["observed"]) == len(run["values"]) == COUNTS.index(10) + 1
    assert len(run["seconds"]) == BUDGETS.index(10) + 1
    assert json.loads(out.read_text())["methods"]["random"]["versions"].keys() == {"python", "numpy", "scipy"}
    assert "random" in sections(store.load(out))["runs"]


def test_runs_of_an_older_engine_are_repeated_on_request(tmp_path: Path) -> None:
    peer, own = (Job(FUNCTION_PROBLEMS["Branin"], name, METHODS[name], 0, 5) for name in ("random", "auto"))
    for job in (peer, own):
        store.add(tmp_path / "quality.json", job, Run(5, [], [], [], []))
    results = store.load(tmp_path / "quality.json")
    assert store.is_complete(results, own, since=REVISION)
    assert not store.is_complete(results, own, since=REVISION + 1)
    assert store.is_complete(results, peer, since=REVISION + 1), "a peer has no revision"


def test_unknown_names_are_rejected() -> None:
    for option in ("--methods", "--problems"):
        result = CliRunner().invoke(app, ["run", option, "nothing"])
        assert result.exit_code == 2
        assert "nothing" in result.output
    assert len(FUNCTION_PROBLEMS) == 17


def test_problem_names_are_unique() -> None:
    assert len(PROBLEMS) == sum(len(group) for group in GROUPS.values())


def test_document_shows_the_committed_runs_and_tasks() -> None:
    results, text = store.load(QUALITY), DOCUMENT.read_text()
    for name, section in (("runs", report.runs(results)), ("tasks", report.tasks(results))):
        assert f"<!-- {name}:begin -->\n\n{section}\n\n<!-- {name}:end -->" in text, name


@pytest.mark.long
def test_document_shows_the_committed_results() -> None:
    text = DOCUMENT.read_text()
    for name, section in sections(store.load(QUALITY)).items():
        assert f"<!-- {name}:begin -->\n\n{section}\n\n<!-- {name}:end -->" in text, name


def test_stop_rule_waits_for_a_number_of_evaluations_without_a_gain() -> None:
    values = [5.0, 3.0, 4.0, 3.0, 6.0, 1.0]
    run = Trace("family", "kind", 2, 0.0, values, values, [math.inf] * 6)
    assert [stopped_at(run, no_gain_for(patience)) for patience in (1, 2, 3, 4, 5)] == [3, 4, 5, 6, 6]
    found = losses([run], no_gain_for(2))
    assert found == {"evaluations": pytest.approx(4 / 6), "ratio": pytest.approx(3.0), "lost_much": 1.0}


def test_run_stops_when_its_gap_is_below_the_share() -> None:
    run = Trace("family", "kind", 2, 0.0, [5.0, 0.0, 4.0, 3.0], [1.0] * 4, [math.inf, math.inf, 0.3, 0.05])
    assert [stopped_at(run, gap_share_below(share)) for share in (0.5, 0.3, 0.1, 0.01)] == [3, 4, 4, 4]
    assert stopped_at(run.first(3), gap_share_below(0.3)) == 3


def case(gap: float | None, regret: float, count: int = 10) -> Case:
    return Case("families", "a problem", 2, False, count, gap, regret, 10.0)


def test_gap_statistics_ignore_unknown_gaps() -> None:
    cases = [case(2.0, 1.0), case(1.0, 2.0), case(None, 3.0), case(4.0, 0.0, count=20)]
    found = {row[0]: row[1:] for row in rows(cases)}
    assert found["all"] == ["4", "75%", "67%", "20.0%", "2"]
    assert found["10 results"] == ["3", "67%", "50%", "15.0%", "1.2"]
    assert found["40 results"] == ["0", "0%", "–", "–", "–"]


@pytest.mark.parametrize("name", ["Branin", "peaks_2", "measured_snar", "emulated_snar", "laboratory_2_8"])
def test_regret_excludes_noise_and_floor(name: str) -> None:
    """The regret decreases by as much as the value does, down to 0."""
    instance = cast("WithRegret", PROBLEMS[name].draw(0))
    rng = np.random.default_rng(0)
    points = [instance.space.decode(u) for u in rng.random((50, instance.space.dimension))]
    regrets = np.array([instance.regret(point) for point in points])
    values = np.array([instance.evaluate(point).value for point in points])
    assert (regrets >= -1e-9).all()
    np.testing.assert_allclose(values - regrets, (values - regrets)[0], atol=1e-9 * np.ptp(values))
