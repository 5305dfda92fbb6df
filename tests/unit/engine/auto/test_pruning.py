"""Which cells are pruned, and that they are restored when the hyperparameters change."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain.tree import LEAF, PRUNED, Cut, Tree, box_of, root, whole
from adabkb_service.engine.auto.model.additive import Additive
from adabkb_service.engine.auto.model.kernel import Kernel
from adabkb_service.engine.auto.model.likelihood import Hyperparameters
from adabkb_service.engine.auto.model.surrogate import exact
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.search import pruning
from adabkb_service.engine.auto.search.pruning import bounds_between, prunable, pruned
from adabkb_service.engine.auto.state.checkpoint import Checkpoint
from adabkb_service.engine.auto.state.state import State, fitted, incumbent
from adabkb_service.engine.axes import IntAxis
from adabkb_service.engine.space import Space
from tests.unit.engine.auto.drive import Run, sample_path
from tests.unit.engine.auto.strategies import spaces
from tests.unit.engine.drive import record
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]


def with_pruning(state: State) -> State:
    """The state with its tree pruned by its own posterior."""
    found = prunable(state)
    return replace(state, tree=pruned(state, found), checkpoint=state.checkpoint.with_widths(found))


@dataclass
class Draw:
    """A run on a function drawn from the prior, with its values at all points of a fine grid."""

    run: Run
    grid: Array
    values: Array
    lengthscales: Array

    @property
    def state(self) -> State:
        return self.run.state

    def with_known_hyperparameters(self) -> State:
        """The same results with the true hyperparameters."""
        state = self.state
        scale = 1.0 / (state.warp.spread * state.warp.scale)
        hyperparameters = Hyperparameters(self.lengthscales, 1e-6, scale**2)
        return with_pruning(
            fitted(state.problem, state.record, state.tree, Checkpoint(state.record.size, hyperparameters))
        )


def draw(seed: int, dimension: int, lengthscale: float, told: int, steps: int) -> Draw:
    """Random points first, then suggested ones. The grid has 300 points in one dimension, and 22 by 22 in two."""
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
    """10 functions in one dimension, 10 in two, of lengthscales 0.15, 0.4 and 1."""
    scales = (0.15, 0.4, 1.0)
    return [draw(seed, 1, scales[seed % 3], 8, 8) for seed in range(10)] + [
        draw(seed, 2, scales[seed % 3], 20, 8) for seed in range(10)
    ]


@pytest.mark.long
def test_pruning_keeps_the_optimum_of_functions_drawn_from_the_prior(draws: list[Draw]) -> None:
    """Cells are pruned in some runs. The cell of the function's best point is pruned in at most 1 of 20, with learned
    or known hyperparameters.
    """
    pruned = lost = 0
    for drawn in draws:
        for state in (drawn.state, drawn.with_known_hyperparameters()):
            tree = state.tree
            pruned += bool((tree.axis == PRUNED).any())
            cell, _ = tree.find(state.problem.root, drawn.grid[np.argmax(drawn.values)])
            lost += bool(tree.axis[cell] == PRUNED)
    assert pruned >= 10, "the test proves nothing if no cell is ever pruned"
    assert lost <= 2


def hill(u: Array) -> float:
    return -20.0 * float(((u - 0.53) ** 2).sum())


def dense(lengthscale: float, tree: Tree | None = None) -> State:
    """A parabola known at 65 evenly spaced points, and 64 equal cells, under a lengthscale that lets many be pruned."""
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
    return with_pruning(fitted(state.problem, record(X, [hill(u) for u in X]), tree, learned))


def test_pruned_cells_contain_no_good_point() -> None:
    """A parabola known at 65 points: more than half of the box is pruned, and no point of it is as good as the best
    result.
    """
    state = dense(1.0)
    tree, domain = state.tree, state.problem.domain
    boxes = [box_of(domain, tree.key(int(cell))) for cell in np.flatnonzero(tree.axis == PRUNED)]
    assert sum(float(box.high[0] - box.low[0]) for box in boxes) > 0.5
    grid, best = np.linspace(0, 1, 2001)[:, None], state.record.values.max()
    for box in boxes:
        assert all(hill(u) < best for u in grid[(grid[:, 0] >= box.low[0]) & (grid[:, 0] <= box.high[0])])


def test_pruned_cells_are_restored_when_hyperparameters_change() -> None:
    """Cells pruned under a lengthscale of 1 are leaves under one of 0.05, whose bounds are far wider. Under the old
    one, they are pruned again. Splits stay.
    """
    smooth = dense(1.0)
    rough = dense(0.05, smooth.tree)
    again = dense(1.0, rough.tree)
    pruned = smooth.tree.axis == PRUNED
    assert pruned.sum() > 30
    assert (rough.tree.axis[pruned] == LEAF).all()
    np.testing.assert_array_equal(again.tree.axis, smooth.tree.axis)
    np.testing.assert_array_equal(rough.tree.axis >= 0, smooth.tree.axis >= 0)


def test_checkpoint_reports_the_restored_cells() -> None:
    """A result that contradicts the smooth model makes a checkpoint due, which applies from the next result. That
    update names every cell that is a leaf again.
    """
    contradicted = auto.observe(dense(1.0), np.array([0.05]), 1e4).state
    update = auto.observe(contradicted, np.array([0.95]), 0.0)
    before, after = contradicted.tree, update.state.tree
    back = np.flatnonzero((before.axis == PRUNED) & (after.axis == LEAF))
    assert len(back) > 10
    assert {after.key(int(cell)) for cell in back} == {key for key, mark in update.cells.items() if mark == "leaf"}


def test_pruning_does_not_depend_on_earlier_pruning() -> None:
    """Marks depend only on hyperparameters, results and splits: they are the same whether all uncut cells were pruned
    before, or none.
    """
    state = dense(0.2)
    uncut = np.flatnonzero(state.tree.axis < 0).astype(np.int32)
    one, other = (with_pruning(replace(state, tree=state.tree.mark(uncut, mark))) for mark in (LEAF, PRUNED))
    np.testing.assert_array_equal(one.tree.axis, other.tree.axis)
    assert (one.tree.axis == PRUNED).any()
    assert (one.tree.axis == LEAF).any()


def test_incumbents_cell_is_never_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The incumbent has the best lower bound. With a norm of 0, bounds are far too small, and only this rule protects
    its cell.
    """
    monkeypatch.setattr(pruning, "NORM_SAFETY", 0.0)
    count = 0
    for seed in range(3):
        centre = np.random.default_rng(seed).random(2)
        result = Run(auto.start(unit_space(2), Config(), seed))
        for _ in range(25):
            prepared = auto.prepare(result.state).prepared
            result.step(lambda u, centre=centre: -20.0 * float(np.abs(u - centre).sum()))  # type: ignore[misc]
            state = result.state
            count += int((state.tree.axis == PRUNED).sum())
            if prepared is not None:
                best = state.record.positions[prepared.pruning.incumbent]
                cell, _ = state.tree.find(state.problem.root, best)
                assert state.tree.axis[cell] == LEAF
    assert count > 50, "the test proves nothing if no cell is ever pruned"


def test_recommended_points_cell_is_a_leaf() -> None:
    """For every lengthscale, however much is pruned."""
    for lengthscale in (3.0, 1.0, 0.2, 0.05):
        state = dense(lengthscale)
        row = incumbent(state)
        assert row is not None
        assert state.tree.axis[state.tree.find(state.problem.root, state.record.positions[row])[0]] == LEAF


@given(spaces(), st.integers(0, 2**32))
def test_box_bounds_exceed_the_posterior_mean_in_the_box(space: Space, seed: int) -> None:
    """With the mean's own norm and beta 0, with and without an additive part, at 30 points of random boxes of any
    space. (By Cauchy-Schwarz; the distance is measured to the farthest point of the box.)
    """
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
