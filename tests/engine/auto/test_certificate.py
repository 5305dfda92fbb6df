"""What the certificate promises, what it prunes, and that pruned cells come back when the hyperparameters change."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from adabkb_service.engine.auto import certificate
from adabkb_service.engine.auto.additive import Additive
from adabkb_service.engine.auto.certificate import bounds_between, certify, pruned
from adabkb_service.engine.auto.checkpoint import Checkpoint
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.kernel import Kernel
from adabkb_service.engine.auto.likelihood import Hyperparameters
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.state import State, fitted, incumbent
from adabkb_service.engine.auto.surrogate import exact
from adabkb_service.engine.auto.tree import LEAF, PRUNED, Cut, Tree, box_of, root, whole
from adabkb_service.engine.axes import IntAxis
from adabkb_service.engine.space import Space
from tests.engine.auto.drive import Run, run, sample_path
from tests.engine.auto.strategies import spaces
from tests.engine.drive import record
from tests.engine.strategies import unit_space

Array = NDArray[np.float64]


def certified(state: State) -> State:
    """With the certificate of its own posterior."""
    found = certify(state)
    return replace(state, tree=pruned(state, found), checkpoint=state.checkpoint.certified(found))


@dataclass
class Draw:
    """A run on a function drawn from the prior, known at every point of a fine grid."""

    run: Run
    grid: Array
    values: Array
    lengthscales: Array

    @property
    def state(self) -> State:
        return self.run.state

    def with_known_hyperparameters(self) -> State:
        """The certificate of the same results with the hyperparameters that the function was drawn with."""
        state = self.state
        scale = 1.0 / (state.warp.spread * state.warp.scale)
        hyperparameters = Hyperparameters(self.lengthscales, 1e-6, scale**2)
        return certified(
            fitted(state.problem, state.record, state.tree, Checkpoint(state.record.size, hyperparameters))
        )


def draw(seed: int, dimension: int, lengthscale: float, told: int, steps: int) -> Draw:
    """Points told at random, then suggested ones; of 300 grid points in one dimension, 22 by 22 in two."""
    count = {1: 300, 2: 22}[dimension]
    space = Space(tuple(IntAxis(f"n{i}", 0, count - 1) for i in range(dimension)))
    state = auto.start(space, Config(), seed)
    grid, lengthscales = state.problem.domain.whole.points, np.full(dimension, lengthscale)
    rng = np.random.default_rng([seed, dimension])
    values = sample_path(rng, grid, lengthscales)
    known = {position.tobytes(): float(value) for position, value in zip(grid, values, strict=True)}
    result = Run(state)
    for row in rng.choice(len(grid), told, replace=False):
        result.tell(grid[row], float(values[row]))
    for _ in range(steps):
        result.step(lambda u: known[u.tobytes()])
    return Draw(result, grid, values, lengthscales)


@pytest.fixture(scope="module")
def draws() -> list[Draw]:
    """20 functions in one dimension, 20 in two, of lengthscales 0.15, 0.4 and 1."""
    scales = (0.15, 0.4, 1.0)
    return [draw(seed, 1, scales[seed % 3], 8, 8) for seed in range(20)] + [
        draw(seed, 2, scales[seed % 3], 20, 8) for seed in range(20)
    ]


@pytest.mark.parametrize("hyperparameters", ["learned", "known"])
def test_the_certificate_holds_on_functions_drawn_from_the_prior(draws: list[Draw], hyperparameters: str) -> None:
    """delta = 0.05, 40 functions: the maximum is below ``upper``, and the best result within ``gap`` of it, in at
    least 36; and the promise is not empty: a quarter of the gaps are below the range."""
    covered = honest = informative = 0
    for drawn in draws:
        state = drawn.state if hyperparameters == "learned" else drawn.with_known_hyperparameters()
        gap = auto.report(state).gap
        assert gap is not None
        best, maximum = max(drawn.run.values), float(drawn.values.max())
        covered += bool(maximum <= state.checkpoint.upper + 1e-9)
        honest += maximum - best <= gap + 1e-9
        informative += bool(gap < np.ptp(drawn.values))
    assert covered >= 36
    assert honest >= 36
    assert informative >= 10


def test_the_optimum_survives_pruning_on_functions_drawn_from_the_prior(draws: list[Draw]) -> None:
    """Cells are pruned in some runs; that of the function's best point in at most 2 of 40, learned or known."""
    pruned = lost = 0
    for drawn in draws:
        for state in (drawn.state, drawn.with_known_hyperparameters()):
            tree = state.tree
            pruned += bool((tree.axis == PRUNED).any())
            cell, _ = tree.find(state.problem.root, drawn.grid[np.argmax(drawn.values)])
            lost += bool(tree.axis[cell] == PRUNED)
    assert pruned >= 20, "the property is empty if nothing is ever pruned"
    assert lost <= 4


