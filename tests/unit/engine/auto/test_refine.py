"""The refinement, which replaces a target by a centroid that is almost as good."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from adabkb_service.engine import record as records
from adabkb_service.engine.auto.domain import domain as domains
from adabkb_service.engine.auto.domain.domain import LISTED, Domain
from adabkb_service.engine.auto.domain.tree import LEAF, PRUNED, Tree, root, whole
from adabkb_service.engine.auto.search import refine as module
from adabkb_service.engine.auto.search.refine import CUTS_PER_AXIS, NEAR, Refined, cells_changed, refine
from adabkb_service.engine.axes import ChoiceAxis
from adabkb_service.engine.space import Space
from tests.samples import some
from tests.unit.engine.auto.drive import run
from tests.unit.engine.auto.reference import AnyBound
from tests.unit.engine.auto.strategies import MIXED, spaces
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]


SLOPE = 20.0


def bumps(seed: int, dimension: int) -> Callable[[Array], Array]:
    """A smooth random bound of positions (k, d), with a slope of at most SLOPE along any axis."""
    rng = np.random.default_rng(seed)
    centres, heights = rng.random((5, dimension)), rng.normal(size=5)

    def bound(X: Array) -> Array:
        values: Array = np.exp(-4.0 * ((X[:, None] - centres) ** 2).sum(axis=2)) @ heights
        return values

    return bound


def refined(
    domain: Domain,
    target: Array,
    tolerance: float,
    bound: Callable[[Array], Array],
    taken: Array,
    tree: Tree | None = None,
) -> Refined:
    return refine(
        root() if tree is None else tree,
        whole(domain),
        target,
        tolerance,
        AnyBound(bound),
        lambda point: records.holds(taken, point),
    )


def assert_centroid(domain: Domain, found: Refined) -> None:
    """The point is the centroid of a leaf, whose ancestors up to the first split are the split cells."""
    cell, box = found.tree.find(whole(domain), found.point)
    assert cell == found.cell
    assert found.tree.axis[cell] < 0
    assert box.centroid().tolist() == found.point.tolist()
    for above in reversed([cut.cell for cut in found.cuts]):
        cell = int(found.tree.parent[cell])
        assert cell == above


@given(spaces(), st.integers(0, 2**32), st.sampled_from([1e-4, 0.01, 0.3]))
def test_refinement_ends_at_a_centroid_that_is_almost_as_good(space: Space, seed: int, tolerance: float) -> None:
    """The bound at the centroid is at most the tolerance below that at the target, unless the cap on splits is reached,
    or the target nearly equals the centroid.
    """
    domain = Domain(space)
    target = domain.snap(np.random.default_rng(seed).random((1, space.dimension)))[0]
    bound = bumps(seed, space.dimension)
    found = refined(domain, target, tolerance, bound, np.zeros((0, space.dimension)))
    assert_centroid(domain, found)
    shortfall = float(bound(target[None])[0] - bound(found.point[None])[0])
    # Along an axis that is not listed, the target may lie anywhere in its value's bin.
    off = max(NEAR, 1 / LISTED if any(size and size > LISTED for size in domain.sizes) else 0.0)
    assert found.capped or shortfall <= tolerance + SLOPE * space.dimension * off
    assert len(found.cuts) <= CUTS_PER_AXIS * space.dimension
    assert found.capped <= (len(found.cuts) == CUTS_PER_AXIS * space.dimension)


def test_smaller_tolerances_need_more_splits() -> None:
    """If the bound is flat, the root's centroid suffices; otherwise, the tree is split towards the target."""
    domain, target = Domain(unit_space(2)), np.array([0.8, 0.3])
    nothing = np.zeros((0, 2))

    def bound(X: Array) -> Array:
        values: Array = -((X - target) ** 2).sum(axis=1)
        return values

    assert refined(domain, target, 1.0, bound, nothing).cuts == []
    cuts = [len(refined(domain, target, tolerance, bound, nothing).cuts) for tolerance in (0.1, 0.01, 0.001)]
    assert 0 < cuts[0] < cuts[1] < cuts[2]


@pytest.mark.parametrize("steep", [0, 1, 2])
def test_axis_with_the_largest_gain_is_split_first(steep: int) -> None:
    """The step to the target gains along each of three axes, ten times as much along one of them."""
    domain, target = Domain(unit_space(3)), np.array([0.9, 0.83, 0.1])
    weights = np.where(np.arange(3) == steep, 10.0, 1.0)
    found = refined(domain, target, 1e-4, lambda X: -((X - target) ** 2) @ weights, np.zeros((0, 3)))
    assert found.tree.axis[0] == steep
    assert {int(cut.axis) for cut in found.cuts} == {0, 1, 2}


def test_axis_along_which_the_bound_is_flat_is_not_split() -> None:
    """The bound depends on the second of three axes alone: all splits are along it."""
    domain, target = Domain(unit_space(3)), np.array([0.9, 0.83, 0.1])
    found = refined(domain, target, 1e-5, lambda X: -((X[:, 1] - 0.83) ** 2), np.zeros((0, 3)))
    assert len(found.cuts) > 3
    assert {int(cut.axis) for cut in found.cuts} == {1}


