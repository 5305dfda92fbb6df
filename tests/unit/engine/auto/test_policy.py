"""Suggestions of the ``auto`` policy: with pending and failed points, in finite spaces, and after a restore."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto import learning
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.space import Space
from tests.samples import some
from tests.unit.engine.auto.drive import Run, run
from tests.unit.engine.auto.strategies import MIXED
from tests.unit.engine.drive import record
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

FINITE = Space(
    (
        IntAxis("n", 1, 64, "log", step=9),
        ChoiceAxis("b", (False, True)),
        ChoiceAxis("c", ("x", "y", "z")),
    )
)
"""48 points."""


def wave(u: Array) -> float:
    return float(np.sin(7 * u[0]) + u[-1])


def finite_score(u: Array) -> float:
    return float(np.sin(9 * u[0]) + (u[1] > 0.5) - 2.0 * (u[2] > 0.6))


# --- finite spaces ---


@pytest.mark.parametrize("noise_std", [None, 0.0])
def test_every_point_of_a_finite_space_is_suggested_exactly_once(noise_std: float | None) -> None:
    """For 48 points on int, bool and categorical axes, ``suggestions`` yields each once and then stops."""
    result = Run(auto.start(FINITE, Config(noise_std=noise_std), 0))
    for _ in range(48):
        assert not auto.exhausted(result.state, np.zeros((0, 3)))
        result.step(finite_score)
    assert len({tuple(FINITE.decode(point).values()) for point in result.points}) == 48
    assert auto.exhausted(result.state, np.zeros((0, 3)))
    assert list(auto.suggestions(result.state, np.zeros((0, 3)))) == []
    with pytest.raises(StopIteration):
        auto.suggest(result.state, np.zeros((0, 3)))


def test_pending_and_failed_points_count_as_taken() -> None:
    """With 10 evaluated, 5 pending and 4 failed points of 48, the other 29 are suggested at once, then none."""
    result = run(FINITE, finite_score, 10)
    awaiting = [s.point for s in islice(auto.suggestions(result.state, np.zeros((0, 3))), 9)]
    pending, failed = np.array(awaiting[:5]), np.array(awaiting[5:])
    rest = [suggestion.point for suggestion in auto.suggestions(result.state, pending, failed)]
    assert len(rest) == 29
    assert len({point.tobytes() for point in [*result.points, *awaiting, *rest]}) == 48
    assert auto.exhausted(result.state, np.array(awaiting + rest))
    assert not auto.exhausted(result.state, np.array(awaiting + rest[1:]))


def test_repeated_results_do_not_exhaust_a_space() -> None:
    """4 results at 2 of 4 points leave two points."""
    space = Space((ChoiceAxis("a", (False, True)), ChoiceAxis("b", (False, True))))
    state = auto.start(space, Config(), 0)
    for _ in range(2):
        for point in ([0.25, 0.25], [0.75, 0.25]):
            state = auto.observe(state, np.array(point), 1.0).state
    rest = [suggestion.point.tolist() for suggestion in auto.suggestions(state, np.zeros((0, 2)))]
    assert sorted(rest) == [[0.25, 0.75], [0.75, 0.75]]


@pytest.mark.parametrize("declared", ["by the study", "by its results"])
def test_finite_space_with_declared_noise_gets_replicates(declared: str) -> None:
    """6 points, 60 steps of noise 1: the study does not end, points are repeated, and the best is among the most
    frequent.
    """
    space = Space((IntAxis("n", 1, 3), ChoiceAxis("b", (False, True))))
    rng = np.random.default_rng(0)
    state = auto.start(space, Config(noise_std=1.0 if declared == "by the study" else None), 0)
    points = []
    for _ in range(60):
        suggestion = auto.suggest(state, np.zeros((0, 2)))
        value = 3.0 * (suggestion.point == [0.5, 0.75]).all() + rng.standard_normal()
        error = 1.0 if declared == "by its results" else 0.0
        state = auto.observe(suggestion.state, suggestion.point, value, error).state
        points.append(tuple(suggestion.point.tolist()))
    assert not auto.exhausted(state, np.zeros((0, 2)))
    counts = sorted(((points.count(point), point) for point in set(points)), reverse=True)
    assert counts[0][0] > 60 / 6
    assert (0.5, 0.75) in {point for _, point in counts[:2]}


def test_large_finite_spaces_repeat_no_point() -> None:
    """There are more points than can be listed: 40 steps give 40 different points, although the optimum is in a
    corner.
    """
    space = Space((IntAxis("n", 1, 200, "log"), IntAxis("m", 0, 90, step=3), ChoiceAxis("c", ("x", "y"))))
    assert not auto.start(space, Config(), 0).problem.domain.whole.size <= 4096
    result = run(space, lambda u: -float(u.sum()), 40)
    assert len({tuple(space.decode(point).values()) for point in result.points}) == 40


# --- parameters ---


def test_no_point_is_repeated_in_a_space_with_a_float() -> None:
    """Without noise, no known point is evaluated again, even long after the optimum was found."""
    space = Space((FloatAxis("x", 0.0, 1.0), IntAxis("n", 1, 6), ChoiceAxis("c", ("a", "b", "c"))))
    optimum = space.encode({"x": 0.3, "n": 4, "c": "b"})
    result = Run(auto.start(space, Config(), 991038398))
    for _ in range(60):
        result.step(lambda u: -float(((u - optimum) ** 2).sum()))
    assert max(result.values) > -1e-6
    assert len({point.tobytes() for point in result.points}) == 60


def test_suggestions_are_valid_parameters_of_mixed_spaces() -> None:
    """40 steps on log integers, steps, ordinals, categoricals and booleans: every suggestion decodes to valid
    parameters, encodes back to itself, and all are different.
    """
    result = run(MIXED, lambda u: float(np.sin(5 * u).sum()), 40)
    for point in result.points:
        parameters = MIXED.decode(point)
        assert MIXED.problems(parameters) == {}
        assert MIXED.encode(parameters).tolist() == point.tolist()
    assert len({point.tobytes() for point in result.points}) == 40


def test_thirty_mixed_parameters() -> None:
    """Ten floats, ten integers and ten categoricals, 15 steps: valid points, all different, and a finite model."""
    axes: list[Axis] = []
    for i in range(10):
        axes += [FloatAxis(f"x{i}", 0.0, 1.0), IntAxis(f"n{i}", 1, 100, "log"), ChoiceAxis(f"c{i}", ("a", "b", "c"))]
    space = Space(tuple(axes))
    result = run(space, lambda u: -float(((u - 0.4) ** 2).sum()), 15)
    assert len({point.tobytes() for point in result.points}) == 15
    assert all(space.problems(space.decode(point)) == {} for point in result.points)
    prediction = auto.predict(result.state, np.array(result.points))
    assert np.isfinite([prediction.mean, prediction.std, prediction.lcb, prediction.ucb]).all()


@pytest.mark.parametrize("space", [unit_space(2), MIXED, FINITE], ids=["2-d", "mixed", "finite"])
def test_first_suggestion_is_the_centre(space: Space) -> None:
    """Without results, the suggestion has some choice of each category, and the tree is split along categories only."""
    suggestion = auto.suggest(auto.start(space, Config(), 5), np.zeros((0, space.dimension)))
    problem = suggestion.state.problem
    numeric = ~problem.domain.categorical
    assert suggestion.point[numeric].tolist() == problem.root.centroid()[numeric].tolist()
    assert suggestion.cell is not None
    cuts = [name.partition("-")[0] for name in suggestion.cell.split(".")[1:]]
    assert cuts == [str(axis) for axis in np.flatnonzero(problem.domain.categorical)]


# --- many at once ---


@pytest.mark.parametrize("space", [unit_space(1), unit_space(3), MIXED], ids=["1-d", "3-d", "mixed"])
@pytest.mark.parametrize("steps", some([0, 3, 12], [12]))
def test_batch_equals_single_suggestions(space: Space, steps: int) -> None:
    """8 suggestions from one call are different, and equal single suggestions with the earlier ones pending."""
    state = run(space, wave, steps).state
    pending = state.problem.domain.exact(np.full(space.dimension, 0.9))[None]
    together = list(islice(auto.suggestions(state, pending), 8))
    for suggestion in together:
        alone = auto.suggest(state, pending)
        assert alone.point.tolist() == suggestion.point.tolist()
        assert (alone.cell, alone.cells) == (suggestion.cell, suggestion.cells)
        state, pending = alone.state, np.vstack([pending, alone.point])
    assert len({suggestion.point.tobytes() for suggestion in together}) == 8


def test_first_points_are_in_different_branches_of_the_conditions() -> None:
    """Five branches: four even values, at each of which another parameter is active, and all odd values. The best
    values are odd."""
    n, evens = IntAxis("n", 1, 9), (2, 4, 6, 8)
    conditions = tuple(Condition(f"x{even}", "n", (even,)) for even in evens)
    space = Space((n, *(FloatAxis(f"x{even}", 0.0, 1.0) for even in evens)), conditions=conditions)
    points = np.array(run(space, lambda u: float(n.bin(u[0]) % 2 == 0), 4).points)
    assert len(np.unique(space.activity.branches(points)[:, 0])) == 4


def test_pending_point_moves_the_search_but_not_the_mean() -> None:
    """If the next suggestion is made pending, another point at least a hundredth of the box away is suggested.
    Predictions do not change. There are too few results for the local model, whose points may be closer.
    """
    for seed in range(5):
        state = run(unit_space(2), wave, 6, seed=seed).state
        at = np.random.default_rng(0).random((10, 2))
        first = auto.suggest(state, np.zeros((0, 2)))
        second = auto.suggest(first.state, first.point[None])
        assert np.abs(second.point - first.point).max() > 0.01
        np.testing.assert_array_equal(auto.predict(second.state, at).mean, auto.predict(state, at).mean)


def test_parallel_points_are_spread_out() -> None:
    """Four points at once after five results in 2-d: no two are closer than a hundredth of the box."""
    for seed in range(5):
        state = run(unit_space(2), wave, 5, seed=seed).state
        points = np.array([s.point for s in islice(auto.suggestions(state, np.zeros((0, 2))), 4)])
        gaps = np.abs(points[:, None] - points[None]).max(axis=2)[np.triu_indices(4, 1)]
        assert gaps.min() > 0.01


# --- failures ---


def test_failed_points_are_not_suggested_again() -> None:
    """Every other evaluation fails: 30 steps in a mixed space give 30 different points."""
    result = Run(auto.start(MIXED, Config(), 0))
    failed: list[Array] = []
    for i in range(30):
        point = result.ask(failed=np.array(failed).reshape(-1, MIXED.dimension))
        if i % 2:
            failed.append(point)
        else:
            result.tell(point, wave(point))
    assert len({point.tobytes() for point in [*result.points, *failed]}) == 30


def test_study_of_failures_still_gets_new_points() -> None:
    """If all evaluations fail from the start, 12 different points spread over the box are still suggested."""
    state = auto.start(unit_space(2), Config(), 0)
    failed = np.zeros((0, 2))
    for _ in range(12):
        suggestion = auto.suggest(state, np.zeros((0, 2)), failed)
        state, failed = suggestion.state, np.vstack([failed, suggestion.point])
    assert len(np.unique(failed, axis=0)) == 12
    assert (np.ptp(failed, axis=0) > 0.5).all()


@pytest.mark.long
def test_search_leaves_a_failing_region() -> None:
    """A peak of 3 whose upper half fails, with values up to 1.5 at its edge, and a hill of 1.6 elsewhere. Some of the
    first 30 evaluations fail, but fewer than a twentieth of the last 20, and the search finds the hill.
    """
    spurious, hill = np.array([0.3, 0.35]), np.array([0.8, 0.75])
    outcomes = []
    for seed in range(5):
        result = Run(auto.start(unit_space(2), Config(), seed))
        failed, fails = np.zeros((0, 2)), []
        for _ in range(50):
            point = result.ask(failed=failed)
            distance = float(np.hypot(*(point - spurious)))
            fails.append(distance < 0.15)
            if fails[-1]:
                failed = np.vstack([failed, point])
            else:
                result.tell(point, max(3.0 - 10.0 * distance, 1.6 - 8.0 * float(((point - hill) ** 2).sum())))
        outcomes.append(fails)
        assert max(result.values) > 1.59
    assert np.mean(outcomes, axis=0)[:30].mean() > 0.01, "the test proves nothing if no evaluation fails"
    assert np.mean(outcomes, axis=0)[30:].mean() < 0.05


# --- values and repeats ---


def test_runs_are_reproducible_by_seed() -> None:
    """Points and values are bit-identical over 20 steps."""
    one, same, other = (run(unit_space(3), wave, 20, seed=seed) for seed in (1, 1, 2))
    assert [p.tolist() for p in one.points] == [p.tolist() for p in same.points]
    assert [p.tolist() for p in one.points] != [p.tolist() for p in other.points]


def test_abandoned_decisions_do_not_affect_the_earlier_state() -> None:
    """States are immutable."""
    state = run(unit_space(2), wave, 15).state
    at = np.random.default_rng(5).random((10, 2))
    before, nothing = auto.predict(state, at), np.zeros((0, 2))
    first = auto.suggest(state, nothing)
    auto.observe(first.state, first.point, 99.0)
    again = auto.suggest(state, nothing)
    assert (again.cell, again.cells) == (first.cell, first.cells)
    assert again.point.tolist() == first.point.tolist()
    np.testing.assert_array_equal(auto.predict(state, at).mean, before.mean)


# --- restoring ---


def assert_continue_identically(one: Run, other: Run, objective: Callable[[Array], float], steps: int = 10) -> None:
    """Assert the same predictions, reports and next suggestions, bit for bit."""
    dimension = one.state.problem.space.dimension
    at = np.random.default_rng(0).random((20, dimension))
    for _ in range(steps):
        for name in ("mean", "std", "lcb", "ucb"):
            np.testing.assert_array_equal(
                getattr(auto.predict(other.state, at), name), getattr(auto.predict(one.state, at), name)
            )
        assert auto.report(other.state) == auto.report(one.state)
        assert auto.dictionary(other.state) == auto.dictionary(one.state)
        one.step(objective)
        other.step(objective)
        assert other.points[-1].tolist() == one.points[-1].tolist()
        assert other.suggested[-1] == one.suggested[-1]
        assert list(other.cells.items()) == list(one.cells.items())


@pytest.mark.parametrize("space", [unit_space(2), MIXED], ids=["2-d", "mixed"])
@pytest.mark.parametrize("steps", [*(pytest.param(steps, marks=pytest.mark.long) for steps in (0, 3)), 25])
def test_restored_state_continues_identically(space: Space, steps: int) -> None:
    """Restored through JSON from record, cells, dictionary and learned parameters: the next ten suggestions and all
    numbers in between are bit-identical.
    """
    result = run(space, wave, steps, noise=0.1)
    assert_continue_identically(result, result.restored(), wave)


@pytest.mark.long
def test_long_study_is_restored_between_two_checkpoints() -> None:
    """140 results, a few of them since the last checkpoint."""
    rng = np.random.default_rng(0)
    result = run(unit_space(3), wave, 5)
    for point in rng.random((131, 3)):
        result.tell(point, wave(point) + 0.1 * float(rng.standard_normal()))
    while result.state.checkpoint.count == result.state.record.size or len(result.values) < 140:
        result.step(wave)
    assert_continue_identically(result, result.restored(), wave)


@pytest.mark.parametrize("steps", some([29, 30, 31, 36, 45], [31]))
def test_state_restored_around_the_start_of_compression_continues_identically(
    monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """Compression begins after 31 results, with a dictionary of 15 that grows by 6 before it is redrawn. The study is
    restored just before, at, and after this.
    """
    monkeypatch.setattr(learning, "EXACT", 30)
    monkeypatch.setattr(learning, "DICTIONARY", 15)
    monkeypatch.setattr(learning, "GROWTH", 6)
    result = run(unit_space(2), wave, steps, noise=0.1)
    assert (result.state.checkpoint.dictionary is not None) == (steps > 31)
    assert len(auto.dictionary(result.state)) <= 31
    assert_continue_identically(result, result.restored(), wave, steps=8)
    assert result.state.checkpoint.dictionary is not None


def test_dictionary_has_the_stated_size_and_grows_with_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a compressed study, the posterior has DICTIONARY points at a checkpoint, plus one per later result, at most
    GROWTH. ``dictionary`` lists the same number of distinct points in ascending order.
    """
    monkeypatch.setattr(learning, "EXACT", 30)
    monkeypatch.setattr(learning, "DICTIONARY", 15)
    monkeypatch.setattr(learning, "GROWTH", 3)
    result = run(unit_space(2), wave, 31, noise=0.1)
    for _ in range(15):
        result.step(wave)
        since = result.state.record.size - result.state.checkpoint.count
        named = auto.dictionary(result.state)
        assert auto.report(result.state).dictionary == 15 + since == len(named)
        assert 1 <= since <= 3
        assert list(named) == sorted(set(named))