def hill(u: Array) -> float:
    return -20.0 * float(((u - 0.53) ** 2).sum())


def dense(lengthscale: float, tree: Tree | None = None) -> State:
    """A parabola known at 65 even points, and 64 even cells, under a lengthscale: enough for much to be pruned."""
    state = auto.start(unit_space(1), Config(), 0)
    if tree is None:
        tree, level = root(), [0]
        for _ in range(6):
            children: list[int] = []
            for cell in level:
                tree = tree.cut([Cut(cell, 0, 2)])
                children += np.flatnonzero(tree.parent == cell).tolist()
            level = children
    X = np.linspace(0, 1, 65)[:, None]
    learned = Checkpoint(65, Hyperparameters(np.array([lengthscale]), 1e-6, 1.0))
    return certified(fitted(state.problem, record(X, [hill(u) for u in X]), tree, learned))


def test_pruned_cells_hold_no_good_point() -> None:
    """A parabola known at 65 points: more than half of the box is pruned, and no point of it is as good as the best
    result; the maximum is within the gap of it."""
    state = dense(1.0)
    tree, domain = state.tree, state.problem.domain
    boxes = [box_of(domain, tree.key(int(cell))) for cell in np.flatnonzero(tree.axis == PRUNED)]
    assert sum(float(box.high[0] - box.low[0]) for box in boxes) > 0.5
    grid, best = np.linspace(0, 1, 2001)[:, None], state.record.values.max()
    for box in boxes:
        assert all(hill(u) < best for u in grid[(grid[:, 0] >= box.low[0]) & (grid[:, 0] <= box.high[0])])
    gap = auto.report(state).gap
    assert gap is not None
    assert 0.0 <= 0.0 - best <= gap
    assert state.checkpoint.upper >= 0.0


def test_pruned_cells_come_back_when_the_constants_change() -> None:
    """What a lengthscale of 1 pruned is back, cell by cell, under one of 0.05, which makes bounds far wider; under the
    old one it is pruned as before. The cuts stay."""
    smooth = dense(1.0)
    rough = dense(0.05, smooth.tree)
    again = dense(1.0, rough.tree)
    pruned = smooth.tree.axis == PRUNED
    assert pruned.sum() > 30
    assert (rough.tree.axis[pruned] == LEAF).all()
    np.testing.assert_array_equal(again.tree.axis, smooth.tree.axis)
    np.testing.assert_array_equal(rough.tree.axis >= 0, smooth.tree.axis >= 0)


def test_a_checkpoint_reports_the_cells_that_come_back() -> None:
    """Through the policy: a result that contradicts the smooth model makes a checkpoint due, which takes effect with
    the next result; that update names every cell that is a leaf again."""
    contradicted = auto.observe(dense(1.0), np.array([0.05]), 1e4).state
    update = auto.observe(contradicted, np.array([0.95]), 0.0)
    before, after = contradicted.tree, update.state.tree
    back = np.flatnonzero((before.axis == PRUNED) & (after.axis == LEAF))
    assert len(back) > 10
    assert {after.key(int(cell)) for cell in back} == {key for key, mark in update.cells.items() if mark == "leaf"}


def test_what_was_pruned_before_does_not_matter() -> None:
    """The marks and the bound are functions of the hyperparameters, the results and the cuts: with all uncut cells
    pruned, or none, the certificate is the same."""
    state = dense(0.2)
    uncut = np.flatnonzero(state.tree.axis < 0).astype(np.int32)
    one, other = (certified(replace(state, tree=state.tree.mark(uncut, mark))) for mark in (LEAF, PRUNED))
    np.testing.assert_array_equal(one.tree.axis, other.tree.axis)
    assert one.checkpoint.upper == other.checkpoint.upper
    assert (one.tree.axis == PRUNED).any()
    assert (one.tree.axis == LEAF).any()


