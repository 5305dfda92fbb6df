"""The systems that Ada-BKB is compared with: their defining properties, and the regret they reach."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import norm

from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.cells import box_of
from adabkb_service.engine.paper import index
from adabkb_service.engine.paper.config import Config, Problem
from adabkb_service.engine.paper.kernels import Matern
from adabkb_service.engine.paper.leaves import listed
from adabkb_service.engine.paper.policy import ada_bkb
from adabkb_service.engine.paper.variation import Chaining
from adabkb_service.engine.space import Space
from tests.unit.engine.drive import hills, record, run
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

EXACT = Config(qbar=math.inf, epsilon=0.0)
GP_UCB = replace(EXACT, points_per_axis=9)
BKB = Config(points_per_axis=9)
RANDOM_BKB = Config(points=150)
ADA_GP_UCB = replace(EXACT, chaining=Chaining(200, 1.0), prunes=False, beta=0.03, max_depth=8)
ADA_BBKB = Config(batch_drift=2.0, ridge=0.01)
EI = Config(index="ei")
SYSTEMS = {
    "gp-ucb": GP_UCB,
    "bkb": BKB,
    "random-bkb": RANDOM_BKB,
    "ada-gp-ucb": ADA_GP_UCB,
    "ada-bbkb": ADA_BBKB,
    "ei": EI,
}
NOTHING = np.zeros((0, 2))


@pytest.fixture(params=SYSTEMS)
def config(request: pytest.FixtureRequest) -> Config:
    return SYSTEMS[request.param]


def test_posterior_without_a_sketch_is_exact() -> None:
    """Compares with the textbook formula, which has one row per result, including repeats."""
    config = replace(GP_UCB, lengthscale=0.4, ridge=0.05, outputs="raw")
    result = run(unit_space(2), config, hills, 120, noise=0.1)
    assert len(np.unique(result.points, axis=0)) < 100
    X, y, new = np.array(result.points), np.array(result.values), np.random.default_rng(0).random((50, 2))
    kernel = Matern(2.5)
    K = kernel(X / 0.4, X / 0.4) + 0.05 * np.eye(len(X))
    cross = kernel(new / 0.4, X / 0.4)
    found = ada_bkb.predict(result.state, new)
    assert found.mean == pytest.approx(cross @ np.linalg.solve(K, y), abs=1e-8)
    variance = 1.0 - np.einsum("kn,nk->k", cross, np.linalg.solve(K, cross.T))
    assert found.std**2 == pytest.approx(variance, abs=1e-8)


def test_bkb_with_a_full_dictionary_is_gp_ucb() -> None:
    full, exact = replace(BKB, qbar=1e12, beta=0.1), replace(GP_UCB, beta=0.1)
    sketched, whole = (run(unit_space(2), config, hills, 60, noise=0.05) for config in (full, exact))
    assert np.array_equal(sketched.points, whole.points)


def test_bkb_dictionary_is_smaller_than_the_evaluated_points() -> None:
    result = run(unit_space(2), replace(BKB, qbar=1.0, ridge=1.0, lengthscale=0.5), hills, 100, noise=0.1)
    points = result.state.points
    assert 0 < len(result.state.gp.sketch.dictionary) < 0.7 * len(points.evaluated)


def test_gp_ucb_chooses_the_largest_upper_bound_of_its_grid() -> None:
    """Takes the bounds of all grid points from the prediction, which does not use the grid."""
    result = run(unit_space(2), GP_UCB, hills, 40, noise=0.05)
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 9)), axis=-1).reshape(-1, 2)
    chosen = ada_bkb.suggest(result.state, NOTHING).point
    upper = ada_bkb.predict(result.state, np.array([*grid, chosen])).ucb
    assert np.abs(grid - chosen).max(axis=1).min() < 1e-12
    assert upper[-1] == pytest.approx(upper.max(), rel=1e-9)


def test_grids_have_all_values_of_short_axes_and_even_spacing_on_others() -> None:
    axes = (
        FloatAxis("x", 1.0, 100.0, "log"),
        IntAxis("n", 1, 64, "log"),
        IntAxis("k", 0, 2),
        ChoiceAxis("c", ("a", "b")),
    )
    space = Space(axes)
    points = Problem(space, Config(points_per_axis=4), seed=3).fixed
    assert points is not None
    decoded = {tuple(space.decode(point).values()) for point in points}
    assert len(decoded) == len(points) == 4 * 4 * 3 * 2
    assert sorted({axes[0].decode(u) for u in points[:, 0]}) == pytest.approx(
        [1.0, 100 ** (1 / 3), 100 ** (2 / 3), 100.0]
    )
    assert {n for _, n, *_ in decoded} >= {1, 64}
    assert {(k, c) for *_, k, c in decoded} == {(k, c) for k in range(3) for c in "ab"}


def test_random_points_depend_only_on_the_seed() -> None:
    drawn = np.array([Problem(unit_space(3), RANDOM_BKB, seed).fixed for seed in (1, 1, 2)])
    assert drawn.shape == (3, 150, 3)
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    assert drawn.min() < 0.05
    assert drawn.max() > 0.95


def test_only_fixed_points_are_suggested() -> None:
    for config in (GP_UCB, BKB, RANDOM_BKB):
        fixed = Problem(unit_space(2), config, seed=0).fixed
        assert fixed is not None
        result = run(unit_space(2), config, hills, 50, noise=0.1)
        allowed = {point.tobytes() for point in fixed}
        assert {point.tobytes() for point in result.points} <= allowed
        assert result.suggested == [None] * 50
        assert result.cells == {"0": "leaf"}


def test_points_suggested_together_differ(config: Config) -> None:
    result = run(unit_space(2), config, hills, 15, noise=0.05)
    together = list(islice(ada_bkb.suggestions(result.state, NOTHING), 12))
    assert len({suggestion.point.tobytes() for suggestion in together}) == 12


@pytest.mark.long
def test_restored_study_continues_identically(config: Config) -> None:
    """Restores from results, cells, dictionary and hyperparameters, after each step."""
    space = unit_space(2)
    result = run(space, config, hills, 0)
    for _ in range(40):
        result.step(hills)
        learned = ada_bkb.learned(result.state)
        kept = record(result.points, result.values), result.cells, ada_bkb.dictionary(result.state), learned
        restored = ada_bkb.restore(space, config, 0, *kept)
        assert ada_bkb.dictionary(restored) == kept[2]
        mine, others = ada_bkb.suggest(result.state, NOTHING), ada_bkb.suggest(restored, NOTHING)
        assert np.array_equal(mine.point, others.point)


def test_incremental_batch_equals_one_computed_from_scratch() -> None:
    """Known points still have features of members that have left the dictionary."""
    space, config = unit_space(2), replace(ADA_BBKB, qbar=1.0, ridge=0.1)
    result, noise = run(space, config, hills, 0), np.random.default_rng(0)
    redrawn = 0
    for _ in range(80):
        result.step(hills, 0.05 * float(noise.standard_normal()))
        batch, learned = result.state.batch, ada_bkb.learned(result.state)
        assert batch is not None
        kept = record(result.points, result.values), result.cells, ada_bkb.dictionary(result.state), learned
        restored = ada_bkb.restore(space, config, 0, *kept).batch
        assert restored is not None
        assert restored.start == batch.start
        assert restored.drift == pytest.approx(batch.drift, rel=1e-6)
        redrawn += batch.start == len(result.values)
    assert 5 < redrawn < 75


def test_fixed_point_systems_report_no_gap() -> None:
    """The grid may miss a peak between its points, so its bounds prove nothing."""
    for config in (GP_UCB, BKB, RANDOM_BKB):
        assert ada_bkb.report(run(unit_space(2), config, hills, 20).state).gap is None
    assert ada_bkb.report(run(unit_space(2), ADA_GP_UCB, hills, 20).state).gap is not None


def test_grids_can_have_more_axes_than_numpy_arrays() -> None:
    axes = [ChoiceAxis(f"c{i}", ("only",)) for i in range(70)]
    points = Problem(Space((*axes, FloatAxis("x", 0.0, 1.0))), Config(points_per_axis=5), seed=0).fixed
    assert points is not None
    assert sorted(points[:, -1]) == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])


@pytest.mark.long
def test_ada_gp_ucb_never_prunes_and_starts_with_the_root() -> None:
    """Its leaves always cover the box without overlap."""
    result = run(unit_space(2), replace(ADA_GP_UCB, branching=3), hills, 50, noise=0.05)
    assert result.suggested[0] == "0"
    assert "pruned" not in result.cells.values()
    leaves = [box_of(key, 3, np.ones(2)) for key, status in result.cells.items() if status == "leaf"]
    assert sum(float(np.prod(high - low)) for low, high in leaves) == pytest.approx(1.0)
    paper = run(unit_space(2), replace(ADA_GP_UCB, branching=3, prunes=True), hills, 50, noise=0.05)
    assert "pruned" in paper.cells.values()


def test_ada_gp_ucb_variation_matches_the_formula() -> None:
    """Computes V_h term by term, as in the notes on the authors' code, with ln(1/delta)."""
    d, N, h_max, T, c1, delta, sigma, v1, rho = 3, 3, 5, 700, 2.0, 0.1, 0.7, 1.5, 0.6
    config = replace(
        ADA_GP_UCB, kernel="gaussian", lengthscale=sigma, v1=v1, rho=rho, branching=N, max_depth=h_max, delta=delta
    )
    problem = Problem(unit_space(d), replace(config, chaining=Chaining(T, c1)), seed=0)
    corner = np.zeros((1, d))
    for h in range(h_max + 1):
        g = v1 * rho**h / sigma
        c2 = 2 * math.log(2 * c1**2 * math.pi**2 / 6)
        c4 = c2 + 2 * math.log(T**2 * math.pi**2 / 6)
        c3 = sum(2 ** (1 - i) * math.sqrt(math.log(i)) for i in range(1, h_max + 1))
        c3 += math.sqrt(2 * d * math.log(2)) * sum(2 ** (1 - i) * math.sqrt(i) for i in range(1, h_max + 1))
        root = 2 * math.log(1 / delta) + c4 + h * math.log(N) + 4 * d * math.log(1 / g)
        expected = g * (math.sqrt(max(root, 0.0)) + c3)
        assert problem.variation(corner, corner + 1, corner + 0.5, h) == pytest.approx([expected])


