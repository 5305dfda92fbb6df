"""Leave-one-out: each result as predicted from the others, in closed form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.learning import EXACT
from adabkb_service.engine.auto.model import surrogate
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.reports.averaging import averaged
from adabkb_service.engine.auto.reports.left_out import MOST, judged, left_out
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.axes import ChoiceAxis
from adabkb_service.engine.record import of
from adabkb_service.engine.space import Space
from benchmarks.quality.nature.measured import table
from tests.samples import some
from tests.unit.engine.auto.drive import Run
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]


def state_of(
    X: Array, values: Array, noise: float | None = None, space: Space | None = None, *, robust: bool = False
) -> State:
    start = auto.start(space or unit_space(X.shape[1]), Config(noise_std=noise, robust=robust), 0)
    found: State = auto.rebuild(start, of(X, values, np.zeros(len(values))), {}).state
    return found


def wave(X: Array, noise: float, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    smooth: Array = np.sin(X @ (3.0 * rng.normal(size=X.shape[1])) + 1.0) + X[:, 0] ** 2
    return smooth + noise * rng.normal(size=len(X))


def test_leave_one_out_equals_a_process_without_the_result() -> None:
    """For one member, conditions a new process on all other rows, with the scale of these rows."""
    X = np.random.default_rng(0).random((12, 2))
    X[7] = X[3]  # if one of the two is left out, the other one remains
    state = state_of(X, wave(X, 0.1, 0))
    known = averaged(state)
    alone = replace(known, members=known.members[:1])
    (member,) = alone.members
    key = (12, 12, state.checkpoint.hyperparameters.form)
    state.checkpoint.averages.clear()
    state.checkpoint.averages[key] = alone
    found = left_out(state)
    assert found is not None
    outputs = member.warp.forward(state.record.values)
    kernel, noise = member.posterior.kernel, member.hyperparameters.noise_ratio
    for row in range(12):
        others = np.arange(12) != row
        without = surrogate.exact(kernel, 1.0, X[others], outputs[others], np.full(11, noise))
        scale = float(outputs[others] @ without.weights) / 11.0
        whole = surrogate.exact(kernel, 1.0, X, outputs, np.full(12, noise))
        scale *= member.posterior.variance / (float(outputs @ whole.weights) / 12.0)
        mean, deviation = without.mean_and_std(X[row : row + 1])
        spread = np.sqrt(scale * (deviation**2 + noise))
        expected = alone.of_moments(mean[None], spread[None], (0.05, 0.95))[:, 0]
        assert [found.predicted.mean[row], found.predicted.lcb[row], found.predicted.ucb[row]] == pytest.approx(
            expected, rel=1e-6
        )


@pytest.mark.parametrize("noise", some([0.01, 0.3], [0.3]))
def test_intervals_cover_about_nine_of_ten_results(noise: float) -> None:
    """20 functions of two and four parameters, 25 results each."""
    inside = []
    for seed in range(20):
        X = np.random.default_rng(seed).random((25, 2 + 2 * (seed % 2)))
        values = wave(X, noise, seed)
        found = left_out(state_of(X, values))
        assert found is not None
        inside.append(np.mean((found.predicted.lcb <= values) & (values <= found.predicted.ucb)))
    assert 0.85 < np.mean(inside) <= 0.99


def test_intervals_cover_measured_reactions() -> None:
    """Five random samples of 60 of 1728 measured reactions: yields in percent, many of them 0."""
    measured = table("direct_arylation")
    choices = tuple(tuple(dict.fromkeys(column)) for column in measured.columns)
    space = Space(tuple(ChoiceAxis(name, each) for name, each in zip(measured.names, choices, strict=True)))
    inside = []
    for seed in range(5):
        rows = np.random.default_rng(seed).choice(len(measured.means), 60, replace=False)
        points = [dict(zip(measured.names, (column[row] for column in measured.columns), strict=True)) for row in rows]
        X, values = np.array([space.encode(point) for point in points]), measured.means[rows]
        found = left_out(state_of(X, values, space=space))
        assert found is not None
        inside.append(np.mean((found.predicted.lcb <= values) & (values <= found.predicted.ucb)))
        error = np.abs(values - found.predicted.mean).mean()
        assert error < 0.85 * np.abs(values - np.median(values)).mean()
    assert 0.8 < np.mean(inside) < 0.99


@pytest.mark.parametrize("size", [4.0, 10.0])
def test_outlier_is_the_only_improbable_result(size: float) -> None:
    """One outlier among 30 results; without it, no result is improbable."""
    X = np.random.default_rng(1).random((30, 2))
    values = wave(X, 0.05, 1)
    values /= values.std()
    sound = left_out(state_of(X, values))
    assert sound is not None
    assert 30 * sound.tails.min() > 0.05
    values[11] += size
    found = left_out(state_of(X, values))
    assert found is not None
    assert np.argmin(found.tails) == 11
    assert 30 * found.tails[11] < 0.05


def test_interval_of_a_doubted_result_is_that_of_the_others() -> None:
    """The noise that a doubted result gets says how little it counts, not how far a right result may be."""
    X = np.random.default_rng(1).random((30, 1))
    values = wave(X, 0.05, 1)
    values[4] += 20.0
    found = left_out(state_of(X, values, robust=True))
    assert found is not None
    assert found.doubted.nonzero()[0].tolist() == [4]
    widths = found.predicted.ucb - found.predicted.lcb
    assert widths[4] < 3.0 * np.median(widths)


def test_large_studies_leave_out_a_sample_of_results() -> None:
    X = np.random.default_rng(2).random((1200, 2))
    values = wave(X, 0.2, 2)
    found = left_out(state_of(X, values))
    assert found is not None
    best, others = MOST
    assert len(found.rows) == best + others
    assert set(np.argsort(-values)[:best]) <= set(found.rows.tolist())
    of_rows = values[found.rows]
    assert 0.8 < np.mean((found.predicted.lcb <= of_rows) & (of_rows <= found.predicted.ucb)) < 0.97


def test_many_results_are_left_out_once_per_checkpoint() -> None:
    """The outcome does not depend on when it was computed. A gross outlier begins a new checkpoint."""
    few = EXACT + 1  # the first number with a dictionary
    X = np.random.default_rng(3).random((few + 3, 2))
    values, told = wave(X, 0.2, 3), Run(auto.start(unit_space(2), Config(), 0))
    told.state = state_of(X[:few], values[:few])
    first = judged(told.state)
    assert first is not None
    for row in (few, few + 1):
        told.tell(X[row], values[row])
    known = judged(told.state)
    assert known is first
    assert told.state.checkpoint.count == few
    fresh = replace(told.state.checkpoint, averages={}, judged={})
    anew = judged(replace(told.state, checkpoint=fresh))
    assert anew is not None
    assert anew is not first
    np.testing.assert_array_equal(anew.tails, first.tails)
    told.tell(X[-1], 1e4)
    after = judged(told.state)
    assert after is not None
    assert after.rows[np.argmin(after.tails)] == few + 2


def test_too_few_or_equal_results_give_none() -> None:
    X = np.random.default_rng(3).random((6, 2))
    assert left_out(state_of(X[:3], np.arange(3.0))) is None
    assert left_out(state_of(X, np.full(6, 2.0))) is None


def test_noise_is_reported_where_it_is_declared() -> None:
    """It is at least the declared noise, and close to it where the function is smooth."""
    X = np.random.default_rng(4).random((40, 2))
    found = left_out(state_of(X, wave(X, 0.2, 4), noise=0.2))
    assert found is not None
    assert found.noise is not None
    assert 0.15 < np.median(found.noise) < 0.4
    quiet = left_out(state_of(X[:10], wave(X[:10], 0.0, 4)))
    assert quiet is not None
    assert quiet.noise is None
