"""Suggestions of ``auto`` under constraints are feasible and good, and cells without feasible points are pruned."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain.tree import INFEASIBLE, box_of
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.search.constrained import spread
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis, StepAxis, Value
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from tests.samples import some
from tests.unit.engine.auto.drive import Run, run
from tests.unit.engine.strategies import unit_space
from tests.unit.engine.test_constraints import EVERY_KIND, SIMPLEX, THIN

Array = NDArray[np.float64]

DISK = Space(unit_space(2).axes, (Constraint("x0 ** 2 + x1 ** 2 <= 0.49"),))
FINITE = Space(
    (IntAxis("n", 1, 9), StepAxis("s", 0.0, 0.4, 0.1), ChoiceAxis("c", ("x", "y"))),
    (Constraint("n * s <= 0.9"), Constraint("n + 10 * s >= 4")),
)
CHOICES = Space(
    (
        ChoiceAxis("catalyst", ("XPhos", "SPhos", "PPh3")),
        ChoiceAxis("size", ("S", "M", "L"), ordered=True),
        IntAxis("n", 1, 10_000),
        FloatAxis("temperature", 20.0, 120.0),
        FloatAxis("time", 0.0, 1.0),
    ),
    (
        Constraint("catalyst == 'XPhos' or size in ['S', 'M'] and time < 0.7"),
        Constraint("not (catalyst == 'PPh3' and temperature + 40 * time > 80)"),
        Constraint("n != 10000 or temperature < 30"),
    ),
)
"""The integer has too many values to be listed."""
BRANCHES = Space(
    (
        ChoiceAxis("model", ("net", "forest", "svm")),
        FloatAxis("learning rate", 1e-3, 1.0, "log"),
        IntAxis("epochs", 1, 100),
        IntAxis("trees", 10, 1000, "log"),
        FloatAxis("C", 0.0, 1.0),
        FloatAxis("seconds", 0.0, 1.0),
    ),
    (
        Constraint('"learning rate" * epochs <= 5'),
        Constraint("trees <= 900 * (1 - seconds)"),
        Constraint("C >= 2"),
    ),
    (
        Condition("learning rate", "model", ("net",)),
        Condition("epochs", "model", ("net",)),
        Condition("trees", "model", ("forest",)),
        Condition("C", "model", ("svm",)),
    ),
)
"""The last branch has no feasible point."""


def corner(u: Array) -> float:
    """Largest at an infeasible point."""
    return float(u.sum())


def flat(u: Array) -> float:
    """A constant, so that the search stalls and restarts."""
    return 0.0 * float(u.sum())


def bowl(u: Array) -> float:
    """Largest at a boundary point of the disk, with a slope along the boundary elsewhere."""
    return -float((u[0] - 0.9) ** 2 + 2.0 * (u[1] - 0.6) ** 2)


@pytest.mark.parametrize(
    ("space", "objective"),
    [
        pytest.param(DISK, corner, id="disk", marks=pytest.mark.long),
        pytest.param(SIMPLEX, corner, id="simplex", marks=pytest.mark.long),
        pytest.param(THIN, corner, id="thin", marks=pytest.mark.long),
        pytest.param(EVERY_KIND, corner, id="every kind"),
        pytest.param(CHOICES, corner, id="choices", marks=pytest.mark.long),
        pytest.param(BRANCHES, corner, id="branches", marks=pytest.mark.long),
        pytest.param(DISK, flat, id="disk-restarts", marks=pytest.mark.long),
        pytest.param(SIMPLEX, flat, id="simplex-restarts", marks=pytest.mark.long),
        pytest.param(THIN, flat, id="thin-restarts", marks=pytest.mark.long),
        pytest.param(EVERY_KIND, flat, id="every kind-restarts", marks=pytest.mark.long),
        pytest.param(CHOICES, flat, id="choices-restarts", marks=pytest.mark.long),
        pytest.param(BRANCHES, flat, id="branches-restarts", marks=pytest.mark.long),
    ],
)
def test_no_suggestion_violates_a_constraint(space: Space, objective: Callable[[Array], float]) -> None:
    """In all phases, singly and in batches, with a failed point; no point is suggested twice."""
    result, whole = Run(auto.start(space, Config(), 3)), Slice(space, {})
    if objective is flat:
        for step in range(41):
            result.tell(whole.drawn(1, step), 0.0)
        assert result.state.restarted_at is not None
    for points, failed in result.steps(9, 3, objective, failing=5):
        assert all(space.violated(space.decode(each)) == [] for each in points)
        assert len({each.tobytes() for each in [*points, *failed, *result.points]}) == (
            len(points) + len(failed) + len(result.points)
        )


@pytest.mark.parametrize(
    "fixed",
    some(
        [{"drop": 0.5}, {"layers": 16, "kernel": "rbf"}, {"a": 0.123456789012345678}], [{"layers": 16, "kernel": "rbf"}]
    ),
)
def test_suggestions_with_fixed_parameters_satisfy_the_constraints(fixed: dict[str, Value]) -> None:
    state, within = run(EVERY_KIND, corner, 8).state, Slice(EVERY_KIND, fixed)
    found = [each.point for each in islice(auto.suggestions_within(state, within, np.zeros((0, 7))), 4)]
    assert within.holds(np.array(found)).all()
    assert all(EVERY_KIND.violated({**EVERY_KIND.decode(point), **fixed}) == [] for point in found)


def test_every_feasible_point_of_a_finite_space_is_suggested_once() -> None:
    expected = {
        (n, s / 10, c) for n in range(1, 10) for s in range(5) for c in "xy" if n * (s / 10) <= 0.9 and n + s >= 4
    }
    result = Run(auto.start(FINITE, Config(), 0))
    for _ in range(len(expected)):
        assert not auto.exhausted(result.state, np.zeros((0, 3)))
        result.step(corner)
    assert {tuple(FINITE.decode(point).values()) for point in result.points} == expected
    assert auto.exhausted(result.state, np.zeros((0, 3)))
    assert list(auto.suggestions(result.state, np.zeros((0, 3)))) == []


def test_optimum_on_a_curved_boundary_is_found() -> None:
    """Within 1e-3 of the optimum on a fine grid of the boundary, after 25 evaluations."""
    angles = np.linspace(0.0, np.pi / 2, 100_001)
    boundary = 0.7 * np.column_stack([np.cos(angles), np.sin(angles)])
    best = max(-((boundary[:, 0] - 0.9) ** 2) - 2.0 * (boundary[:, 1] - 0.6) ** 2)
    assert best - max(run(DISK, bowl, 25, seed=0).values) < 1e-3


@pytest.mark.long
def test_optimum_on_a_boundary_of_one_choice_is_found() -> None:
    """With PPh3, temperature and time are limited together: the best point is on that line."""
    limits = Constraint("not (catalyst == 'PPh3' and temperature + 40 * time > 80)")
    space = Space((CHOICES.axes[0], *CHOICES.axes[3:]), (limits, Constraint("catalyst != 'SPhos'")))

    def heat(u: Array) -> float:
        return float(u[1]) - 4.0 * float(u[2] - 0.35) ** 2 + (2.0 if u[0] > 0.7 else 0.0)

    times = np.linspace(0.0, 1.0, 100_001)
    best = max((60.0 - 40.0 * times) / 100.0 - 4.0 * (times - 0.35) ** 2) + 2.0
    result = run(space, heat, 30, seed=0)
    assert all(not space.violated(space.decode(point)) for point in result.points)
    assert -1e-9 <= best - max(result.values) < 1e-3


def test_infeasible_cells_stay_pruned_in_a_restored_study() -> None:
    """A constant objective is explored everywhere, so that cells outside the disk are cut, too."""
    original = run(DISK, flat, 40)
    tree, domain = original.state.tree, original.state.problem.domain
    outside = {key for key in original.cells if (box_of(domain, key).low ** 2).sum() > 0.49}
    assert {tree.key(int(cell)) for cell in np.flatnonzero(tree.axis == INFEASIBLE)} == outside != set()
    restored = original.restored()
    assert restored.state.tree.axis.tolist() == tree.axis.tolist()
    for _ in range(8):
        original.step(flat)
        restored.step(flat)
    assert [point.tolist() for point in restored.points] == [point.tolist() for point in original.points]
    assert restored.cells == original.cells
    assert {original.cells[key] for key in outside} == {"pruned"}


@pytest.mark.long
def test_all_feasible_branches_are_tried_and_the_boundary_optimum_is_found() -> None:
    """The network is best at learning rate * epochs = 5 with many epochs. Cells of the infeasible branch are pruned,
    and a restored study continues identically.
    """

    def learned(u: Array) -> float:
        point = BRANCHES.decode(u)
        if point["model"] != "net":
            return -1.0 - float(u[5])
        dose = float(point["learning rate"]) * int(point["epochs"])  # type: ignore[arg-type]
        return float(dose / 5.0 - (u[1] - 0.5) ** 2 - (u[5] - 0.3) ** 2)

    original = run(BRANCHES, learned, 30)
    models = [BRANCHES.decode(point)["model"] for point in original.points]
    assert set(models[:5]) == {"net", "forest"}
    best = max(1.0 - (math.log10(1000.0 * 5.0 / epochs) / 3.0 - 0.5) ** 2 for epochs in range(5, 101))
    assert -1e-9 <= best - max(original.values) < 1e-3
    tree = original.state.tree
    assert len(np.flatnonzero(tree.axis == INFEASIBLE))
    restored = original.restored()
    for _ in range(6):
        original.step(learned)
        restored.step(learned)
    assert [point.tolist() for point in restored.points] == [point.tolist() for point in original.points]


def test_gap_ignores_infeasible_points() -> None:
    """Beyond the constraint, the objective is better by 5, which the model knows: points there would increase
    the gap.
    """
    space = Space(unit_space(2).axes, (Constraint("x0 <= 0.49"),))
    result = run(space, lambda u: 10.0 * float(u[0]), 40)
    gap = auto.report(result.state).gap
    assert gap is not None
    assert 4.9 - max(result.values) - 1e-6 <= gap < 1.0


def test_batch_under_constraints_equals_suggestions_in_turn() -> None:
    state = run(DISK, bowl, 9).state
    together = list(islice(auto.suggestions(state, np.zeros((0, 2))), 4))
    pending = np.zeros((0, 2))
    for each in together:
        one = next(auto.suggestions(state, pending))
        assert one.point.tobytes() == each.point.tobytes()
        state, pending = one.state, np.concatenate([pending, each.point[None]])


@pytest.mark.long
def test_unconstrained_parameters_are_still_optimized() -> None:
    space = Space((*unit_space(2).axes, FloatAxis("z", 0.0, 1.0)), (Constraint("x0 + x1 <= 1"),))
    result = run(space, lambda u: float(u[0] + 0.5 * u[1] - 4.0 * (u[2] - 0.7) ** 2), 30)
    assert max(result.values) > 0.99


def test_restarts_include_the_edges_of_the_feasible_set() -> None:
    """In a disk, restarts alternate between any point, a point on the edge, and the outermost point in a direction."""
    feasible = Slice(DISK, {}).feasible
    assert feasible is not None
    radii = [np.linalg.norm(found, axis=1) for found in (spread(feasible, (0, step), 20) for step in range(30, 33))]
    assert all(len(radius) == 20 and radius.max() <= 0.7 for radius in radii)
    assert np.quantile(radii[0], 0.5) < 0.65
    for step in range(31, 61, 3):
        found = spread(feasible, (0, step), 20)
        on_edge = (np.linalg.norm(found, axis=1) > 0.7 - 1e-6) | (found == 0.0).any(axis=1)
        assert on_edge.all()
    first = np.array([spread(feasible, (0, step), 20)[0] for step in range(32, 122, 3)])
    assert len(np.unique(np.round(first, 2), axis=0)) > 8
    assert min(np.abs(first - corner).max(axis=1).min() for corner in ([0.0, 0.7], [0.7, 0.0], [0.0, 0.0])) < 0.01


@pytest.mark.long
def test_second_optimum_in_a_corner_of_the_feasible_set_is_found() -> None:
    """Within 100 evaluations. The constraints keep both ends of Rosenbrock's valley: (0, 0), and the better (1, 1)."""
    box = (FloatAxis("x", -1.5, 1.5), FloatAxis("y", -0.5, 2.5))
    space = Space(box, (Constraint("(x - 1) ** 3 - y + 1 <= 0"), Constraint("x + y <= 2")))

    def valley(u: Array) -> float:
        x, y = 3.0 * u - (1.5, 0.5)
        return -float((1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2)

    assert max(run(space, valley, 100, seed=0).values) > -1e-6