def test_ada_bbkb_redraws_its_dictionary_when_the_drift_exceeds_c() -> None:
    """Computes the drift from the dense formula: 1 + the variances of the points since the draw, as of the draw."""
    config = replace(ADA_BBKB, batch_drift=3.0, outputs="raw", lengthscale=0.5)
    result, space = run(unit_space(2), config, hills, 0), unit_space(2)
    lengths: list[int] = []
    drawn = 0
    for step in range(60):
        fitted = ada_bkb.restore(
            space,
            replace(config, batch_drift=None),
            0,
            record(result.points[:drawn], result.values[:drawn]),
            result.cells,
            ada_bkb.dictionary(result.state) if drawn else (),
        )
        result.step(hills, noise=0.01)
        since = np.array(result.points[drawn:])
        drift = 1.0 + float((ada_bkb.predict(fitted, since).std ** 2).sum()) / config.ridge
        learned = ada_bkb.learned(result.state)
        assert learned is not None
        assert (learned["drawn_at"] == step + 1) == (drift > 3.0)
        if learned["drawn_at"] == step + 1:
            lengths.append(step + 1 - drawn)
            drawn = step + 1
    assert lengths[0] == 1
    assert max(lengths) > 3


def test_expected_improvement_is_that_of_the_best_value_of_a_cell() -> None:
    """Matches the integral. Where that underflows, the index still increases in mean and deviation."""
    rng = np.random.default_rng(0)
    mean, std, variation, best = rng.normal(size=40), rng.uniform(0.1, 2.0, 40), rng.uniform(0.0, 0.5, 40), 1.0
    tree = replace(listed(rng.random((40, 2))), variation=variation)
    found = index.expected_improvements(tree, mean, std, best)
    for mu, sigma, bound, value in zip(mean, std, variation, found, strict=True):
        improvement, _ = quad(lambda y, m=mu + bound, s=sigma: (y - best) * norm.pdf(y, m, s), best, best + 30)
        assert math.exp(value) == pytest.approx(improvement, rel=1e-6)
    level = replace(tree, variation=np.zeros(40))
    far = index.expected_improvements(level, -np.logspace(0, 8, 40), np.ones(40), best)
    assert np.isfinite(far).all()
    assert (np.diff(far) < 0).all()
    certain = index.expected_improvements(tree, mean, np.zeros(40), best)
    assert np.argmax(certain) == np.argmax(mean + variation)


REGRET_LIMITS = {"gp-ucb": 0.09, "bkb": 0.09, "random-bkb": 0.09, "ada-gp-ucb": 0.03, "ada-bbkb": 0.02, "ei": 0.02}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "ada-bbkb" else pytest.mark.long) for name in SYSTEMS]
)
def test_simple_regret_reaches_its_limit(name: str) -> None:
    """Median over three noise seeds after 60 results with noise 0.05, on two hills of height 1 and 0.7."""
    best = []
    for seed in range(3):
        result = run(unit_space(2), SYSTEMS[name], hills, 60, seed=seed, noise=0.05)
        recommended = ada_bkb.recommend(result.state)
        assert recommended is not None
        best.append(1.0 - hills(recommended.point))
    assert float(np.median(best)) < REGRET_LIMITS[name]
