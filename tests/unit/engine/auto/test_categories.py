"""Choices of categorical parameters with the ``auto`` profile: each is tried early or excluded by evidence."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition import betas
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.domain.tree import whole
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.record import holds
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from tests.samples import some
from tests.unit.engine.auto.drive import Run, run

Array = NDArray[np.float64]

SOLVENTS = ChoiceAxis("solvent", tuple("abcdefgh"))
BASES, LIGANDS = ChoiceAxis("base", tuple("abcd")), ChoiceAxis("ligand", tuple("abcdefghijkl"))
AMOUNTS = (FloatAxis("x", 0.0, 1.0), FloatAxis("y", 0.0, 1.0))


class Laboratory:
    """One hill per combination of choices, with random height and position, and noise of 0.02."""

    def __init__(self, space: Space, seed: int) -> None:
        self.rng, self.categorical = np.random.default_rng(seed), Domain(space).categorical
        self.heights: dict[bytes, float] = {}
        self.tops: dict[bytes, Array] = {}

    def __call__(self, point: Array) -> float:
        key = point[self.categorical].tobytes()
        if key not in self.heights:
            self.heights[key], self.tops[key] = self.rng.uniform(0.2, 1.0), self.rng.uniform(0.2, 0.8, len(point))
        away = (point - self.tops[key])[~self.categorical]
        return float(self.heights[key] * np.exp(-4.0 * (away**2).sum()) + 0.02 * self.rng.normal())


@pytest.mark.parametrize(
    "axes",
    [(*AMOUNTS, SOLVENTS), (*AMOUNTS, BASES, ChoiceAxis("acid", tuple("abcd"))), (LIGANDS, BASES)],
    ids=["8", "4 x 4", "12 x 4, without numbers"],
)
def test_every_choice_is_tried_or_excluded_early(
    axes: tuple[FloatAxis | ChoiceAxis, ...],
) -> None:
    """Within a third of a budget of six evaluations for each choice. A choice is excluded if its bound, at three
    deviations, is below the mean at the best point.
    """
    space = Space(axes)
    most = Domain(space).most_choices
    for seed in range(3):
        result = run(space, Laboratory(space, seed), 2 * most + 1, seed=seed)
        state, untried = result.state, Domain(space).untried_choices(np.array(result.points))
        if untried is None:
            continue
        at = Domain(space).snap(np.random.default_rng(seed).random((2000, space.dimension)))
        best = state.surrogate.mean(state.record.positions).max()
        assert state.surrogate.ucb(at[untried(at)], betas.UNTRIED).max() < best


@pytest.mark.parametrize("own", some([0, 1], [1]))
def test_every_choice_is_tried_or_excluded_on_plates(own: int) -> None:
    """Also if each second point has a value in common with the one before, whatever the number of earlier results."""
    space = Space((*AMOUNTS, LIGANDS))
    domain = Domain(space)
    for seed in range(3):
        evaluate, state = Laboratory(space, seed), auto.start(space, Config(), seed)
        for k in range(own):
            point = domain.exact(np.random.default_rng([seed, k]).random(3))
            state = auto.observe(state, point, evaluate(point)).state
        for _ in range(domain.most_choices):
            first = auto.suggest(state, np.zeros((0, 3)))
            on_plate = Slice(space, {"x": space.decode(first.point)["x"]})
            second = next(auto.suggestions_within(first.state, on_plate, first.point[None]))
            state = second.state
            for point in (first.point, second.point):
                state = auto.observe(state, point, evaluate(point)).state
        untried = domain.untried_choices(state.record.positions)
        if untried is None:
            continue
        at = domain.snap(np.random.default_rng(seed).random((2000, 3)))
        best = state.surrogate.mean(state.record.positions).max()
        assert state.surrogate.ucb(at[untried(at)], betas.UNTRIED).max() < best


def test_choices_that_constraints_exclude_do_not_count_as_untried() -> None:
    """Otherwise the search would stay wide for choices that it can never suggest."""
    space = Space((*AMOUNTS, SOLVENTS), constraints=(Constraint('solvent not in ["b", "c"] or x > 2'),))
    domain = Domain(space)
    assert [domain.index(2, position) for position in domain.choices[2]] == [0, 3, 4, 5, 6, 7]
    assert domain.most_choices == 6
    points = np.column_stack([np.zeros((6, 2)), domain.choices[2]])
    assert domain.untried_choices(points) is None
    untried = domain.untried_choices(points[1:])
    assert untried is not None
    assert untried(points).tolist() == [True, False, False, False, False, False]


def test_evaluated_cells_have_one_choice_of_each_category() -> None:
    """A suggestion in the cell has the same choices, so the centroid's choices are those of the whole cell."""
    space = Space((*AMOUNTS, SOLVENTS, BASES))
    result = run(space, Laboratory(space, 0), 20)
    domain = result.state.problem.domain
    assert any(result.suggested)
    for point, key in zip(result.points, result.suggested, strict=True):
        assert key is not None
        cuts = [name.partition("-")[0] for name in key.split(".")[1:]]
        assert cuts[:2] == ["2", "3"]
        assert domain.exact(point).tolist() == point.tolist()


def test_small_space_suggests_the_point_with_the_largest_bound() -> None:
    """This is not the centroid of its cell, which has the middle of three levels."""
    space = Space((SOLVENTS, BASES, IntAxis("temperature", 0, 2)))
    domain, levels = Domain(space), []
    state = auto.start(space, Config(), 0)
    for _ in range(18):
        suggestion = auto.suggest(state, np.zeros((0, 3)))
        step = state.record.size
        if step >= 2 * domain.most_choices:  # every choice is tried
            free = np.array([each for each in domain.whole.points if not holds(state.record.positions, each)])
            bounds = state.surrogate.ucb(free, betas.beta(step, has_choices=True))
            assert suggestion.point.tolist() == free[np.argmax(bounds)].tolist()
        level = domain.index(2, suggestion.point[2])
        levels.append(level)
        state = auto.observe(suggestion.state, suggestion.point, level - float(suggestion.point[0])).state
    assert levels.count(2) > 6


def test_cells_are_split_along_parents_before_other_categories() -> None:
    method = ChoiceAxis("method", ("heat", "light"))
    space = Space((SOLVENTS, method, BASES), conditions=(Condition("base", "method", ("heat",)),))
    box = whole(Domain(space))
    assert box.undecided() == 1
    assert box.part(1, 0).undecided() == 0
    assert box.part(1, 0).part(0, 3).undecided() == 2
    assert box.part(1, 1).part(0, 3).undecided() is None


def test_choices_of_pending_points_count_as_tried() -> None:
    """Eight workers that ask at once get a different choice each."""
    space = Space((*AMOUNTS, SOLVENTS))
    pending: list[Array] = []
    result = Run(auto.start(space, Config(), 0))
    for _ in range(16):
        pending.append(result.ask(np.array(pending).reshape(-1, 3)))
    assert len({point[2] for point in pending}) == 8
