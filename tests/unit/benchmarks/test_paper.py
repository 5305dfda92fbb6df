"""The parts of the paper's evaluation: each runs in a short form, resumes, and appears in figures and tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from adabkb_service.engine.candidates import grid_size
from adabkb_service.engine.paper.policy import ada_bkb
from benchmarks.paper import __main__ as evaluation
from benchmarks.paper import as_coded, falkon, growth, report, store, tuning
from benchmarks.paper.experiments import EXPERIMENTS, SQUARE, Job, jobs
from benchmarks.paper.figures import COLUMNS, draw, figures, interval
from benchmarks.paper.runs import Run
from tests.calls import watching

SMALL = [name for name in EXPERIMENTS if name != "tuning"]


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only HTRU2, with few training rows."""
    task = replace(tuning.TASKS["HTRU2"], training=500, centers=50)
    monkeypatch.setattr(tuning, "TASKS", {"HTRU2": task})
    tuning.tuning.cache_clear()
    yield
    tuning.tuning.cache_clear()


@pytest.mark.parametrize("experiment", SMALL)
def test_every_variant_of_an_experiment_runs(experiment: str) -> None:
    problem = EXPERIMENTS[experiment].problems[0]
    for variant in EXPERIMENTS[experiment].variants(problem):
        run = Job(experiment, problem, variant, 0, 4, 600.0).run()
        assert run.steps == 4
        assert run.at == [1, 2, 3, 4]
        assert len(run.regrets) == len(run.times) == len(run.leaves) == 4
        assert run.best_regret <= run.average_regret == run.regrets[-1]
        assert min(run.regrets) >= 0.0


def test_every_entry_with_few_points_starts_a_study() -> None:
    """The others differ from these only in their grids."""
    every = [job for name in EXPERIMENTS for job in jobs(name, 1)]
    assert len({(job.experiment, job.problem, job.variant) for job in every}) == len(every)
    assert sum(job.experiment == "functions" for job in every) == 16 * 5 + 3
    for experiment in SMALL:
        for problem in EXPERIMENTS[experiment].problems:
            space = EXPERIMENTS[experiment].function(problem, 0).space
            for entry in EXPERIMENTS[experiment].variants(problem).values():
                grid = getattr(entry.config, "points_per_axis", None)
                if grid is None or grid_size(space, grid) < 4000:
                    entry.policy.start(space, entry.config, 0)


def test_settings_distinguish_runs_with_other_constants() -> None:
    settings = [Job("functions", problem, "ada-bkb", 0, 9, 9.0).settings for problem in ("Branin", "Hartmann_3")]
    robust = Job("norm-bound", "Branin", "F = 1", 0, 9, 9.0).settings
    assert settings[0] != settings[1]
    assert robust == settings[0]
    assert (
        Job("shallow", "Bohachevsky", "N = 3", 0, 9, 9.0).settings
        != Job("shallow", "Bohachevsky", "N = 3 as coded", 0, 9, 9.0).settings
    )


@pytest.mark.long
@pytest.mark.usefixtures("small_tasks")
def test_falkon_is_tuned_and_tested() -> None:
    """Each point is fitted once, and twice for the test. The cost counts at every request."""
    for variant in ("ada-bkb", "ada-gp-ucb", "random-bkb"):
        fits: list[str] = []
        with watching({falkon.fit: lambda _, step: fits.append(step)}):  # noqa: B023 - it is called at once
            before = len(tuning.tuning("HTRU2", 0).known)
            run = Job("tuning", "HTRU2", variant, 0, 5, 600.0).run()
            assert fits.count("call") == len(tuning.tuning("HTRU2", 0).known) - before + 2
        assert run.evaluation_seconds > 0
        assert 0.0 < run.test_errors["best"] < 1.0
        assert run.times[-1] == pytest.approx(run.seconds + run.evaluation_seconds)


