"""Periodic axes with the ``auto`` profile: the model and the search treat their ends as one point."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition.plateaus import plateaus
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model import warp
from adabkb_service.engine.auto.model.additive import Additive
from adabkb_service.engine.auto.model.kernel import Kernel
from adabkb_service.engine.auto.model.likelihood import Evidence, learn, prior_of
from adabkb_service.engine.auto.model.surrogate import Surrogate, compressed, exact
from adabkb_service.engine.auto.search.pruning import bounds_between
from adabkb_service.engine.auto.search.quadratic import minimum
from adabkb_service.engine.auto.search.search import ascend, candidates
from adabkb_service.engine.auto.state.restarts import is_nearest_to_failed, is_outside_neighborhood
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.prior import Around, Prior
from adabkb_service.engine.space import Space
from tests.unit.engine.auto.drive import Run, run

Array = NDArray[np.float64]

ANGLE, TIME = FloatAxis("angle", -180.0, 180.0, periodic=True), FloatAxis("time", 0.0, 24.0, periodic=True)
KIND = ChoiceAxis("kind", tuple("abc"), descriptors=((1.0, 2.0, 4.0),))
MIXED = Space((FloatAxis("x", 0.0, 1.0), ANGLE, KIND, ChoiceAxis("plain", tuple("ab")), TIME))
PLANE = Space((ANGLE, FloatAxis("x", 0.0, 1.0)))
NONE = np.zeros((0, 2))
FORMS = ["rough", "smooth", "additive"]


def kernel_of(space: Space, form: str) -> Kernel:
    domain, rng = Domain(space), np.random.default_rng(3)
    d, along = space.dimension, np.full(len(domain.components), 0.7)
    part = Additive(rng.dirichlet(np.ones(d + 1))[1:], 0.15) if form == "additive" else None
    lengthscales = np.exp(rng.uniform(-1.5, 0.5, d))
    return Kernel(lengthscales, domain.categorical, part, domain.components, along, form == "smooth", domain.periodic)


def points(space: Space, count: int, seed: int) -> Array:
    return Domain(space).snap(np.random.default_rng(seed).random((count, space.dimension)))


def posterior(space: Space, form: str) -> Surrogate:
    """A posterior of 40 results."""
    rng = np.random.default_rng(0)
    return exact(kernel_of(space, form), 1.3, points(space, 40, 1), rng.normal(size=40), rng.uniform(0.01, 0.2, 40))


def turned(positions: Array, by: float) -> Array:
    """Positions of ``MIXED``, moved along the periodic axes."""
    found = positions.copy()
    found[:, [1, 4]] = (found[:, [1, 4]] + [by, 2.0 * by]) % 1.0
    return found


def near_the_wrap(u: Array) -> float:
    """Largest a hundredth of a turn before the wrap-around of the first axis, and at 0.3 of the second."""
    return float(np.cos(2.0 * np.pi * (u[0] + 0.01)) - 3.0 * (u[1] - 0.3) ** 2)


@pytest.mark.parametrize("form", FORMS)
def test_kernel_matches_its_formula(form: str) -> None:
    """Compares with a loop over pairs, for all kinds of axes."""
    kernel, X, Y = kernel_of(MIXED, form), points(MIXED, 5, 1), points(MIXED, 6, 2)
    scales, places = kernel.lengthscales, kernel.components.places[0]
    found = kernel.gram(kernel.scaled(X), kernel.scaled(Y)) - 10.0
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            away = [x[0] - y[0], *(math.sin(math.pi * (x[k] - y[k])) for k in (1, 4))]
            of_kind = (places[int(x[2] * 3)] - places[int(y[2] * 3)]) / 0.7
            squares = sum((each / scales[k]) ** 2 for each, k in zip(away, (0, 1, 4), strict=True)) + of_kind**2
            q = sum(1.0 / scales[k] for k in (2, 3) if x[k] != y[k])
            r = math.sqrt((5.0 if form == "smooth" else 3.0) * squares)
            expected = (1.0 + r + (r * r / 3.0 if form == "smooth" else 0.0)) * math.exp(-r - q)
            if kernel.additive is not None:
                apart = [away[0], away[1], float(x[2] != y[2]), float(x[3] != y[3]), away[2]]
                rs = [math.sqrt(5.0) * abs(each) / kernel.additive.lengthscale for each in apart]
                alone = [(1.0 + each + each * each / 3.0) * math.exp(-each) for each in rs]
                shares = kernel.additive.shares
                expected = (1.0 - shares.sum()) * expected + float(shares @ np.array(alone))
            assert found[i, j] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("form", FORMS)
def test_kernel_is_positive_definite(form: str) -> None:
    kernel, X = kernel_of(MIXED, form), points(MIXED, 150, 5)
    assert np.linalg.eigvalsh(kernel.gram(kernel.scaled(X), kernel.scaled(X))).min() > 0.0


@pytest.mark.parametrize("form", FORMS)
def test_origin_of_a_periodic_axis_makes_no_difference(form: str) -> None:
    """For exact and compressed posteriors, and for bounds over cells."""
    rng, kernel, X, at = np.random.default_rng(0), kernel_of(MIXED, form), points(MIXED, 40, 1), points(MIXED, 30, 2)
    outputs, noises = rng.normal(size=40), rng.uniform(0.01, 0.2, 40)
    for by in (0.25, 0.37):
        first, second = (exact(kernel, 1.3, each, outputs, noises) for each in (X, turned(X, by)))
        np.testing.assert_allclose(second.mean_and_std(turned(at, by)), first.mean_and_std(at), rtol=1e-9, atol=1e-10)
        few, others = (compressed(kernel, 1.3, each[:9], each, outputs, noises) for each in (X, turned(X, by)))
        np.testing.assert_allclose(others.mean_and_std(turned(at, by)), few.mean_and_std(at), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_gradient_of_the_bound_is_continuous_across_the_wrap(form: str) -> None:
    view, at = posterior(MIXED, form), points(MIXED, 12, 4)
    at[:4, 1], at[2:6, 4] = [0.0, 1e-9, 1.0 - 1e-9, 1.0], [0.0, 1e-9, 1.0 - 1e-9, 1.0]
    values, gradient = view.ucb_and_gradient(at, 1.5)
    np.testing.assert_allclose(values, view.ucb(at, 1.5), rtol=1e-12)
    for axis in (0, 1, 4):
        step = 1e-6 * np.eye(5)[axis]
        slope = (view.ucb(at + step, 1.5) - view.ucb(at - step, 1.5)) / 2e-6
        np.testing.assert_allclose(gradient[:, axis], slope, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_gradient_of_the_likelihood_matches_finite_differences(form: str) -> None:
    domain, X, rng = Domain(MIXED), points(MIXED, 30, 1), np.random.default_rng(0)
    z = rng.normal(size=30)
    evidence = Evidence(
        X,
        z,
        np.full(30, 0.01),
        domain.categorical,
        components=domain.components,
        smooth=form == "smooth",
        periodic=domain.periodic,
    )
    start = prior_of(domain)
    if form == "additive":
        start = replace(start, additive=Additive(rng.dirichlet(np.ones(6))[1:], 0.2))
    parameters = start.parameters() + rng.uniform(-0.3, 0.3, len(start.parameters()))
    _, gradient = evidence.negative_log_posterior(parameters)
    for index in range(len(parameters)):
        step = 1e-5 * np.eye(len(parameters))[index]
        above, below = (evidence.negative_log_posterior(parameters + sign * step)[0] for sign in (1.0, -1.0))
        assert gradient[index] == pytest.approx((above - below) / 2e-5, rel=1e-4, abs=1e-5)


def test_lengthscales_of_periodic_axes_are_learned() -> None:
    """They are short along the axis with many waves, and long along the axis with one."""
    space = Space((ANGLE, TIME))
    domain, X = Domain(space), np.random.default_rng(0).random((80, 2))
    y = np.sin(10.0 * np.pi * X[:, 0]) + 0.3 * np.sin(2.0 * np.pi * X[:, 1])
    outputs = warp.fit(y).forward(y)
    evidence = Evidence(X, outputs, np.zeros(80), domain.categorical, periodic=domain.periodic)
    short, long = learn(evidence, [prior_of(domain)]).lengthscales
    assert long > 3.0 * short


def test_cell_bound_reaches_its_corners() -> None:
    """With norm 1, it is f~ in the middle plus the kernel's distance to the farthest corner, in cells of up to a whole
    turn.
    """
    view, rng = posterior(PLANE, "rough"), np.random.default_rng(0)
    for _ in range(20):
        low = rng.random(2) * 0.5
        high = low + rng.random(2) * 0.5
        if rng.random() < 0.3:
            low[0], high[0] = 0.0, 1.0
        corner, middle = view.kernel.scaled(np.stack([low, (low + high) / 2.0]))
        apart = math.sqrt(2.0 - 2.0 * (view.kernel.gram(corner[None], middle[None])[0, 0] - 10.0))
        expected = view.ucb((low + high)[None] / 2.0, 1.5)[0] + apart
        assert bounds_between(view, 1.5, 1.0, low[None], high[None])[0] == pytest.approx(expected, rel=1e-9)


def test_ascent_crosses_the_wrap() -> None:
    X = np.column_stack([np.linspace(0.0, 0.95, 20), np.full(20, 0.5)])
    outputs = np.cos(2.0 * np.pi * (X[:, 0] - 0.06))
    view = exact(
        replace(kernel_of(PLANE, "smooth"), lengthscales=np.array([0.3, 1.0])), 1.0, X, outputs, np.full(20, 1e-4)
    )
    ends = ascend(view, np.array([[0.9, 0.5], [0.97, 0.5], [0.3, 0.5]]), 0.0, np.array([True, False]))
    assert ends[:, 0] == pytest.approx(0.06, abs=0.02)


def test_candidates_around_a_point_lie_on_both_sides_of_the_wrap() -> None:
    local = candidates(Domain(PLANE), np.array([0.01, 0.01]), (0, 5))[-100:]
    assert ((local >= 0.0) & (local < 1.0)).all()
    assert ((local[:, 0] > 0.7) & (local[:, 0] < 1.0)).sum() >= 10
    assert not (local[:, 0] == 0.0).any()
    assert (local[:, 1] == 0.0).sum() >= 10


def test_neighbourhoods_extend_across_the_wrap() -> None:
    domain, best = Domain(PLANE), np.array([0.99, 0.5])
    positions = np.array([[0.02, 0.5], [0.5, 0.5]])
    every = np.ones(2, dtype=np.bool_)
    assert list(is_outside_neighborhood(domain, positions, best, every)) == [False, True]
    assert is_nearest_to_failed(domain, best, positions[1:], positions[:1])


def test_quadratic_model_crosses_the_wrap() -> None:
    """Positions next to the best one may lie beyond the cube; only the other axis has a face."""
    rng = np.random.default_rng(0)
    positions = np.column_stack([rng.uniform(-0.2, 0.2, 30), rng.uniform(0.0, 0.4, 30)])
    optimum = np.array([-0.03, 0.1])
    positions[0] = [0.0, 0.12]
    values = -((positions - optimum) ** 2 @ np.array([1.0, 3.0]))
    found = minimum(positions, values, NONE, 4.0, 0.0, (0, 30), np.array([True, False]))
    assert found == pytest.approx(optimum, abs=1e-9)


def test_optimum_next_to_the_wrap_is_found() -> None:
    """The search looks on both sides of the wrap-around."""
    result = run(PLANE, near_the_wrap, 20)
    positions = np.array(result.points)
    assert near_the_wrap(positions[np.argmax(result.values)]) > 1.0 - 1e-4
    near = positions[4:, 0]
    assert (near < 0.1).any()
    assert (near > 0.9).any()


def test_no_suggestion_is_at_the_upper_end() -> None:
    """With and without constraints and a prior, values are in [low, high), and a restored run continues identically."""
    tied = replace(PLANE, constraints=(Constraint("x + angle / 360 <= 1.2"),))
    for space, prior in ((PLANE, None), (tied, None), (PLANE, Prior((Around(0, 0.99, 0.05, is_periodic=True),), ()))):
        config = replace(Run(run(PLANE, near_the_wrap, 0).state).state.problem.config, prior=prior)
        result = run(space, near_the_wrap, 14, config=config)
        angles = [space.decode(each)["angle"] for each in result.points]
        assert all(isinstance(angle, float) and -180.0 <= angle < 180.0 for angle in angles)
        assert all((space.encode(space.decode(each)) == each).all() for each in result.points)
        restored = result.restored()
        assert (restored.ask() == result.ask()).all()


def test_upper_end_equals_lower_end() -> None:
    """The upper end, or a value that rounds to it, is stored as the lower end."""
    assert ANGLE.problem(180.0) is None
    assert ANGLE.canonical(180.0) == -180.0
    assert ANGLE.encode(180.0) == ANGLE.encode(-180.0) == 0.0
    assert ANGLE.decode(1.0) == ANGLE.decode(1.0 - 1e-16) == -180.0
    assert ANGLE.problem(180.1) is not None


def test_prior_at_the_wrap_favors_both_sides() -> None:
    prior = Prior((Around(0, 0.99, 0.05, is_periodic=True),), ())
    at = np.array([[0.99, 0.5], [0.94, 0.5], [0.04, 0.5], [0.49, 0.5]])
    found, slopes = prior.log_density_and_gradient(PLANE, at)
    assert found[:3] == pytest.approx([0.0, -math.log(2.0), -math.log(2.0)])
    assert found[3] == pytest.approx(-math.log(101.0))
    assert slopes[1, 0] == pytest.approx(-slopes[2, 0])
    drawn = prior.drawn(np.random.default_rng(0).random((200, 2)))[:, 0]
    assert (drawn < 0.1).sum() > 20
    assert (drawn > 0.9).sum() > 20
    assert ((drawn >= 0.0) & (drawn < 1.0)).all()


def test_plateau_extends_across_the_wrap() -> None:
    """A plateau of equal results on both sides is as wide as their distance across the wrap-around."""
    result = run(PLANE, near_the_wrap, 0)
    for angle, value in [(0.97, 1.0), (0.03, 1.0), (0.97, 1.0001), (0.5, 0.1), (0.3, 0.2), (0.7, 0.3)]:
        result.tell(np.array([angle, 0.5 if value != 1.0001 else 0.9]), value)
    known = plateaus(result.state)
    assert known.are_found
    assert list(known.hold(np.array([[0.999, 0.5], [0.9, 0.5], [0.5, 0.5]]), 0)) == [True, False, False]