def test_standard_errors_are_restored_with_the_results() -> None:
    """A restored state predicts the same, bit for bit."""
    rng = np.random.default_rng(0)
    state = auto.start(unit_space(2), Config(), 0)
    for point in rng.random((17, 2)):
        state = auto.observe(state, point, wave(point), float(rng.choice([0.0, 0.3]))).state
    problem = state.problem
    restored = auto.restore(
        problem.space,
        problem.config,
        0,
        state.record,
        {"0": "leaf"},
        auto.dictionary(state),
        auto.learned(state),
    )
    at = rng.random((10, 2))
    np.testing.assert_array_equal(auto.predict(restored, at).mean, auto.predict(state, at).mean)
    np.testing.assert_array_equal(auto.predict(restored, at).std, auto.predict(state, at).std)


# --- corrections ---


def test_corrected_record_equals_one_without_the_mistake() -> None:
    """A wrong result is replaced later. Predictions are bit-identical to those learned from the corrected record, close
    to those of a study without the mistake, and far from those with it.
    """
    blank = auto.start(unit_space(2), Config(), 0)
    result = Run(blank)
    for point in np.random.default_rng(1).random((30, 2)):
        result.tell(point, wave(point))
    right = record(result.points, result.values)
    wrong = record(result.points, np.where(np.arange(30) == 7, 5.0, result.values))
    misled = auto.rebuild(result.state, wrong, result.cells).state
    for _ in range(5):
        suggestion = auto.suggest(misled, np.zeros((0, 2)))
        misled = suggestion.state
    mended = auto.rebuild(misled, right, {}).state
    fresh = auto.rebuild(blank, right, {}).state
    at = np.random.default_rng(0).random((50, 2))
    every = {"mended": mended, "fresh": fresh, "never": result.state, "misled": misled}
    means = {name: auto.predict(state, at).mean for name, state in every.items()}
    np.testing.assert_array_equal(means["mended"], means["fresh"])
    scale = means["never"].std()
    assert np.abs(means["mended"] - means["never"]).mean() < 0.05 * scale
    assert np.abs(means["misled"] - means["never"]).mean() > 0.1 * scale
    assert (
        mended.checkpoint.hyperparameters.lengthscales.tolist()
        == fresh.checkpoint.hyperparameters.lengthscales.tolist()
    )
    assert (mended.checkpoint.hyperparameters.noise_ratio, mended.checkpoint.count) == (
        fresh.checkpoint.hyperparameters.noise_ratio,
        30,
    )


