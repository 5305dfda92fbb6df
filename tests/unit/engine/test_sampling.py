"""Random and Sobol' points: their distribution, and independence of results."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import qmc

from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.sampling.config import Config, Design
from adabkb_service.engine.sampling.policy import State, sampling
from adabkb_service.engine.space import Space
from tests.samples import some
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]
DESIGNS: list[Design] = ["random", "sobol"]


def ask(state: State, out: Array) -> Array:
    return next(sampling.suggestions(state, out)).point


def study(space: Space, design: Design, count: int, seed: int = 0) -> Array:
    """A study with a number of points, each evaluated before the next one is suggested."""
    state, points = sampling.start(space, Config(design), seed), []
    for number in range(count):
        points.append(ask(state, np.zeros((0, space.dimension))))
        state = sampling.observe(state, points[-1], float(-number)).state
    return np.array(points)


def box_counts(points: Array, *boxes: int) -> NDArray[np.int64]:
    """The number of points in each non-empty box, for a grid with the given number of boxes per axis."""
    counts: NDArray[np.int64] = np.unique((points * boxes).astype(int), axis=0, return_counts=True)[1]
    return counts


@pytest.mark.parametrize("design", DESIGNS)
def test_points_depend_only_on_the_seed(design: Design) -> None:
    space = unit_space(3)
    alone = study(space, design, 16)
    together = islice(sampling.suggestions(sampling.start(space, Config(design), 0), np.zeros((0, 3))), 16)
    assert np.array_equal([each.point for each in together], alone)
    assert not np.array_equal(study(space, design, 16, seed=1), alone)


@pytest.mark.parametrize("design", DESIGNS)
def test_points_are_uniform(design: Design) -> None:
    counts = box_counts(study(unit_space(2), design, 512), 4, 4)
    assert len(counts) == 16
    assert counts.min() >= 15
    assert counts.max() <= 50


def test_sobol_points_fill_the_box_more_evenly_than_random_ones() -> None:
    """Each of 256 boxes of any shape contains the same number of 256 Sobol' points; random points leave a third of the
    boxes empty.
    """
    for shape in ((16, 16), (4, 64), (256, 1)):
        assert box_counts(study(unit_space(2), "sobol", 256), *shape).tolist() == [1] * 256
    designs = [qmc.discrepancy(study(unit_space(4), design, 128, seed=2)) for design in DESIGNS]
    assert designs[1] < designs[0] / 2


@pytest.mark.long
@pytest.mark.parametrize("design", some(DESIGNS, ["sobol"]))
def test_designs_satisfy_constraints_and_exhaust_finite_spaces(design: Design) -> None:
    x, y = FloatAxis("x", 0.0, 1.0), FloatAxis("y", 0.0, 1.0)
    thin = Space((x, y), (Constraint("x + y <= 0.05"),))
    assert all(point.sum() <= 0.05 for point in study(thin, design, 20))
    finite = Space((IntAxis("n", 0, 4), ChoiceAxis("c", ("a", "b", "c"))))
    state, nothing = sampling.start(finite, Config(design), 0), np.zeros((0, 2))
    points = [each.point for each in sampling.suggestions(state, nothing)]
    assert len({point.tobytes() for point in points}) == len(points) == 15
    repeated = sampling.suggestions(sampling.start(finite, Config(design, repeats=True), 0), nothing)
    assert len([each.point for each in islice(repeated, 40)]) == 40


@pytest.mark.parametrize("design", DESIGNS)
def test_released_and_excluded_points_are_not_repeated(design: Design) -> None:
    space = unit_space(2)
    state = sampling.start(space, Config(design), 0)
    out = np.array([ask(state, np.zeros((0, 2)))])
    out = np.concatenate([out, ask(state, out)[None]])
    state = sampling.observe(state, out[1], 1.0).state
    # The first point is released: one result exists and no trial is issued.
    third = ask(state, np.zeros((0, 2)))
    assert third.tolist() not in [out[1].tolist()]


def test_predicted_mean_is_the_mean_of_all_results() -> None:
    space = unit_space(2)
    state = sampling.start(space, Config("random"), 0)
    for point, value in (([0.1, 0.2], 1.0), ([0.1, 0.2], 4.0), ([0.5, 0.5], 2.6), ([0.9, 0.9], -3.0)):
        state = sampling.observe(state, np.array(point), value).state
    found = sampling.predict(state, np.random.default_rng(0).random((5, 2)))
    assert found.mean == pytest.approx(np.full(5, 1.15))
    assert found.std == pytest.approx(np.full(5, np.std([1.0, 4.0, 2.6, -3.0])))
    best = sampling.recommend(state)
    assert best is not None
    assert best.point.tolist() == [0.5, 0.5]
    assert best.mean == pytest.approx(2.6)
