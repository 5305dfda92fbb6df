"""The tree is a partition: children cover their parent, and leaves and pruned cells cover the box."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabkb_service.engine.cells import box_of, child_keys, radius, split
from adabkb_service.engine.paper.config import Config
from tests.samples import some
from tests.unit.engine.drive import run
from tests.unit.engine.strategies import unit_space


@settings(max_examples=100)
@given(
    branching=st.integers(2, 7),
    sides=st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=6),
    seed=st.integers(0, 1000),
)
def test_children_partition_the_parent_along_its_longest_side(branching: int, sides: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.random(len(sides))
    high = low + sides
    scale = rng.uniform(0.1, 10.0, len(sides))
    (lows,), (highs,) = split(low[None], high[None], branching, scale)
    axis = int(np.argmax((high - low) * scale))
    assert lows[0].tolist() == low.tolist()
    assert highs[-1].tolist() == high.tolist()
    assert highs[:-1, axis].tolist() == lows[1:, axis].tolist(), "neighbours share their edge exactly"
    np.testing.assert_allclose((highs - lows)[:, axis], (high - low)[axis] / branching, rtol=1e-6)
    others = np.arange(len(sides)) != axis
    assert (lows[:, others] == low[others]).all()
    assert (highs[:, others] == high[others]).all()


def test_equal_sides_are_split_in_axis_order_despite_rounding() -> None:
    low, high = np.zeros((1, 2)), np.array([[1.0, 1.0 + 1e-15]])
    (lows,), _ = split(low, high, 3, np.ones(2))
    assert lows[1].tolist() == [1.0 / 3, 0.0]


def test_radius_is_half_the_diagonal_at_the_centre_and_larger_elsewhere() -> None:
    low, high = np.zeros((1, 2)), np.array([[3.0, 4.0]])
    assert radius(low, high, (low + high) / 2, np.ones(2)).tolist() == [2.5]
    assert radius(low, high, low, np.ones(2)).tolist() == [5.0]
    assert radius(low, high, low, np.array([2.0, 1.0])).tolist() == [np.hypot(6.0, 4.0)]


@pytest.mark.parametrize("branching", [2, 3, 4])
@pytest.mark.parametrize("norm_bound", some([0.3, 3.0], [0.3]))
def test_leaves_and_pruned_cells_partition_the_box(branching: int, norm_bound: float) -> None:
    """Each of 2,000 random positions lies in exactly one leaf or pruned cell, after a run that prunes."""
    space = unit_space(2)
    config = Config(branching=branching, norm_bound=norm_bound, beta=0.1, lengthscale=0.4, max_depth=9)
    result = run(space, config, lambda u: -float(((u - 0.3) ** 2).sum()), 40)
    statuses = set(result.cells.values())
    assert "pruned" in statuses or norm_bound > 1
    scale = result.state.problem.side_scale
    boxes = [box_of(key, branching, scale) for key, status in result.cells.items() if status != "expanded"]
    low, high = np.array([b[0] for b in boxes]), np.array([b[1] for b in boxes])
    positions = np.random.default_rng(0).random((2000, 2))
    held = ((low <= positions[:, None]) & (positions[:, None] < high)).all(axis=2).sum(axis=1)
    assert (held == 1).all()


def test_boxes_of_the_engine_match_their_keys() -> None:
    result = run(unit_space(3), Config(branching=3, beta=0.1, max_depth=6), lambda u: float(u.sum()), 25)
    tree = result.state.tree
    for cell in tree.leaves:
        low, high = box_of(str(tree.keys[cell]), 3, result.state.problem.side_scale)
        assert low.tolist() == tree.low.array[cell].tolist()
        assert high.tolist() == tree.high.array[cell].tolist()


@pytest.mark.parametrize(("branching", "shares"), [(2, False), (3, True), (4, False), (5, True)])
def test_middle_child_shares_its_parents_point_only_for_odd_n(branching: int, shares: bool) -> None:
    """Results at the parent count for the middle child by construction, without comparison of floats."""
    result = run(unit_space(2), Config(branching=branching, beta=0.01, max_depth=4), lambda u: float(u[0]), 12)
    tree = result.state.tree
    points = {str(k): int(p) for k, p in zip(tree.keys, tree.point, strict=True)}
    families = [k for k in points if all(c in points for c in child_keys(k, branching))]
    assert families
    for parent in families:
        twins = [c for c in child_keys(parent, branching) if points[c] == points[parent]]
        assert twins == ([f"{parent}.{branching // 2}"] if shares else [])
