"""The inner loops in C agree with their numpy equivalents, up to rounding."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model.additive import Additive
from adabkb_service.engine.auto.model.kernel import Kernel
from adabkb_service.engine.auto.model.likelihood import LENGTHSCALES, NOISES, Evidence
from adabkb_service.engine.auto.model.surrogate import Surrogate, compressed, empty, exact
from adabkb_service.engine.auto.search import pruning, refine
from adabkb_service.engine.auto.search.search import ascend
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis
from adabkb_service.engine.native.library import (
    AVX2,
    COUNT,
    EVERY_PROCESSOR,
    NUMBER,
    POINTER,
    opened,
    reals,
    routine,
)
from adabkb_service.engine.space import Space
from tests.unit.engine.auto import reference
from tests.unit.engine.auto.strategies import MIXED
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

CATEGORIES = Space(tuple(ChoiceAxis(f"c{i}", tuple("abc")) for i in range(3)))
DESCRIBED = Space(
    (
        ChoiceAxis("solvent", tuple("abcde"), descriptors=((0.1, 0.9, 0.4, 0.7, 0.2), (3.0, 1.0, 7.0, 2.0, 9.0))),
        ChoiceAxis("plain", tuple("abc")),
        FloatAxis("x", 0.0, 1.0),
        ChoiceAxis("base", tuple("abc"), descriptors=((1.0, 2.0, 4.0),)),
    )
)
SPACES = {
    "1-d": unit_space(1),
    "6-d": unit_space(6),
    "mixed": MIXED,
    "categories": CATEGORIES,
    "descriptors": DESCRIBED,
}


@pytest.fixture(params=SPACES)
def space(request: pytest.FixtureRequest) -> Space:
    return SPACES[request.param]


@pytest.fixture(params=["prior", "exact", "smooth", "compressed", "additive"])
def view(request: pytest.FixtureRequest, space: Space) -> Surrogate:
    """A posterior of 40 noisy results, as at different times of a study."""
    rng = np.random.default_rng(0)
    kernel = kernel_of(space, np.exp(rng.uniform(-1.5, 1.0, space.dimension)))
    if request.param == "additive":
        kernel = replace(kernel, additive=Additive(rng.dirichlet(np.ones(space.dimension + 1))[1:], 0.15))
    if request.param == "smooth":
        kernel = replace(kernel, smooth=True)
    if request.param == "prior":
        return empty(kernel, 1.3)
    X, z, noise_ratios = points(space, 40, 1), rng.normal(size=40), rng.uniform(0.01, 0.2, 40)
    if request.param in ("exact", "smooth", "additive"):
        return exact(kernel, 1.3, X, z, noise_ratios)
    distinct = X[np.sort(np.unique(X, axis=0, return_index=True)[1])]
    base = compressed(kernel, 1.3, distinct[:12], X, z, noise_ratios)
    return base.condition(X[:2], z[:2], noise_ratios[:2])


def kernel_of(space: Space, lengthscales: Array) -> Kernel:
    """With these lengthscales, (d,), and others along components."""
    domain = Domain(space)
    along = lengthscales[0] * np.linspace(0.5, 2.0, len(domain.components))
    return Kernel(lengthscales, domain.categorical, None, domain.components, along)


def evidence_of(space: Space, X: Array, outputs: Array, extra: Array) -> Evidence:
    domain = Domain(space)
    return Evidence(X, outputs, extra, domain.categorical, components=domain.components)


def points(space: Space, count: int, seed: int) -> Array:
    return Domain(space).snap(np.random.default_rng(seed).random((count, space.dimension)))


def test_kernel(space: Space) -> None:
    """Accurate to 1e-14, from distance 0 to distances at which it is 0."""
    for shift in np.linspace(-6.0, 2.0, 9):
        kernel = kernel_of(space, np.full(space.dimension, math.exp(shift)))
        X, Y = (kernel.scaled(points(space, count, count)) for count in (31, 70))
        X[0] = Y[0]
        for each in (kernel, replace(kernel, smooth=True)):
            expected = reference.kernel_and_radial(each, X, Y)[0] + 10.0
            np.testing.assert_allclose(each.gram(X, Y), expected, rtol=1e-14)
        part = Additive(np.full(space.dimension, 0.7 / space.dimension), max(math.exp(shift), 0.02))
        mixed, expected = replace(kernel, additive=part), reference.full_kernel(replace(kernel, additive=part), X, Y)
        np.testing.assert_allclose(mixed.gram(X, Y), expected + 10.0, rtol=1e-14)


def test_mean_deviation_ucb_and_gradient(view: Surrogate, space: Space) -> None:
    at = points(space, 50, 2)
    for found, expected in zip(view.mean_and_std(at), reference.mean_and_std(view, at), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(view.mean(at), view.mean_and_std(at)[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(view.ucb(at, 1.5), reference.ucb(view, at, 1.5), rtol=1e-9, atol=1e-11)
    expected_values, expected_gradient = reference.ucb_and_gradient(view, at, 1.5)
    values, gradient = view.ucb_and_gradient(at, 1.5)
    np.testing.assert_allclose(values, expected_values, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-7, atol=1e-8)


def test_ascent_ends_at_the_same_points(view: Surrogate, space: Space) -> None:
    """From 6 starts, up to accumulated rounding errors. Starts without a free axis do not move."""
    starts = points(space, 6, 3)
    free = np.ones(space.dimension, dtype=np.bool_)
    assert ascend(view, starts, 1.5, ~free).tolist() == starts.tolist()
    ends, expected = ascend(view, starts, 1.5, free), reference.ascend(view, starts, 1.5)
    np.testing.assert_allclose(ends, expected, atol=1e-6)
    assert (view.ucb(ends, 1.5) >= view.ucb(starts, 1.5)).all()


def test_snapping_and_the_axis_to_split(view: Surrogate, space: Space) -> None:
    """For 30 targets and centroids, with floors from generous to none."""
    bound, oracle = refine.UpperBound(view, 1.5), reference.AnyBound(lambda X: reference.ucb(view, X, 1.5))
    rng = np.random.default_rng(4)
    for target, centroid in zip(points(space, 30, 5), points(space, 30, 6), strict=True):
        floor = oracle.value(target) - 10.0 ** rng.uniform(-4, 1)
        assert bound.value(target) == pytest.approx(oracle.value(target), rel=1e-9, abs=1e-11)
        snapped = bound.moved_towards_centroid(target, centroid, floor)
        assert snapped.tolist() == oracle.moved_towards_centroid(target, centroid, floor).tolist()
        axes = np.flatnonzero(target != centroid)
        if len(axes) and len(view.weights):
            gains = bound.axis_to_cut(target, centroid, axes), oracle.axis_to_cut(target, centroid, axes)
            assert gains[0] == gains[1]


def test_negative_log_posterior_and_its_gradient(space: Space) -> None:
    """At 20 parameter vectors within the bounds, with declared noises."""
    rng = np.random.default_rng(7)
    data = evidence_of(space, points(space, 30, 8), rng.normal(size=30), 0.2 * rng.random(30))
    low, high = np.log([*[LENGTHSCALES] * (space.dimension + len(data.components)), NOISES]).T
    for k in range(20):
        at, each = rng.uniform(low, high), replace(data, smooth=k % 2 == 1)
        (value, gradient), (expected, slopes) = (
            each.negative_log_posterior(at),
            reference.negative_log_posterior(each, at),
        )
        assert value == pytest.approx(expected, rel=1e-8)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5)


def test_likelihood_search_ends_at_a_minimum(space: Space) -> None:
    """Starting from the prior, no step of a tenth within the bounds improves the posterior."""
    rng, columns = np.random.default_rng(9), space.dimension + len(Domain(space).components)
    for seed in range(5):
        X = points(space, 25, seed)
        z = np.sin(4 * X[:, 0]) + 0.3 * rng.standard_normal(25)
        data = evidence_of(space, X, (z - z.mean()) / z.std(), np.zeros(25))
        value, at, variance = data.maximum(np.append(np.full(columns, -0.5), math.log(1e-4)))
        assert variance == data.variance(at)
        for k in range(columns + 1):
            for step in (-0.1, 0.1):
                low, high = np.log(NOISES if k == columns else LENGTHSCALES)
                moved = at.copy()
                moved[k] = np.clip(at[k] + step, low, high)
                assert data.negative_log_posterior(moved)[0] >= value - 1e-2


def test_bounds_of_boxes(view: Surrogate, space: Space) -> None:
    """Each bound is f~ at the middle plus norm times the kernel's distance to the farthest corner; for components, to
    the farthest choice of the box.
    """
    first, second = points(space, 20, 11), points(space, 20, 12)
    lows, highs, kernel = np.minimum(first, second), np.maximum(first, second), view.kernel
    found = pruning.bounds_between(view, 1.5, 2.0, lows, highs)
    for low, high, bound in zip(lows, highs, found, strict=True):
        centre = np.where(kernel.categorical, low, (low + high) / 2)
        corner, components = kernel.scaled(np.array([centre, high])), kernel.components
        for column, axis in enumerate(components.axes, space.dimension):
            values = (np.arange(len(space.axes[axis].choices)) + 0.5) / len(space.axes[axis].choices)
            inside = np.tile(low, (len(values), 1))
            inside[:, axis] = np.clip(values, low[axis], high[axis])
            places = kernel.scaled(inside)[:, column]
            corner[1, column] = places[0] + np.abs(places - places[0]).max()
            corner[0, column] = places[0]
        k = reference.full_kernel(kernel, corner[:1], corner[1:])[0, 0]
        distance = math.sqrt(max(2.0 - 2.0 * k, 0.0))
        assert bound == pytest.approx(reference.ucb(view, centre[None], 1.5)[0] + 2.0 * distance, rel=1e-7)


FORMS = [EVERY_PROCESSOR, *([AVX2] if AVX2.exists() and opened(EVERY_PROCESSOR).has_avx2() else [])]


def test_all_builds_of_the_library_are_bit_identical(view: Surrogate, space: Space) -> None:
    """Bounds with gradients, and the likelihood, together run every vectorized loop."""
    at, found = points(space, 50, 13), set()
    for form in FORMS:
        library, values, gradient = opened(form), np.empty(50), np.empty(at.shape)
        ucb = routine("ucb_and_gradient", POINTER, COUNT, POINTER, NUMBER, POINTER, POINTER, library=library)
        ucb(view.native.address, 50, reals(at), 1.5, reals(values), reals(gradient))
        found.add((values.tobytes(), gradient.tobytes()))
    assert len(found) == 1


def test_arrays_of_another_type_are_rejected() -> None:
    """C code would misinterpret their bytes."""
    for wrong in (np.zeros(4, dtype=np.float32), np.zeros((4, 4))[:, 0]):
        with pytest.raises(TypeError, match="contiguous array of float64"):
            reals(wrong)  # type: ignore[arg-type]


NO_MEMORY = """
import resource
import numpy as np
from tests.unit.engine.auto.test_native import empty, points, Kernel, Domain, SPACES
space = SPACES["6-d"]
view = empty(Kernel(np.ones(6), Domain(space).categorical), 1.0).condition(points(space, 200, 1), None, np.ones(200))
at, values = points(space, 200_000, 2), view.native.address
used = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_DATA, (used + 2**26, used + 2**26))
try:
    view.ucb(at, 1.0)