@given(spaces(), st.integers(0, 2**32))
def test_refinement_never_ends_at_a_taken_point(space: Space, seed: int) -> None:
    """12 targets in turn, each with a tolerance so large that the present centroid would do: no point is repeated."""
    domain, bound = Domain(space), bumps(seed, space.dimension)
    rng = np.random.default_rng(seed)
    tree, taken = root(), np.zeros((0, space.dimension))
    for _ in range(12):
        target = domain.exact(rng.random(space.dimension))
        if records.holds(taken, target):
            continue
        found = refined(domain, target, 100.0, bound, taken, tree)
        assert_centroid(domain, found)
        assert not records.holds(taken, found.point)
        tree, taken = found.tree, np.vstack([taken, found.point])


def test_refinement_works_for_a_target_next_to_a_taken_centroid() -> None:
    """The taken centroid is 1e-7 away, less than NEAR: the tree is split until another centroid is found."""
    domain, centre = Domain(unit_space(2)), np.array([[0.5, 0.5]])
    target = np.array([0.5 + 1e-7, 0.5])
    found = refined(domain, target, 0.1, lambda X: -np.abs(X - target).sum(axis=1), centre)
    assert_centroid(domain, found)
    assert not records.holds(centre, found.point)


def test_refinement_reports_that_it_reached_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a corner, which no centroid reaches, and with zero tolerance."""
    domain, target = Domain(unit_space(2)), np.array([1.0, 1.0])
    monkeypatch.setattr(module, "CUTS_PER_AXIS", 2)
    found = refined(domain, target, 0.0, lambda X: X.sum(axis=1), np.zeros((0, 2)))
    assert found.capped
    assert len(found.cuts) == 4
    assert_centroid(domain, found)


def test_cap_does_not_end_at_a_taken_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """One split is allowed, but the next two centroids are taken: refinement continues to the first free one."""
    domain, target = Domain(unit_space(1)), np.array([1.0])
    monkeypatch.setattr(module, "CUTS_PER_AXIS", 1)
    taken = np.array([[0.5], [0.75], [0.875]])
    found = refined(domain, target, 0.0, lambda X: X.sum(axis=1), taken)
    assert found.point.tolist() == [0.9375]
    assert found.capped


def test_target_at_an_edge_is_suggested_itself_if_all_centroids_near_it_are_taken() -> None:
    """The cells that contain the edge are cut until they are too narrow."""
    domain, target = Domain(unit_space(1)), np.array([1.0])
    bound = AnyBound(lambda X: X.sum(axis=1))
    found = refine(root(), whole(domain), target, 0.0, bound, lambda point: bool(point[0] < 1.0))
    assert found.point.tolist() == [1.0]
    assert found.capped


def test_target_itself_is_suggested_if_the_tree_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of three cuts adds two cells to the first one."""
    domain, target = Domain(unit_space(1)), np.array([0.9])
    monkeypatch.setattr(module, "MAX_CELLS", 7)
    found = refined(domain, target, 0.0, lambda X: -np.abs(X - target).sum(axis=1), np.zeros((0, 1)))
    assert (found.tree.size, found.point.tolist(), found.capped) == (7, [0.9], True)


TWO_CHOICES = Space((ChoiceAxis("a", ("x", "y")), ChoiceAxis("b", ("x", "y"))))


@pytest.mark.parametrize("space", [unit_space(1), TWO_CHOICES], ids=["float", "choices"])
def test_target_itself_is_suggested_if_its_key_would_be_too_long(monkeypatch: pytest.MonkeyPatch, space: Space) -> None:
    """Each cut adds four characters to a key."""
    monkeypatch.setattr(domains, "MAX_KEY_LENGTH", 6)
    domain = Domain(space)
    target = domain.exact(np.full(space.dimension, 0.9))
    found = refined(domain, target, 0.0, lambda X: -np.abs(X - target).sum(axis=1), np.zeros((0, space.dimension)))
    assert (found.tree.key(found.cell), found.point.tolist()) == ("0.0-1", target.tolist())


def test_cut_cells_are_expanded_and_their_parts_are_leaves() -> None:
    """A pruned cell that the search chooses becomes a leaf again. Other cells do not change."""
    domain, nothing = Domain(unit_space(1)), np.zeros((0, 1))

    def bound(X: Array) -> Array:
        values: Array = -np.abs(X - 0.9).sum(axis=1)
        return values

    found = refined(domain, np.array([0.9]), 0.1, bound, nothing)
    tree, key, cells = cells_changed(found)
    assert key == "0.0-1.0-1"
    assert cells == {
        "0": "expanded",
        "0.0-0": "leaf",
        "0.0-1": "expanded",
        "0.0-1.0-0": "leaf",
        "0.0-1.0-1": "leaf",
    }
    again = refined(domain, np.array([0.9]), 0.1, bound, nothing, tree)
    assert cells_changed(again)[1:] == (key, {})
    pruned = tree.mark(np.array([found.cell]), PRUNED)
    tree, *changed = cells_changed(refined(domain, np.array([0.9]), 0.1, bound, nothing, pruned))
    assert changed == [key, {key: "leaf"}]
    assert tree.axis[found.cell] == LEAF


@pytest.mark.parametrize(
    "space", some([unit_space(1), unit_space(2), unit_space(6), MIXED], [MIXED]), ids=["1-d", "2-d", "6-d", "mixed"]
)
def test_keys_stay_short(space: Space) -> None:
    """80 steps towards a sharp optimum, where cells are split deepest, give no key of 2000 characters."""
    result = run(space, lambda u: -float(np.abs(u - 0.377).sum()), 80)
    assert len(result.cells) > 60
    assert max(map(len, result.cells)) < 2000