def test_correction_keeps_splits_and_reports_changed_cells() -> None:
    """The rebuilt state has the cells of the state before, and the update lists the cells whose status changed."""
    result = run(unit_space(2), lambda u: -20.0 * float(((u - 0.4) ** 2).sum()), 30)
    values = np.array(result.values)
    update = auto.rebuild(result.state, record(result.points, -values), result.cells)
    assert update.state.tree.size == result.state.tree.size
    names = {-1: "leaf", -2: "pruned"}
    tree = update.state.tree
    after = {tree.key(c): names.get(int(tree.axis[c]), "expanded") for c in range(tree.size)}
    assert result.cells | update.cells == after
    assert set(update.cells) <= set(result.cells)


def test_excluding_all_results_leaves_the_prior_and_the_splits() -> None:
    """The next suggestion is still possible, and the model is the prior."""
    result = run(unit_space(2), wave, 10)
    state = auto.rebuild(result.state, record(np.zeros((0, 2)), []), result.cells).state
    assert state.record.size == 0
    assert state.tree.size == result.state.tree.size
    assert auto.recommend(state) is None
    assert auto.report(state).gap is None
    prediction = auto.predict(state, np.random.default_rng(0).random((5, 2)))
    assert prediction.mean.tolist() == [0.0] * 5
    auto.suggest(state, np.zeros((0, 2)))


# --- recommendation ---


def test_recommendation_uses_the_posterior_mean() -> None:
    """A point with one result of 3 and nine of 0 loses against a steady 1."""
    state = auto.start(unit_space(1), Config(), 0)
    lucky, steady = np.array([0.2]), np.array([0.8])
    for value in [3.0] + [0.0] * 9:
        state = auto.observe(state, lucky, value).state
    for i in range(10):
        state = auto.observe(state, steady, 0.9 + 0.2 * (i % 2)).state
    recommendation = auto.recommend(state)
    assert recommendation is not None
    assert recommendation.point.tolist() == [0.8]
    assert recommendation.mean == pytest.approx(float(auto.predict(state, steady[None]).mean[0]))