def test_refitted_posterior_equals_the_updated_one() -> None:
    """For an exact system, one row per evaluation gives the same posterior as one row per point with counts."""
    entry = EXPERIMENTS["gp-threds"].variants("Branin")["ada-gp-ucb"]
    state, values = ada_bkb.start(SQUARE["Branin"].space, entry.config, 0), np.random.default_rng(0).normal(size=30)
    for value in values:
        suggestion = ada_bkb.suggest(state, np.zeros((0, 2)))
        state = ada_bkb.observe(suggestion.state, suggestion.point, float(value)).state
    assert len(state.points.evaluated) < len(values)
    mean, variance = as_coded.fit(state)
    assert mean == pytest.approx(state.summary.mean, abs=1e-8)
    assert variance == pytest.approx(state.problem.config.ridge * state.summary.deviation**2, abs=1e-8)


def test_refitted_system_takes_the_same_steps() -> None:
    updated = Job("gp-threds", "Branin", "gp-threds", 0, 30, 600.0).run()
    fits: list[str] = []
    with watching({as_coded.fit: lambda _, step: fits.append(step)}):
        refitted = Job("gp-threds", "Branin", "gp-threds refitted", 0, 30, 600.0).run()
    assert fits.count("call") == 30
    assert refitted.regrets == updated.regrets


@pytest.mark.long
def test_growth_is_measured_at_the_sizes_that_are_shown(tmp_path: Path) -> None:
    sweeps = {}
    for name, system in growth.SYSTEMS.items():
        costs = [asdict(cost) for cost in growth.measure(system, 60, (10, 20, 30))]
        assert [(cost["evaluations"], cost["leaves"]) for cost in costs] == [(10, 60), (20, 60), (30, 60)]
        assert all(0 < cost["dictionary"] <= cost["evaluations"] for cost in costs)
        assert min(min(cost["scratch"], cost["update"]) for cost in costs) > 0.0
        over_leaves = [asdict(cost) for leaves in (40, 60, 80) for cost in growth.measure(system, leaves, [20])]
        sweeps[name] = {"evaluations": costs, "leaves": over_leaves}
    header, rows = growth.table(sweeps)
    assert [len(row) for row in rows] == [len(header)] * len(growth.SYSTEMS)
    assert growth.draw(sweeps, tmp_path / "growth.png").stat().st_size > 0


def test_exponent_of_a_power_law_is_recovered() -> None:
    costs = [{"T": size, "seconds": 7.0 * size**2} for size in (100, 200, 400, 800)]
    assert growth.exponent(costs, "T", itemgetter("seconds")) == pytest.approx(2.0)


def test_run_stops_when_its_time_is_up() -> None:
    run = Job("functions", "Branin", "ada-bkb", 0, 700, 0.01).run()
    assert 0 < run.steps < 700
    assert run.at[-1] == run.steps


def test_falkon_solves_its_equations() -> None:
    """Conjugate gradients converge to the dense solution."""
    rng = np.random.default_rng(0)
    X, scales, penalty = rng.normal(size=(300, 3)), np.array([0.7, 1.0, 2.0]), 1e-4
    y, centers = np.sin(X.sum(axis=1)), X[:40]
    K_nm = falkon.gaussian(X / scales, centers / scales)
    K_mm = falkon.gaussian(centers / scales, centers / scales)
    alpha = np.linalg.solve(K_nm.T @ K_nm + penalty * 300 * K_mm, K_nm.T @ y)
    new = rng.normal(size=(50, 3))
    dense = falkon.gaussian(new / scales, centers / scales) @ alpha
    fitted = [falkon.fit(X, y, centers, scales, penalty, steps).predict(new) for steps in (1, falkon.STEPS, 1000)]
    assert fitted[-1] == pytest.approx(dense, abs=1e-6)
    errors = [float(np.abs(prediction - dense).mean()) for prediction in fitted]
    assert errors == sorted(errors, reverse=True)


def test_data_sets_are_split_as_in_the_paper() -> None:
    rows = {"HTRU2": (14_317, 3_581), "CASP": (32_010, 13_720), "Magic04": (15_216, 3_804)}
    for name, (training, test) in rows.items():
        task = tuning.TASKS[name]
        X, y = task.load()
        assert (task.training, len(X) - task.training) == (training, test)
        assert len(X) == len(y)
        assert np.isfinite(X).all()
        if name != "CASP":
            assert set(np.unique(y)) == {-1.0, 1.0}


