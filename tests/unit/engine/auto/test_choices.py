"""Categories of many choices are split into groups first, so that a suggestion creates few cells."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.domain.tree import Box, Cut, box_of, root, whole
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.restore import restore
from adabkb_service.engine.axes import ChoiceAxis
from adabkb_service.engine.space import Space
from tests.samples import some
from tests.unit.engine.auto.drive import run


def space_of(*sizes: int) -> Space:
    return Space(tuple(ChoiceAxis(f"c{axis}", tuple(range(size))) for axis, size in enumerate(sizes)))


@pytest.mark.parametrize("size", some([2, 7, 64, 65, 81, 82, 980, 1000], [2, 64, 65, 1000]))
def test_every_choice_is_reached_by_at_most_two_splits(size: int) -> None:
    """The parts of a split are contiguous and do not overlap. Up to 64 choices need one split."""
    domain = Domain(space_of(size))
    for index in range(size):
        position, box, tree, cell, kept = np.array([domain.position(0, index)]), whole(domain), root(), 0, 0
        while box.can_be_cut()[0]:
            parts = [box.part(0, part) for part in range(box.parts(0))]
            edges = [parts[0].low[0], *(part.high[0] for part in parts)]
            assert [edges[0], edges[-1]] == [box.low[0], box.high[0]]
            assert [part.low[0] for part in parts] == edges[:-1]
            assert (np.diff(edges) > 0).all()
            tree = tree.cut([Cut(cell, 0, len(parts))])
            cell, box = tree.find(whole(domain), position)
            kept += len(parts)
        assert [box.low[0], box.high[0]] == [index, index + 1]
        assert box_of(domain, tree.key(cell)).low[0] == index
        assert int(tree.depth[cell]) == 1 if size <= 64 else int(tree.depth[cell]) <= 2
        assert kept <= (size if size <= 64 else 2 * math.ceil(math.sqrt(size)))


def test_a_suggestion_creates_few_cells_and_decides_all_categories() -> None:
    """Three categories of 980 choices: at most 189 cells for each suggestion, not one for each choice. A restored study
    has the same tree.
    """
    space, sizes = space_of(980, 980, 980), 3 * [980]
    result = run(space, lambda point: -float(np.abs(point - 0.3).sum()), 12)
    assert len(result.cells) <= 1 + 12 * sum(2 * math.ceil(math.sqrt(size)) for size in sizes)
    domain = Domain(space)
    for point in result.state.record.positions:
        _, box = result.state.tree.find(whole(domain), point)
        assert is_one_point(box)
        assert box.centroid().tolist() == point.tolist()
    again = restore(space, Config(), 0, result.state.record, result.cells, [], auto.learned(result.state))
    assert auto.suggest(again, np.zeros((0, 3))).cell == auto.suggest(result.state, np.zeros((0, 3))).cell


def is_one_point(box: Box) -> bool:
    return bool((box.high - box.low == 1.0).all())
