"""Points of mixtures: projections, random points, and the decimals that suggestions contain."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.feasible import Feasible
from adabkb_service.engine.mixtures import Mixture
from adabkb_service.engine.shares import problems
from adabkb_service.engine.simplex import Simplex, _down, _up, simplex, with_shares_given_way
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Fixed, Space
from tests.samples import some

BOUNDS = {
    "plain": ([(0.0, 1.0)] * 3, 1.0, None, 0.0),
    "bounded": ([(0.1, 0.5), (0.0, 0.35), (0.2, 0.9), (0.0, 1.0)], 1.0, None, 0.0),
    "percent": ([(0.0, 100.0), (5.0, 60.0), (0.0, 100.0)], 100.0, None, 0.0),
    "two of five": ([(0.0, 1.0)] * 5, 1.0, 2, 0.0),
    "least": ([(0.0, 1.0)] * 4, 1.0, None, 0.3),
    "both": ([(0.0, 0.6), (0.2, 0.9), (0.0, 0.3), (0.0, 1.0), (0.0, 0.7)], 1.0, 3, 0.15),
    "small total": ([(0.0, 1.0)] * 3, 0.07, 2, 0.01),
}


def simplex_of(name: str, **fixed: float) -> Simplex:
    bounds, total, at_most, least = BOUNDS[name]
    space = Space(tuple(FloatAxis(f"c{k}", *ends) for k, ends in enumerate(bounds)))
    return simplex(space, Mixture(tuple(f"c{k}" for k in range(len(bounds))), total, at_most, least), fixed)


def assert_are_mixtures(name: str, values: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    """Assert that points are mixtures, by an independent implementation of the rule."""
    bounds, total, at_most, least = BOUNDS[name]
    low, high = np.array(bounds).T
    present = values > 1e-9 * total
    assert np.abs(values.sum(axis=1) - total).max() <= 1e-9 * total
    assert (values >= low - 1e-9 * total).all()
    assert (values <= high + 1e-9 * total).all()
    assert (present.sum(axis=1) <= (at_most or len(bounds))).all()
    assert (~present | (values >= least - 1e-9 * total)).all()


@pytest.mark.parametrize("name", BOUNDS)
def test_random_and_projected_points_are_mixtures(name: str) -> None:
    one, rng = simplex_of(name), np.random.default_rng(0)
    drawn = one.drawn((1, 2), 300)
    assert_are_mixtures(name, drawn)
    scattered = rng.uniform(-0.5, 1.5, (300, len(one.axes))) * one.mixture.total
    assert_are_mixtures(name, one.projected(scattered))
    positions = one.of(drawn)
    assert np.array_equal(one.moved(positions), positions)
    assert one.holds(positions).all()
    assert np.array_equal(drawn, one.drawn((1, 2), 300)), "draws must depend only on seed and step"


@pytest.mark.parametrize("name", some(BOUNDS, ["bounded", "both"]))
def test_projection_is_the_nearest_mixture(name: str) -> None:
    """Compares with a search over all sets of components by another method."""
    one = simplex_of(name)
    bounds, total, at_most, least = BOUNDS[name]
    for values in np.random.default_rng(3).uniform(-0.2, 1.2, (6, len(bounds))) * total:
        nearest = np.inf
        for size in range(1, (at_most or len(bounds)) + 1):
            for chosen in combinations(range(len(bounds)), size):
                if any(low > 0.0 and k not in chosen for k, (low, _) in enumerate(bounds)):
                    continue
                ends = [(max(low, least), high) if k in chosen else (0.0, 0.0) for k, (low, high) in enumerate(bounds)]
                if any(low > high for low, high in ends) or not (
                    sum(low for low, _ in ends) <= total <= sum(high for _, high in ends)
                ):
                    continue
                found = minimize(
                    lambda x, at=values: float(((x - at) ** 2).sum()) / total**2,
                    np.array([(low + high) / 2.0 for low, high in ends]),
                    bounds=ends,
                    constraints={"type": "eq", "fun": lambda x: (x.sum() - total) / total},
                    method="SLSQP",
                    options={"ftol": 1e-14},
                )
                nearest = min(nearest, found.fun)
        away = ((one.projected(values[None])[0] - values) ** 2).sum() / total**2
        assert away == pytest.approx(nearest, rel=1e-5, abs=1e-9)


def test_random_points_are_uniform() -> None:
    """Each of three unbounded shares has the density 2 (1 - x). Bounded shares match rejection sampling."""
    plain = simplex_of("plain").drawn((0, 0), 20_000)
    for share in plain.T:
        assert np.quantile(share, [0.25, 0.5, 0.75]) == pytest.approx(1.0 - np.sqrt([0.75, 0.5, 0.25]), abs=0.01)
    bounds = [(0.0, 0.5), (0.0, 0.7), (0.0, 0.4)]
    space = Space(tuple(FloatAxis(f"c{k}", *ends) for k, ends in enumerate(bounds)))
    cut = simplex(space, Mixture(("c0", "c1", "c2")), {}).drawn((0, 0), 20_000)
    rejected = plain[(plain <= [0.5, 0.7, 0.4]).all(axis=1)]
    for share, other in zip(cut.T, rejected.T, strict=True):
        levels = [0.1, 0.3, 0.5, 0.7, 0.9]
        assert np.quantile(share, levels) == pytest.approx(np.quantile(other, levels), abs=0.02)


def test_all_sets_of_components_are_drawn_equally_often() -> None:
    """Four components, each at least 0.3 if present: four sets of one component, six of two and four of three."""
    _, counts = np.unique(simplex_of("least").drawn((0, 0), 7000) > 0.0, axis=0, return_counts=True)
    assert counts / 7000 == pytest.approx([1 / 14] * 14, abs=0.015)


@pytest.mark.parametrize("name", some(BOUNDS, ["bounded", "both", "small total"]))
def test_shares_are_decimals_that_sum_exactly_to_the_total(name: str) -> None:
    bounds, total, at_most, least = BOUNDS[name]
    axes = tuple(FloatAxis(f"c{k}", *ends) for k, ends in enumerate(bounds))
    space = Space(axes, mixtures=(Mixture(tuple(axis.name for axis in axes), total, at_most, least),))
    whole = Slice(space, {})
    assert whole.feasible is not None
    for number in range(40):
        point = whole.drawn(5, number)
        parameters = space.decode(point)
        assert sum(Fraction(str(share)) for share in parameters.values()) == Fraction(str(total))
        assert space.admits(parameters)
        assert not space.problems(parameters)
        assert np.array_equal(space.encode(parameters), point)
        assert np.array_equal(whole.exact(point), point)


def test_fixed_shares_are_kept_and_the_others_sum_to_the_rest() -> None:
    one = simplex_of("both", c0=0.25)
    assert one.drawn((0, 0), 50)[:, 0] == pytest.approx(0.25, abs=0.0)
    assert_are_mixtures("both", one.drawn((0, 0), 50))
    assert simplex_of("both", c0=0.25, c2=0.3, c4=0.2).is_empty, "four components"
    assert simplex_of("both", c0=0.1).is_empty, "below the minimum share"
    assert not simplex_of("both", c0=0.0).is_empty
    assert simplex_of("bounded", c2=0.9, c3=0.1).is_empty, "the first share is at least 0.1"


def test_shares_keep_their_proportions_when_one_changes() -> None:
    """As far as their bounds allow; then the others change further."""
    axes = (FloatAxis("water", 0.0, 100.0), FloatAxis("oil", 0.0, 100.0), FloatAxis("soap", 5.0, 20.0))
    space = Space(axes, mixtures=(Mixture(("water", "oil", "soap"), 100.0),))
    at = [{"water": 60.0, "oil": 30.0, "soap": 10.0}] * 3
    points = [{**point, "oil": oil} for point, oil in zip(at, (0.0, 65.0, 90.0), strict=True)]
    found = [list(point.values()) for point in with_shares_given_way(space, points, ["oil"])]
    expected = [[600 / 7, 0.0, 100 / 7], [30.0, 65.0, 5.0], [5.0, 90.0, 5.0]]
    assert found == [pytest.approx(each, abs=1e-6) for each in expected]


def test_cells_without_a_mixture_are_detected() -> None:
    one = simplex_of("two of five")
    low, high = np.zeros((3, 5)), np.full((3, 5), 0.15)
    high[1, 0], low[2, :3], high[2] = 0.5, 0.1, 1.0
    assert one.may_hold(low, high).tolist() == [False, True, False]


def test_random_points_satisfy_constraints_and_mixture() -> None:
    axes = tuple(FloatAxis(f"c{k}", 0.0, 1.0) for k in range(6))
    mixture = Mixture(tuple(axis.name for axis in axes), 1.0, 4, 0.05)
    space = Space(axes, (Constraint("c0 >= 2 * c1 + 0.3"), Constraint("c2 * c3 <= 0.01")), mixtures=(mixture,))
    whole: Feasible | None = Slice(space, {}).feasible
    assert whole is not None
    found = whole.sample((0, 0), 100)
    assert whole.mask(found).all()
    assert all(space.admits(space.decode(whole.exact(each))) for each in found)


WRONG = [
    (Mixture(("a", "zz")), ((0, "parameters", 1), "'zz' is not a parameter")),
    (Mixture(("a", "a")), ((0, "parameters", 1), "'a' is a share already")),
    (Mixture(("a", "kept")), ((0, "parameters", 1), "'kept' is a fixed parameter")),
    (Mixture(("a", "log")), ((0, "parameters", 1), "'log' is on a log scale")),
    (Mixture(("a", "angle")), ((0, "parameters", 1), "'angle' is periodic")),
    (Mixture(("a", "cold")), ((0, "parameters", 1), "'cold' has a negative lower bound")),
    (Mixture(("a", "known")), ((0, "parameters", 1), "'known' is a context parameter")),
    (Mixture(("a", "some")), ((0, "parameters", 1), "'some' has a condition")),
    (Mixture(("a", "b"), 3.0), ((0, "total"), "must be at most 1.5")),
    (Mixture(("b", "always"), 0.1), ((0, "total"), "must be at least 0.2")),
    (Mixture(("b", "always", "a"), 1.0, 1, 0.9), ((0,), "leaves no point")),
    (Mixture(("a", "b"), 0.3, None, 0.4), ((0, "least"), "must be at most 0.3")),
]


@pytest.mark.parametrize(("mixture", "fault"), WRONG)
def test_errors_of_invalid_mixtures_name_their_parameters(
    mixture: Mixture, fault: tuple[tuple[object, ...], str]
) -> None:
    parameters = (
        FloatAxis("a", 0.0, 1.0),
        FloatAxis("b", 0.0, 0.5),
        FloatAxis("log", 0.1, 1.0, "log"),
        FloatAxis("angle", 0.0, 1.0, periodic=True),
        FloatAxis("cold", -1.0, 1.0),
        FloatAxis("known", 0.0, 1.0),
        FloatAxis("some", 0.0, 1.0),
        FloatAxis("always", 0.2, 0.9),
        Fixed("kept", 0.1),
    )
    ((place, sentence),) = problems([mixture], parameters, {"known"}, {"some"})
    assert place == fault[0]
    assert sentence.startswith(fault[1])


def exact_in_one_piece(one: Simplex, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> dict[str, float]:
    """``Simplex.exact`` without memory: it computes the bounds of the grid for each point."""
    low, high = (ends[0] for ends in one.ends(one.present(values[None])))
    step = Decimal(1).scaleb(-one._decimals)
    is_fixed = [at is not None for at in one.fixed]
    rest = Decimal(repr(one.mixture.total)) - sum(Decimal(repr(at)) for at in one.fixed if at is not None)
    left = round(rest / step)
    lowest = [_up(at, step) for at in low.tolist()]
    highest = [max(_down(at, step), least) for at, least in zip(high.tolist(), lowest, strict=True)]
    found = [0 if kept else round(Decimal(value) / step) for value, kept in zip(values.tolist(), is_fixed, strict=True)]
    found = [min(max(each, a), b) for each, a, b in zip(found, lowest, highest, strict=True)]
    missing = left - sum(each for each, kept in zip(found, is_fixed, strict=True) if not kept)
    room = [0 if kept else b - a for a, b, kept in zip(lowest, highest, is_fixed, strict=True)]
    for index in sorted(range(len(found)), key=lambda each: -room[each]):
        if is_fixed[index] or not missing:
            continue
        after = min(max(found[index] + missing, lowest[index]), highest[index])
        missing -= after - found[index]
        found[index] = after
    names, grid = one.mixture.names, [float(each * step) for each in found]
    return {name: grid[i] if at is None else at for i, (name, at) in enumerate(zip(names, one.fixed, strict=True))}


@pytest.mark.parametrize("fixed", [{}, {"c1": 0.25}])
@pytest.mark.parametrize("name", BOUNDS)
def test_shares_are_as_without_kept_bounds(name: str, fixed: dict[str, float]) -> None:
    one = simplex_of(name, **{key: BOUNDS[name][1] * at for key, at in fixed.items()})
    if not one.is_empty:
        for values in one.drawn((0, 3), 200):
            assert one.exact(values) == exact_in_one_piece(one, values)
