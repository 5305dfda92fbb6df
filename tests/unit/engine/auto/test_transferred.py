"""Older studies as the prior mean of the search: how they are trusted, and that nothing else depends on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition.issued import issued, search_view
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model import surrogate, warp
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.model.transferred import Transferred, learned
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.reports.report import report
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.older import Older
from adabkb_service.engine.space import Space
from tests.unit.engine.auto.drive import run
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]
NONE = np.zeros((0, 2))


def near(at: float) -> Callable[[Array], float]:
    """A function with its maximum at the same position on each axis."""
    return lambda u: -float(((u - at) ** 2).sum())


def older(objective: Callable[[Array], float], axes: Sequence[int] = (0, 1), count: int = 25) -> Older:
    """A study of an objective along some axes, with results at random points and at the maximum of ``near(0.9)``."""
    positions = np.random.default_rng(5).random((count, len(axes)))
    positions[0] = 0.9
    values = np.array([objective(position) for position in positions])
    outputs = warp.fit(values).forward(values)
    return Older("older", tuple(axes), tuple(map(tuple, positions.tolist())), tuple(outputs.tolist()))


RELATED = older(near(0.9))
FLIPPED = older(lambda u: -near(0.9)(u))
UNRELATED = older(lambda u: float(np.sin(23 * u[0]) * np.cos(17 * u[1])))


def search_view_of(state: State) -> Surrogate | Transferred:
    """The view that the search uses when nothing is pending."""
    view = search_view(state, state.surrogate, state.warp, state.record.values, issued(state, NONE, None, None)).view
    assert isinstance(view, Surrogate | Transferred)
    return view


def trusted(*given: Older, at: float = 0.85, count: int = 5) -> list[float]:
    """The trust after a function's results at a few random points."""
    state = auto.start(unit_space(2), Config(older=given), 0)
    for point in np.random.default_rng(3).random((count, 2)):
        state = auto.observe(state, point, near(at)(point)).state
    view = search_view_of(state)
    return view.trust.tolist() if isinstance(view, Transferred) else [0.0] * len(given)


def test_second_point_is_where_the_older_study_was_best() -> None:
    """The first point is the same as without older studies. Also in a batch, before any result."""
    points = run(unit_space(2), near(0.9), 2, config=Config(older=(RELATED,))).points
    assert np.array_equal(points[0], run(unit_space(2), near(0.9), 1).points[0])
    assert np.abs(points[1] - 0.9).max() < 0.2
    start = auto.start(unit_space(2), Config(older=(RELATED,)), 0)
    batch = list(islice(auto.suggestions(start, NONE), 2))
    assert np.array_equal(batch[0].point, points[0])
    assert np.abs(batch[1].point - 0.9).max() < 0.2
    assert [found.trust for found in batch] == [{}, {RELATED.study: 1.0}]


def test_results_decide_which_older_studies_are_trusted() -> None:
    assert trusted(RELATED)[0] > 0.5
    assert trusted(FLIPPED) == [0.0]
    assert trusted(UNRELATED, count=6) == [0.0]
    flipped, related = trusted(FLIPPED, RELATED)
    assert related > flipped + 0.5, "each contradicts the other, so their difference is useful"


def test_misleading_study_is_dropped() -> None:
    """The search is then bit-identical to that of a study without it, and finds the optimum."""
    misled = run(unit_space(2), near(0.9), 6, config=Config(older=(FLIPPED,)))
    plain = auto.start(unit_space(2), Config(), 0)
    state = replace(plain, tree=misled.state.tree, cells_learned_from=misled.state.cells_learned_from)
    for point, value in zip(misled.points, misled.values, strict=True):
        state = auto.observe(state, point, value).state
    assert np.array_equal(misled.ask(), auto.suggest(state, NONE).point)
    assert max(run(unit_space(2), near(0.1), 25, config=Config(older=(RELATED,))).values) > -1e-3