def test_the_incumbents_cell_is_never_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the best lower bound, at any checkpoint, though bounds are far too small (a norm of 0): all else may go,
    and only the rule protects it."""
    monkeypatch.setattr(certificate, "NORM_SAFETY", 0.0)
    pruned = 0
    for seed in range(3):
        centre = np.random.default_rng(seed).random(2)
        result = Run(auto.start(unit_space(2), Config(), seed))
        for _ in range(25):
            prepared = auto.prepare(result.state).prepared
            result.step(lambda u, centre=centre: -20.0 * float(np.abs(u - centre).sum()))  # type: ignore[misc]
            state = result.state
            pruned += int((state.tree.axis == PRUNED).sum())
            if prepared is not None:
                best = state.record.positions[prepared.certificate.incumbent]
                cell, _ = state.tree.find(state.problem.root, best)
                assert state.tree.axis[cell] == LEAF
    assert pruned > 50, "the property is empty if nothing is ever pruned"


def test_the_recommended_points_cell_is_a_leaf() -> None:
    """Under every lengthscale, much pruned or nothing."""
    for lengthscale in (3.0, 1.0, 0.2, 0.05):
        state = dense(lengthscale)
        row = incumbent(state)
        assert row is not None
        assert state.tree.axis[state.tree.find(state.problem.root, state.record.positions[row])[0]] == LEAF


@given(spaces(), st.integers(0, 2**32))
def test_bounds_of_boxes_bound_the_posterior_mean_over_them(space: Space, seed: int) -> None:
    """With the mean's own norm and beta 0, with an additive part or without: at 30 points of any box of a space of any
    kind the posterior mean is below the box's bound. (Cauchy and Schwarz: the reach of the box is measured to its
    farthest point.)"""
    rng = np.random.default_rng(seed)
    state = auto.start(space, Config(), 0)
    domain, d = state.problem.domain, space.dimension
    part = Additive(rng.dirichlet(np.ones(d + 1))[1:], float(rng.uniform(0.05, 1.0))) if seed % 2 else None
    kernel = Kernel(np.exp(rng.uniform(np.log(0.1), np.log(3.0), d)), domain.categorical, part)
    X = np.array([domain.exact(u) for u in rng.random((10, d))])
    view = exact(kernel, 1.0, X, rng.normal(size=10), np.full(10, 0.1))
    norm = float(np.sqrt(view.weights @ (kernel.gram(view.inducing, view.inducing)) @ view.weights))
    box = whole(domain)
    for _ in range(8):
        points = np.array([domain.exact(u) for u in rng.random((30, d))])
        low, high = box.ends()
        inside = domain.snap(low + points * (high - low))
        inside = np.vstack([np.clip(inside, low, high), low, high])
        categorical = kernel.categorical & (high > low)
        inside[:, categorical] = np.array([box.centroid()])[:, categorical]  # its choices are in the middles of bins
        assert (view.mean(inside) <= bounds_between(view, 0.0, norm, low[None], high[None])[0] + 1e-9).all()
        axes = np.flatnonzero(box.can_be_cut())
        if not len(axes):
            break
        axis = int(rng.choice(axes))
        box = box.part(axis, int(rng.integers(box.parts(axis))))


@pytest.mark.parametrize("scale", [1000.0, 1e-7])
def test_the_gap_is_in_the_users_units(scale: float) -> None:
    """Costs of log-normal spread, so that the warp bends: results times 1000, gap, bounds and ``upper`` times 1000."""

    def objective(u: Array) -> float:
        return -float(np.exp(4 * ((u - 0.3) ** 2).sum()))

    plain, scaled = (run(unit_space(2), lambda u, s=s: s * objective(u), 20, seed=1) for s in (1.0, scale))  # type: ignore[misc]
    assert scaled.suggested == plain.suggested
    assert plain.state.warp.power != 1.0
    one, other = auto.report(plain.state), auto.report(scaled.state)
    assert one.gap is not None
    assert one.gap > 0
    assert other.gap == pytest.approx(scale * one.gap, rel=1e-3)
    assert other.best_lcb == pytest.approx(scale * one.best_lcb, rel=1e-3) if one.best_lcb else False
    assert scaled.state.checkpoint.upper == pytest.approx(scale * plain.state.checkpoint.upper, rel=1e-3)


def test_the_gap_narrows_as_the_objective_becomes_known() -> None:
    """A parabola in one dimension: after 40 steps the gap is below a tenth of what it was after 5."""
    result = Run(auto.start(unit_space(1), Config(), 0))
    assert auto.report(result.state).gap is None
    gaps = []
    for _ in range(40):
        result.step(hill)
        gaps.append(auto.report(result.state).gap)
    early, late = gaps[4], gaps[-1]
    assert early is not None
    assert late is not None
    assert late < early / 10