except MemoryError:
    print("MemoryError")
print(view.ucb(at[:10], 1.0).shape)
"""


@pytest.mark.long
def test_out_of_memory_raises_and_the_next_call_works() -> None:
    """The process may allocate 64 MB more, but needs 320 MB for a matrix of 200,000 rows."""
    done = subprocess.run([sys.executable, "-c", NO_MEMORY], capture_output=True, text=True, check=True)
    assert done.stdout == "MemoryError\n(10,)\n"


def test_address_is_that_of_the_first_number() -> None:
    """Also for a read-only array, a part of an array, and an empty array."""
    fixed = np.ones(3)
    fixed.flags.writeable = False
    for array in (np.ones((3, 2)), np.ones((3, 2))[1:], fixed, np.zeros((0, 2))):
        assert reals(array) == array.ctypes.data
    with pytest.raises(TypeError, match="a contiguous array of float64 is needed"):
        reals(np.ones((3, 2)).T)


RUN = """
import numpy as np
from adabkb_service.engine.auto.config import Config
from tests.unit.engine.auto.drive import run
from tests.unit.engine.strategies import unit_space
result = run(unit_space(3), lambda u: float(np.sin(6 * u[0]) + u[1] * u[2]), 30, noise=0.1)
print([point.tobytes().hex() for point in result.points], result.state.surrogate.weights.tobytes().hex())
"""


@pytest.mark.long
def test_two_processes_compute_the_same_bits() -> None:
    """30 steps with refits: the points and the posterior."""
    first, second = (subprocess.run([sys.executable, "-c", RUN], capture_output=True, check=True) for _ in range(2))
    assert first.stdout == second.stdout
    assert len(first.stdout) > 1000
