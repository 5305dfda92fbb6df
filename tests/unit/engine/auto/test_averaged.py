"""The averaged posterior that reports use: its members and their combination."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import stdtrit

from adabkb_service.engine.auto.config import Config, Problem
from adabkb_service.engine.auto.domain.tree import root
from adabkb_service.engine.auto.model import additive, likelihood, surrogate
from adabkb_service.engine.auto.model.averaged import (
    APART,
    AVERAGED,
    FAR,
    FARTHEST,
    FEWEST,
    MEMBERS,
    MIN_NOISE,
    Averaged,
    _fits,
    _quantiles,
    apart,
    learn,
    with_result,
)
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.reports.averaging import averaged, learned_with
from adabkb_service.engine.auto.state.checkpoint import Checkpoint
from adabkb_service.engine.auto.state.state import fitted
from adabkb_service.engine.record import of
from adabkb_service.engine.space import Space
from tests.samples import some
from tests.unit.engine.auto.drive import Run
from tests.unit.engine.auto.strategies import spaces
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]


def wave(X: Array) -> Array:
    found: Array = np.sin(9.0 * X[:, 0]) + X[:, -1]
    return found


def learned(X: Array, values: Array, space: Space | None = None) -> Averaged:
    problem = Problem(space or unit_space(X.shape[1]), Config(), 0)
    found = learn(problem, of(X, values, np.zeros(len(X))), likelihood.prior_of(problem.domain))
    assert found is not None
    return found


def noisy(count: int, level: float = 0.3) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.random((count, 2))
    return X, wave(X) + level * rng.normal(size=count)


def test_draws_of_a_member_have_its_moments() -> None:
    """20,000 draws at 6 points, given 300 results. Mean and standard deviation match the posterior, and neighbours are
    correlated. Parameters are learned from 100 results, which give many degrees of freedom.
    """
    (member,) = learned(*noisy(AVERAGED + 100)).members
    at = np.vstack([np.random.default_rng(1).random((4, 2)), [[0.5, 0.5]], [[0.5, 0.5001]]])
    drawn = member.draws(at, (0, 1), 20_000)
    mean, deviation = member.posterior.mean_and_std(at)
    np.testing.assert_allclose(drawn.mean(axis=1), mean, atol=4.0 * deviation.max() / np.sqrt(20_000))
    np.testing.assert_allclose(drawn.std(axis=1), deviation, rtol=0.05)
    assert np.corrcoef(drawn[4], drawn[5])[0, 1] > 0.99


@pytest.mark.parametrize(("power", "linear"), [(1.0, True), (6.0, False)])
def test_results_determine_the_warp(power: float, linear: bool) -> None:
    """60 results of a smooth function have linear members. For a power of it, whose bad results are far from the
    others, no member is linear.
    """
    X = np.random.default_rng(1).random((60, 2))
    smooth = 2.0 + np.sin(3.0 * X[:, 0]) + np.cos(2.0 * X[:, 1])
    found = learned(X, -(smooth**power)).members
    assert len(found) == MEMBERS
    assert any(member.warp.power == 1.0 for member in found) is linear


def test_members_differ_in_their_hyperparameters() -> None:
    """Ten results leave lengthscales uncertain by more than a factor of 2."""
    X = np.random.default_rng(2).random((10, 1))
    lengthscales = [member.hyperparameters.lengthscales[0] for member in learned(X, X[:, 0]).members]
    assert max(lengthscales) > 2.0 * min(lengthscales)


def test_members_are_drawn_from_the_posterior_of_their_parameters() -> None:
    """The mean and the deviation of the logarithm of the noise ratio over many seeds are those of numerical integration
    over both parameters and all warps. Six results do not tell noise from short lengthscales, so the posterior is wide
    and skewed."""
    X = np.random.default_rng(5).random((6, 1))
    record = of(X, wave(X) + 0.5 * np.random.default_rng(6).normal(size=6), np.zeros(6))
    problem = Problem(unit_space(1), Config(), 0)
    prior = likelihood.prior_of(problem.domain)
    fits = _fits(problem, record, np.arange(6), prior, np.zeros(6))
    lengthscales, noises = np.linspace(-5.0, 4.0, 46), np.linspace(-16.0, 6.0, 56)
    log_densities = [
        [[fit.log_density_at(np.array([scale, nu])) for nu in noises] for scale in lengthscales] for fit in fits
    ]
    weights = np.exp(np.array(log_densities) - np.max(log_densities)).sum(axis=(0, 1))
    clipped = np.clip(noises, np.log(MIN_NOISE), np.log(likelihood.NOISES[1]))
    mean = float(np.average(clipped, weights=weights))
    deviation = float(np.sqrt(np.average((clipped - mean) ** 2, weights=weights)))
    found = [learn(replace(problem, seed=seed), record, prior) for seed in range(60)]
    drawn = np.log([member.hyperparameters.noise_ratio for each in found if each for member in each.members])
    assert abs(drawn.mean() - mean) < 0.15 * deviation
    assert abs(drawn.std() - deviation) < 0.15 * deviation


@pytest.mark.parametrize("count", [1, 2, 33, 320])
def test_quantiles_are_those_of_numpy_to_the_bit(count: int) -> None:
    rng = np.random.default_rng(count)
    values = rng.standard_normal((50, count)) * 10.0 ** rng.uniform(-200.0, 200.0, (50, 1))
    values[:, ::3] = np.round(values[:, ::3], 1)
    levels = (0.0, 0.05, 0.16, 0.5, 0.95, 1.0)
    expected = np.quantile(values, levels, axis=1, method="hazen")
    np.testing.assert_array_equal(_quantiles(values, levels), expected)


def test_quantiles_of_a_single_member_follow_its_t_distribution() -> None:
    found = learned(*noisy(40))
    alone = replace(found, members=found.members[:1])
    at, levels = np.random.default_rng(1).random((50, 2)), (0.0625, 0.5125, 0.9375)
    mean, deviation = alone.members[0].posterior.mean_and_std(at)
    degrees = alone.members[0].degrees
    expected = [alone.members[0].warp.inverse(mean + deviation * stdtrit(degrees, level)) for level in levels]
    np.testing.assert_allclose(alone.mean_and_quantiles(at, levels)[1:], expected, rtol=1e-9)


@given(spaces(), st.integers(0, 2**32), st.integers(1, 30))
@settings(max_examples=40)
def test_quantiles_are_ordered_and_consistent_with_probabilities(space: Space, seed: int, count: int) -> None:
    """In any space and for any results, including few or equal ones."""
    rng = np.random.default_rng(seed)
    X, values = space.snap(rng.random((count, space.dimension))), np.round(rng.normal(size=count), int(seed % 3))
    found, at = learned(X, values, space), np.ascontiguousarray(space.snap(rng.random((20, space.dimension))))
    mean, lcb, low, high, ucb = found.mean_and_quantiles(at, (0.05, 0.16, 0.84, 0.95))
    assert np.isfinite([lcb, ucb]).all()
    assert (lcb <= low).all()
    assert (low <= high).all()
    assert (high <= ucb).all()
    np.testing.assert_array_equal(mean, found.mean(at))
    assert ((lcb <= mean) & (mean <= ucb)).all()
    for index in range(3):
        shares = found.between(at, -np.inf, float(ucb[index]))
        assert ((shares >= 0.0) & (shares <= 1.0)).all()
        if ucb[index] - lcb[index] > 1e-6:
            assert shares[index] == pytest.approx(0.95, abs=0.03)


def test_predictions_stay_within_a_multiple_of_the_result_range() -> None:
    """Results span 12 orders of magnitude, under warps close to a logarithm. Without a limit, lower ends of intervals
    are up to 99 times the range below the worst result.
    """
    X = np.random.default_rng(3).random((12, 2))
    values = -np.exp(28.0 * np.linalg.norm(X - X[0], axis=1))
    found = learned(X, values).mean_and_quantiles(np.random.default_rng(4).random((500, 2)), [0.05, 0.95])
    spread = values.max() - values.min()
    assert values.min() - FARTHEST * spread == found.min()
    assert values.max() + FARTHEST * spread >= found.max()


def test_adding_a_result_equals_conditioning_on_all() -> None:
    """After 30 results and 5 more, each member equals the process with its parameters, conditioned on all 35."""
    X, values = noisy(35)
    problem = Problem(unit_space(2), Config(), 0)
    record = of(X, values, np.zeros(35))
    found = learn(problem, record.first(30), likelihood.prior_of(problem.domain))
    for count in range(31, 36):
        assert found is not None
        found = with_result(problem, found, record.first(count))
    assert found is not None
    at = np.random.default_rng(3).random((20, 2))
    for member in found.members:
        kernel = member.hyperparameters.kernel(problem.domain)
        noises = np.full(35, member.hyperparameters.noise_ratio)
        whole = surrogate.exact(kernel, member.hyperparameters.variance, X, member.warp.forward(values), noises)
        for one, other in zip(member.posterior.mean_and_std(at), whole.mean_and_std(at), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_outlier_makes_all_members_learn_again() -> None:
    X, values = noisy(30)
    problem = Problem(unit_space(2), Config(), 0)
    found = learned(X, values)
    far = values.min() - (FAR + 1.0) * 10.0 * np.ptp(values)
    record = of(np.vstack([X, [[0.5, 0.5]]]), np.append(values, far), np.zeros(31))
    assert with_result(problem, found, record) is None


def test_members_have_the_kernel_form_of_the_search() -> None:
    """With a smooth kernel, and with an additive part, whose parameters differ between members."""
    X, values = noisy(60)
    problem = Problem(unit_space(2), Config(), 0)
    prior, record = likelihood.prior_of(problem.domain), of(X, values, np.zeros(60))
    smooth = learn(problem, record, replace(prior, smooth=True))
    mixed = learn(problem, record, replace(prior, additive=additive.first(2)))
    assert smooth is not None
    assert mixed is not None
    assert all(member.posterior.kernel.smooth for member in smooth.members)
    assert (
        len(
            {
                member.hyperparameters.additive.shares.sum()
                for member in mixed.members
                if member.hyperparameters.additive
            }
        )
        > MEMBERS // 2
    )


@pytest.mark.parametrize("every", some([1, 7], [7]))
def test_reports_do_not_depend_on_earlier_reads(every: int) -> None:
    """Predictions are bit-identical whether the study was read after every result, after some, or never, also after an
    outlier.
    """
    X, values = noisy(40)
    values[27] = -1e4
    result, at = Run(auto.start(unit_space(2), Config(), 0)), np.random.default_rng(4).random((30, 2))
    for count, (x, y) in enumerate(zip(X, values, strict=True), start=1):
        result.tell(x, float(y))
        if count % every:
            continue
        known, gap = auto.predict(result.state, at), auto.report(result.state).gap
        checkpoint = replace(result.state.checkpoint, averages={}, gaps={})
        state = replace(result.state, checkpoint=checkpoint)
        anew = auto.predict(state, at)
        for part in ("mean", "std", "lcb", "ucb"):
            np.testing.assert_array_equal(getattr(known, part), getattr(anew, part))
        assert auto.report(state).gap == gap


@pytest.mark.long
def test_several_threads_can_predict_at_once() -> None:
    """The states share cached values, as in a model process that answers reads while it suggests."""
    X, values = noisy(60)
    result, at, states = Run(auto.start(unit_space(2), Config(), 0)), X[:3], []
    for x, y in zip(X, values, strict=True):
        result.tell(x, float(y))
        states.append(result.state)
    states, before = [each for each in states if each.checkpoint is states[57].checkpoint], sys.getswitchinterval()
    assert len(states) > 1
    expected = [auto.predict(state, at).mean for state in states]

    def ask(seed: int) -> None:
        for index in np.random.default_rng(seed).integers(len(states), size=20):
            np.testing.assert_array_equal(auto.predict(states[index], at).mean, expected[index])
            auto.report(states[index])

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as threads:
            list(threads.map(ask, range(6)))
    finally:
        sys.setswitchinterval(before)


def test_parameters_are_relearned_after_a_quarter_of_new_results_and_at_the_first_gap() -> None:
    """In two dimensions, a gap exists from nine results on."""
    found = [learned_with(Problem(unit_space(2), Config(), 0), count) for count in range(1, 1000)]
    assert found[:11] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10]
    for count, known in enumerate(found, start=1):
        assert known <= count < known + max(1, known // 4)
    assert len(set(found)) < 35


def test_large_studies_have_the_search_posterior_as_the_only_member() -> None:
    X, values = noisy(50)
    problem = Problem(unit_space(2), Config(), 0)
    checkpoint = Checkpoint(50, likelihood.prior_of(problem.domain), dictionary=tuple(range(20)))
    state = fitted(problem, of(X, values, np.zeros(50)), root(), checkpoint)
    (member,) = averaged(state).members
    assert member.posterior is state.surrogate


def test_one_result_gives_the_prior() -> None:
    """The interval far from it is wider than twice its size."""
    found = learned(np.array([[0.5, 0.5]]), np.array([3.0]))
    _, lcb, ucb = found.mean_and_quantiles(np.array([[0.0, 0.0]]), (0.05, 0.95))
    assert lcb[0] < -3.0
    assert ucb[0] > 9.0


@given(spaces(), st.integers(0, 2**32))
@settings(max_examples=50)
def test_thinned_results_are_near_a_better_kept_one(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, middle = Problem(space, Config(), 0), rng.random(space.dimension)
    steps = rng.normal(size=(40, space.dimension)) * rng.choice([0.02, 0.5], (40, 1))
    positions, values = space.snap(np.clip(middle + steps, 0.0, 1.0)), rng.normal(size=40)
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