def test_posterior_has_a_scaled_prior_mean() -> None:
    """The mean t m, plus the regression of the residuals."""
    state = run(unit_space(2), near(0.85), 4, config=Config(older=(RELATED,))).state
    view, record = search_view_of(state), state.record
    assert isinstance(view, Transferred)
    (mean,), (trust,) = view.older, view.trust.tolist()
    outputs, noise = state.warp.forward(record.values), state.checkpoint.hyperparameters.noise_ratio
    left = outputs - trust * mean.mean(record.positions)
    kernel = state.surrogate.kernel
    alone = surrogate.exact(kernel, view.posterior.variance, record.positions, left, np.full(len(left), noise))
    grid = np.random.default_rng(0).random((20, 2))
    found, deviation = view.mean_and_std(grid)
    assert found == pytest.approx(trust * mean.mean(grid) + alone.mean(grid), abs=1e-6)
    assert deviation == pytest.approx(alone.mean_and_std(grid)[1], abs=1e-6)
    assert view.posterior.variance < state.surrogate.variance


def test_gradient_of_the_index_matches_finite_differences() -> None:
    """The ascent relies on this. Also if the older study has only the second of two axes."""
    for given in (RELATED, older(lambda u: near(0.9)(u) * 2, axes=[1])):
        view = search_view_of(run(unit_space(2), near(0.9), 1, config=Config(older=(given,))).state)
        positions = np.random.default_rng(1).random((5, 2))
        _, gradient = view.ucb_and_gradient(positions, 1.5)
        for axis in (0, 1):
            step = 1e-6 * np.eye(2)[axis]
            slope = (view.ucb(positions + step, 1.5) - view.ucb(positions - step, 1.5)) / 2e-6
            assert gradient[:, axis] == pytest.approx(slope, rel=1e-3, abs=1e-5)


def test_gap_and_predictions_use_the_own_results_only() -> None:
    """With the same results and an equal tree, all numbers of the model are the same."""
    found = run(unit_space(2), near(0.8), 12, config=Config(older=(RELATED,)))
    state = found.of_results_alone()
    grid = np.random.default_rng(0).random((50, 2))
    assert np.array_equal(auto.predict(state, grid).mean, auto.predict(found.state, grid).mean)
    assert report(state).gap == report(found.state).gap is not None


def test_study_with_older_ones_is_restored_bit_for_bit() -> None:
    found = run(unit_space(3), near(0.8), 20, config=Config(older=(older(near(0.9), axes=[0, 2]),)))
    restored, pending = found.restored(), np.full((1, 3), 0.25)  # restored first, as a suggestion may cut the tree
    assert np.array_equal(found.ask(pending), restored.ask(pending))


def test_older_studies_do_not_change_failed_and_pending_points() -> None:
    """Failed points count as worse than usual and are not suggested again; a pending one leaves the mean."""
    found = run(unit_space(2), near(0.85), 4, config=Config(older=(RELATED,)))
    failed = found.ask()
    again = found.ask(failed=failed[None])
    assert not np.array_equal(failed, again)
    state, grid = found.state, np.random.default_rng(2).random((10, 2))
    out = issued(state, failed[None], None, None)
    view = search_view(state, state.surrogate, state.warp, state.record.values, out).view
    assert view.mean(grid) == pytest.approx(search_view_of(state).mean(grid))


def test_older_results_of_conditional_parameters_count() -> None:
    tree = Space(
        (ChoiceAxis("kind", ("a", "b")), FloatAxis("x", 0.0, 1.0)), conditions=(Condition("x", "kind", ("b",)),)
    )
    points = [(0.25, 0.5), *((0.75, x) for x in (0.1, 0.3, 0.5, 0.7, 0.9))]
    given = Older("older", (0, 1), tuple(points), (-1.5, -1.0, 0.0, 0.5, 1.5, 0.5))
    found = run(tree, near(0.7), 2, config=Config(older=(given,)))
    assert tree.decode(found.points[1]) == {"kind": "b", "x": pytest.approx(0.7, abs=0.1)}


def test_mean_of_an_older_study_identifies_its_choices() -> None:
    """The snapshot rounds positions, and the kernel compares those of choices exactly."""
    axis = ChoiceAxis("kind", ("a", "b", "c"))
    exact = np.array([axis.encode(choice) for choice in ("a", "b", "c")])
    given = Older("older", (0,), tuple((float(u),) for u in exact.round(6)), (0.0, 3.0, 0.0))
    mean = learned(given, Domain(Space((axis,)))).mean(exact[:, None])
    assert mean[1] > 2.0 > mean[[0, 2]].max()