@pytest.mark.usefixtures("small_tasks")
def test_splits_are_disjoint_and_scaling_ignores_test_rows() -> None:
    task = tuning.TASKS["HTRU2"]
    drawn, (X, _) = tuning.tuning("HTRU2", 0), task.load()
    parts = [rows for rows, _ in (drawn.training, drawn.validation, drawn.test)]
    assert [len(rows) for rows in parts] == [350, 150, len(X) - 500]
    rows = np.concatenate(parts)
    assert len(np.unique(rows.round(6), axis=0)) == len(np.unique(X, axis=0))
    learned = np.concatenate(parts[:2])
    assert learned.mean(axis=0) == pytest.approx(np.zeros(X.shape[1]), abs=1e-9)
    assert learned.std(axis=0) == pytest.approx(np.ones(X.shape[1]))


@pytest.mark.long
def test_interrupted_evaluation_resumes(tmp_path: Path) -> None:
    out = tmp_path / "paper.json"
    options = ["run", "--parts", "shallow", "--variants", "N = 3", "--steps", "5", "--out", str(out)]
    first = CliRunner().invoke(evaluation.app, [*options, "--seeds", "1"])
    assert first.exit_code == 0, first.output
    before = store.load(out)
    assert list(before) == [("shallow", "Bohachevsky", "N = 3", 0)]
    again = CliRunner().invoke(evaluation.app, [*options, "--seeds", "2"])
    assert again.exit_code == 0, again.output
    after = store.load(out)
    assert len(after) == 2
    assert after[("shallow", "Bohachevsky", "N = 3", 0)] == before[("shallow", "Bohachevsky", "N = 3", 0)]
    assert json.loads(out.read_text())["made"]["command"]
    patient = Job("shallow", "Bohachevsky", "N = 3", 0, 5, 9000.0)
    assert store.is_there(after, patient)
    assert not store.is_there(after, Job("shallow", "Bohachevsky", "N = 3", 0, 6, 600.0))
    cut = {key: {**run, "steps": 4} for key, run in after.items()}
    assert not store.is_there(cut, patient)
    other = {key: {**run, "asked": run["asked"] | {"settings": "other"}} for key, run in after.items()}
    assert not store.is_there(other, patient)
    header, rows = report.table("shallow", after)
    assert [len(row) for row in rows] == [len(header)]
    assert [path.name for path in draw(after, tmp_path)] == ["paper-shallow.png"]


@pytest.mark.parametrize("option", [["--parts", "nothing"], ["--problems", "Brainin"], ["--variants", "N = 1"]])
def test_unknown_names_are_rejected_with_a_list_of_known_ones(option: list[str]) -> None:
    refused = CliRunner().invoke(evaluation.app, ["run", *option])
    assert refused.exit_code == 2
    assert "known:" in refused.output


def test_intervals_use_students_t() -> None:
    """The half-width for five repetitions is 2.776 standard errors."""
    mean, half = interval(np.array([[1.0], [2.0], [3.0], [4.0], [5.0]]))
    assert mean == pytest.approx([3.0])
    assert half == pytest.approx([2.776 * np.sqrt(2.5 / 5)], rel=1e-3)


@pytest.mark.long
def test_every_variant_is_in_a_figure_and_in_a_table() -> None:
    """For all experiments at once, as after a complete evaluation; a single experiment is drawn in a test above."""
    run = asdict(Run(2, 1.0, 1.0, 1.0, 0.0, 3, None, 2, [1, 2], [2.0, 1.0], [0.5, 1.0], [3, 3], [0.0], [0.0]))
    run |= {"asked": {"steps": 2}, "test_errors": {"best": 0.1, "last": 0.2}}
    runs = {store.key(job): run for name in EXPERIMENTS for job in jobs(name, 2)}
    drawn = dict(figures(runs))
    assert len(drawn) == len(EXPERIMENTS) + 2
    bands = sum(len(panel.collections) for figure in drawn.values() for panel in figure.axes)
    assert bands == len(COLUMNS) * len({key[:3] for key in runs}), (
        "each variant has an interval in each panel of its row"
    )
    for part in report.PARTS:
        header, rows = report.table(part, runs)
        assert rows
        assert {len(row) for row in rows} == {len(header)}
