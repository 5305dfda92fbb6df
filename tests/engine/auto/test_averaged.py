"""The posterior that reports rest on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from adabkb_service.engine.auto.averaged import APART, FEWEST, MEMBERS, apart, members
from adabkb_service.engine.auto.config import Config, Problem
from adabkb_service.engine.record import of
from adabkb_service.engine.space import Space
from tests.engine.auto.strategies import spaces
from tests.engine.strategies import unit_space

Array = NDArray[np.float64]


@given(spaces(), st.integers(0, 2**32))
@settings(max_examples=50)
def test_results_that_count_for_the_hyperparameters_are_apart_and_every_other_one_is_near_a_better_one(
    space: Space, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem(space, Config(), 0)
    middle = rng.random(space.dimension)
    positions = space.snap(
        np.clip(middle + rng.normal(size=(40, space.dimension)) * rng.choice([0.02, 0.5], (40, 1)), 0, 1)
    )
    values = rng.normal(size=40)
    kept = apart(problem, of(positions, values, np.zeros(40)), np.arange(40))

    def near(one: int, others: Array) -> Array:
        differences = positions[others.astype(int)] - positions[one]
        squares = np.where(problem.domain.categorical, differences != 0.0, differences**2).sum(axis=1)
        found: Array = squares < APART**2 * space.dimension
        return found

    order = [row for row in np.argsort(-values) if row in kept]
    crowded = [row for index, row in enumerate(order) if near(row, np.array(order[:index])).any()]
    assert not crowded or len(kept) == FEWEST
    for row in set(range(40)) - set(kept.tolist()):
        assert near(row, kept[values[kept] > values[row]]).any()


def test_draws_of_a_member_have_its_moments() -> None:
    """20,000 draws at 5 points, given 300 results, which leave many degrees of freedom: mean and standard deviation are
    those of the posterior, and neighbours go together."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    problem = Problem(unit_space(2), Config(), 0)
    member = members(problem, of(X, np.sin(9.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=300), np.zeros(300)))[0]
    at = np.vstack([rng.random((4, 2)), [[0.5, 0.5]], [[0.5, 0.5001]]])
    drawn = member.draws(at, (0, 1), 20_000)
    mean, deviation = member.posterior.mean_and_std(at)
    np.testing.assert_allclose(drawn.mean(axis=1), mean, atol=4.0 * deviation.max() / np.sqrt(20_000))
    np.testing.assert_allclose(drawn.std(axis=1), deviation, rtol=0.05)
    assert np.corrcoef(drawn[4], drawn[5])[0, 1] > 0.99


@pytest.mark.parametrize(("power", "linear"), [(1.0, True), (6.0, False)])
def test_results_choose_the_warp(power: float, linear: bool) -> None:
    """60 results of a smooth function have linear members; those of a power of it, whose bad results lie far off, have
    none."""
    rng = np.random.default_rng(1)
    X = rng.random((60, 2))
    smooth = 2.0 + np.sin(3.0 * X[:, 0]) + np.cos(2.0 * X[:, 1])
    found = members(Problem(unit_space(2), Config(), 0), of(X, -(smooth**power), np.zeros(60)))
    assert len(found) == MEMBERS
    assert any(member.warp.power == 1.0 for member in found) is linear


def test_members_differ_in_their_hyperparameters() -> None:
    """Ten results leave lengthscales open by more than a factor of 2."""
    X = np.random.default_rng(2).random((10, 1))
    found = members(Problem(unit_space(1), Config(), 0), of(X, X[:, 0], np.zeros(10)))
    lengthscales = [member.posterior.kernel.lengthscales[0] for member in found]
    assert max(lengthscales) > 2.0 * min(lengthscales)
