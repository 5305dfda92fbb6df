"""The partition tree on spaces of every kind of axis: cells partition their parents, and keys identify them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from adabkb_service.engine.auto.domain.domain import LISTED, Domain
from adabkb_service.engine.auto.domain.tree import LEAF, NARROWEST, PRUNED, Box, Cut, Tree, box_of, grown, root, whole
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.space import Space
from tests.unit.engine.auto.drive import run
from tests.unit.engine.auto.strategies import MIXED, spaces

Array = NDArray[np.float64]


def values_of(box: Box, axis: int) -> range:
    """Indices of a cell's values along a discrete axis."""
    return range(int(box.low[axis]), int(box.high[axis]))


@st.composite
def cells(draw: st.DrawFn) -> tuple[Domain, Tree, list[Box]]:
    """A tree of up to 25 random cuts, and the box of each cell."""
    domain = Domain(draw(spaces()))
    tree, boxes = root(), [whole(domain)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    for _ in range(draw(st.integers(0, 25))):
        cell = int(rng.choice(np.flatnonzero(tree.axis == LEAF)))
        axes = [axis for axis in range(domain.dimension) if boxes[cell].can_be_cut()[axis]]
        if axes:
            axis = int(rng.choice(axes))
            parts = boxes[cell].parts(axis)
            boxes += [boxes[cell].part(axis, part) for part in range(parts)]
            tree = tree.cut([Cut(cell, axis, parts)])
    return domain, tree, boxes


def positions(domain: Domain, seed: int, count: int) -> Array:
    """Points of the space, (count, d): exact, as parameters would give them."""
    rng = np.random.default_rng(seed)
    return np.array([domain.exact(u) for u in rng.random((count, domain.dimension))])


@given(cells())
def test_children_partition_their_parent(grove: tuple[Domain, Tree, list[Box]]) -> None:
    """Along the split axis, the parts are contiguous, without overlap, and not empty; along the others they equal the
    parent. A categorical axis is split into single choices.
    """
    domain, tree, boxes = grove
    for cell in np.flatnonzero(tree.axis >= 0):
        axis, parent = int(tree.axis[cell]), boxes[cell]
        parts = [boxes[child] for child in np.flatnonzero(tree.parent == cell)]
        assert len(parts) == parent.parts(axis) >= 2
        edges = [parts[0].low[axis], *(part.high[axis] for part in parts)]
        assert edges[0] == parent.low[axis]
        assert edges[-1] == parent.high[axis]
        assert all(part.low[axis] == edge for part, edge in zip(parts, edges, strict=False))
        assert (np.diff(edges) > 0).all()
        for part in parts:
            others = np.arange(domain.dimension) != axis
            assert (part.low[others] == parent.low[others]).all()
            assert (part.high[others] == parent.high[others]).all()
            if domain.categorical[axis]:
                assert len(values_of(part, axis)) == 1


@pytest.mark.long
@given(spaces(), st.data())
def test_every_discrete_value_is_in_the_part_that_part_of_returns(space: Space, data: st.DataObject) -> None:
    """For every value of small axes and many values of large ones, down to single values."""
    domain = Domain(space)
    discrete = [k for k, size in enumerate(domain.sizes) if size is not None]
    for axis in discrete:
        box = whole(domain)
        size = domain.sizes[axis]
        assert size is not None
        index = data.draw(st.integers(0, size - 1))
        position = domain.position(axis, index)
        assert domain.index(axis, position) == index
        cuts = 0
        while box.can_be_cut()[axis]:
            part = box.part_of(axis, position)
            assert index in values_of(box.part(axis, part), axis)
            box, cuts = box.part(axis, part), cuts + 1
        assert list(values_of(box, axis)) == [index]
        assert box.centroid()[axis] == position
        assert cuts <= size


@pytest.mark.long
@given(cells(), st.integers(0, 2**32))
def test_find_returns_the_cell_that_contains_the_point(grove: tuple[Domain, Tree, list[Box]], seed: int) -> None:
    """For 20 points: the cell is a leaf, its box is the recorded one, and the point is within its ends."""
    domain, tree, boxes = grove
    for point in positions(domain, seed, 20):
        cell, box = tree.find(whole(domain), point)
        assert tree.axis[cell] == LEAF
        assert (box.low == boxes[cell].low).all()
        assert (box.high == boxes[cell].high).all()
        low, high = box.ends()
        assert (low <= point).all()
        assert (point <= high).all()


@pytest.mark.long
@given(cells())
def test_keys_identify_cells(grove: tuple[Domain, Tree, list[Box]]) -> None:
    """Keys are distinct, and give the recorded box bit for bit."""
    domain, tree, boxes = grove
    keys = [tree.key(cell) for cell in range(tree.size)]
    assert len(set(keys)) == tree.size
    for key, box in zip(keys, boxes, strict=True):
        named = box_of(domain, key)
        assert (named.low == box.low).all()
        assert (named.high == box.high).all()


@pytest.mark.long
@given(cells())
def test_centroids_are_points_of_the_space_inside_their_cells(grove: tuple[Domain, Tree, list[Box]]) -> None:
    """A centroid survives decoding and encoding, is in its cell, and ``find`` returns its cell or a descendant."""
    domain, tree, boxes = grove
    for cell, box in enumerate(boxes):
        centroid = box.centroid()
        assert domain.space.encode(domain.space.decode(centroid)).tolist() == centroid.tolist()
        assert domain.space.problems(domain.space.decode(centroid)) == {}
        low, high = box.ends()
        assert (low <= centroid).all()
        assert (centroid <= high).all()
        assert (box.width() == high - low).all()
        found = tree.find(whole(domain), centroid)[0]
        while found > cell:
            found = int(tree.parent[found])
        assert found == cell


@given(cells(), st.integers(0, 2**32))
def test_tree_is_restored_from_its_recorded_cells(grove: tuple[Domain, Tree, list[Box]], seed: int) -> None:
    """Statuses by key, in order of creation, restore every array, with any uncut cells pruned."""
    tree = grove[1]
    rng = np.random.default_rng(seed)
    uncut = np.flatnonzero(tree.axis == LEAF).astype(np.int32)
    tree = tree.mark(uncut[rng.random(len(uncut)) < 0.3], PRUNED)
    names = {LEAF: "leaf", PRUNED: "pruned"}
    recorded = {tree.key(cell): names.get(int(tree.axis[cell]), "expanded") for cell in range(tree.size)}
    assert_equal(grown(recorded), tree)


def assert_equal(one: Tree, other: Tree) -> None:
    for name in ("axis", "parent", "part", "depth"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    cut = other.axis >= 0
    np.testing.assert_array_equal(one.first[cut], other.first[cut])


@pytest.mark.parametrize("steps", [0, 1, 30])
def test_cells_recorded_by_a_run_restore_its_tree(steps: int) -> None:
    """On every kind of axis."""
    result = run(MIXED, lambda u: float(np.sin(5 * u).sum()), steps)
    assert_equal(grown(result.cells), result.state.tree)
    assert grown({}).size == 1


@pytest.mark.long
@given(spaces())
def test_cells_of_one_value_are_not_split(space: Space) -> None:
    """``can_be_cut`` is false exactly along axes of one value, and for intervals that are too narrow."""
    domain = Domain(space)
    box = whole(domain)
    for axis, size in enumerate(domain.sizes):
        assert box.can_be_cut()[axis] == (size is None or size > 1)
        part = box
        while part.can_be_cut()[axis]:
            part = part.part(axis, part.parts(axis) - 1)
        if size is None:
            assert NARROWEST / 2 <= part.high[axis] - part.low[axis] <= NARROWEST
        else:
            assert part.high[axis] - part.low[axis] == 1


def test_all_points_of_a_finite_space_are_listed_once() -> None:
    space = Space(
        (IntAxis("n", 1, 20, "log", step=3), ChoiceAxis("c", ("a", "b", "c")), ChoiceAxis("b", (False, True)))
    )
    domain = Domain(space)
    listed = {tuple(space.decode(point).values()) for point in domain.whole.points}
    assert listed == set(product(range(1, 21, 3), ("a", "b", "c"), (False, True)))
    assert domain.whole.size == len(domain.whole.points) == len(listed)


@given(spaces(), st.integers(0, 2**32))
def test_snapping_gives_the_nearest_values(space: Space, seed: int) -> None:
    """Along listed axes, snapping gives the nearest value's position and is idempotent; elsewhere nothing moves."""
    domain = Domain(space)
    loose = np.random.default_rng(seed).random((10, space.dimension))
    snapped = domain.snap(loose)
    np.testing.assert_array_equal(domain.snap(snapped), snapped)
    for axis, values in enumerate(domain.values):
        if values is None:
            np.testing.assert_array_equal(snapped[:, axis], loose[:, axis])
        else:
            distance = np.abs(loose[:, axis, None] - values[None])
            np.testing.assert_allclose(np.abs(snapped[:, axis] - loose[:, axis]), distance.min(axis=1), atol=1e-15)


def test_axes_of_many_values_are_not_listed_but_all_values_are_in_the_tree() -> None:
    """Beyond LISTED values, an axis is searched as continuous; descending the tree still reaches any single value."""
    domain = Domain(Space((IntAxis("n", 0, 10 * LISTED), FloatAxis("x", 0.0, 1.0))))
    assert domain.values == (None, None)
    for index in (0, 1, 17, 5 * LISTED, 10 * LISTED):
        box = whole(domain)
        while box.can_be_cut()[0]:
            box = box.part(0, box.part_of(0, domain.position(0, index)))
        assert domain.space.decode(box.centroid())["n"] == index
