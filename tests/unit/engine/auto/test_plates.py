"""Plates: results of the same plate share an offset, whose variance is a hyperparameter."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model import additive, likelihood, surrogate
from adabkb_service.engine.auto.model.kernel import Kernel
from adabkb_service.engine.auto.model.likelihood import Evidence, Hyperparameters
from adabkb_service.engine.auto.model.surrogate import Surrogate
from adabkb_service.engine.auto.policy import State, auto
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.space import Space
from tests.samples import some

Array = NDArray[np.float64]

SPACE = Space((FloatAxis("a", 0.0, 1.0), FloatAxis("b", 0.0, 1.0)))
PLATES = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2, -1, -1])
"""The plate of each result; -1 for a result that is alone on its plate."""
TAU, NOISE = 0.3, 1e-3
RNG = np.random.default_rng(5)
POSITIONS, OUTPUTS, AT = RNG.random((12, 2)), RNG.normal(size=12), RNG.random((7, 2))


def truth(positions: Array) -> Array:
    found: Array = np.sin(5.0 * positions[:, 0]) + positions[:, 1]
    return found


def same_plate() -> Array:
    """[same plate], (12, 12), as an explicit matrix."""
    return np.array(
        [
            [float(i == j or (one == other and one >= 0)) for j, other in enumerate(PLATES)]
            for i, one in enumerate(PLATES)
        ]
    )


def kernel() -> Kernel:
    return Hyperparameters(np.array([0.4, 0.7]), NOISE, 1.0, plates=TAU).kernel(Domain(SPACE))


def moments(view: Surrogate) -> tuple[Array, Array]:
    return view.mean_and_std(AT)


def test_posterior_for_a_new_plate_matches_a_dense_computation() -> None:
    own = kernel()
    view = surrogate.exact(own, 1.0, POSITIONS, OUTPUTS, np.full(12, NOISE), PLATES)
    rows, at = own.scaled(POSITIONS), own.scaled(AT)
    K = own.gram(rows, rows) + TAU * same_plate() + NOISE * np.eye(12)
    k = own.gram(at, rows)
    mean, deviation = moments(view)
    assert mean == pytest.approx(k @ np.linalg.solve(K, OUTPUTS), rel=1e-9)
    variance = np.diag(own.gram(at, at)) - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    assert deviation == pytest.approx(np.sqrt(variance), rel=1e-6)


def test_incremental_and_compressed_rows_give_the_same_posterior() -> None:
    own, noises = kernel(), np.full(12, NOISE)
    together = moments(surrogate.exact(own, 1.0, POSITIONS, OUTPUTS, noises, PLATES))
    follows = surrogate.empty(own, 1.0)
    for row in range(12):
        one = slice(row, row + 1)
        follows = follows.condition(POSITIONS[one], OUTPUTS[one], noises[one], PLATES[one])
    compressed = surrogate.compressed(own, 1.0, POSITIONS, POSITIONS, OUTPUTS, noises, PLATES)
    for found in (moments(follows), moments(compressed)):
        assert found[0] == pytest.approx(together[0], abs=1e-5)
        assert found[1] == pytest.approx(together[1], abs=1e-5)


@pytest.mark.parametrize("is_mixed", [False, True])
def test_gradient_matches_finite_differences(is_mixed: bool) -> None:
    evidence = Evidence(POSITIONS, OUTPUTS, np.zeros(12), np.zeros(2, dtype=bool), plates=PLATES)
    part = additive.first(2) if is_mixed else None
    at = Hyperparameters(np.array([0.4, 0.7]), 0.01, 1.0, part, plates=TAU).parameters()
    gradient, step = evidence.negative_log_posterior(at)[1], 1e-6
    for axis, each in enumerate(np.eye(len(at))):
        ahead, behind = (evidence.negative_log_posterior(at + sign * step * each)[0] for sign in (1.0, -1.0))
        assert gradient[axis] == pytest.approx((ahead - behind) / (2.0 * step), abs=1e-4)


def test_likelihood_includes_plate_offsets() -> None:
    """Compares the difference for two values of tau with a dense computation."""
    evidence = Evidence(POSITIONS, OUTPUTS, np.zeros(12), np.zeros(2, dtype=bool), plates=PLATES)

    def dense(tau: float) -> float:
        own = kernel()
        rows = own.scaled(POSITIONS)
        K = own.gram(rows, rows) + tau * same_plate() + NOISE * np.eye(12)
        variance = OUTPUTS @ np.linalg.solve(K, OUTPUTS) / 12
        centre, deviation = likelihood.PLATES_PRIOR
        return float(6 * np.log(variance) + np.linalg.slogdet(K)[1] / 2 + ((np.log(tau) - centre) / deviation) ** 2 / 2)

    def found(tau: float) -> float:
        at = Hyperparameters(np.array([0.4, 0.7]), NOISE, 1.0, plates=tau)
        return evidence.negative_log_posterior(at.parameters())[0]

    assert found(0.5) - found(0.02) == pytest.approx(dense(0.5) - dense(0.02), rel=1e-6)


def study_on_plates(*, has_plates: bool, offset: float, seed: int = 0, count: int = 40) -> State:
    """A state after results on plates of five, whose offsets have the given standard deviation."""
    rng = np.random.default_rng(seed)
    state = auto.start(SPACE, Config(has_plates=has_plates), 0)
    offsets = offset * rng.normal(size=count // 5 + 1)
    for step, position in enumerate(rng.random((count, 2))):
        value = float(truth(position[None])[0] + offsets[step // 5] + 0.05 * rng.normal())
        state = auto.observe(state, position, value, plate=step // 5).state
    return state


def test_variance_of_the_offsets_is_learned() -> None:
    shares = []
    for offset in (0.0, 0.5, 2.0):
        found = study_on_plates(has_plates=True, offset=offset).checkpoint.hyperparameters
        assert found.plates is not None
        shares.append(found.plates * found.variance)
    assert shares[0] < 0.1 * shares[1] < 0.1 * shares[2]


@pytest.mark.parametrize("seed", some(range(4), [0]))
def test_plates_improve_predicted_differences(seed: int) -> None:
    at = np.random.default_rng(99).random((50, 2))
    errors = []
    for has_plates in (True, False):
        found = auto.predict(study_on_plates(has_plates=has_plates, offset=2.0, seed=seed), at).mean - truth(at)
        errors.append(float(np.std(found)))
    assert errors[0] < 0.5 * errors[1]


def test_restored_state_is_bit_identical() -> None:
    state = study_on_plates(has_plates=True, offset=1.0, count=33)
    cells = dict.fromkeys(["0"], "leaf")
    again = auto.restore(SPACE, Config(has_plates=True), 0, state.record, cells, (), auto.learned(state))
    assert again.checkpoint.hyperparameters.plates == state.checkpoint.hyperparameters.plates
    for one, other in zip(moments(again.surrogate), moments(state.surrogate), strict=True):
        assert np.array_equal(one, other)


def test_study_without_plates_has_no_plate_variance() -> None:
    state = study_on_plates(has_plates=False, offset=1.0)
    assert (state.record.plates, state.checkpoint.hyperparameters.plates, state.surrogate.plates) == (None, None, None)
