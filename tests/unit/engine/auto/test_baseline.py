"""A recommendation near a baseline: as good, with fewer changes, and with certainty."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.answers import Recommendation
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.reports.baseline import keep_near
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from tests.unit.engine.auto.drive import Run, run

Array = NDArray[np.float64]

SPACE = Space((*(FloatAxis(name, 0.0, 1.0) for name in "abcd"), ChoiceAxis("kind", tuple("xyz"))))
BASELINE = {0: 0.1, 1: 0.2, 2: 0.9, 3: 0.5, 4: 0.5}


def objective(u: Array) -> float:
    """c and d have no effect, b has a small one, and the kinds x and y are equivalent."""
    return float(-((u[0] - 0.7) ** 2) - 0.01 * (u[1] - 0.4) ** 2 - (u[4] > 0.7))


def recommended(result: Run, baseline: dict[int, float], tolerance: float = 0.0) -> Recommendation:
    found = auto.recommend(result.state)
    assert found is not None
    return keep_near(result.state, found, baseline, result.state.problem.domain.whole, tolerance)


@pytest.fixture(scope="module")
def result() -> Run:
    """Forty results spread over the space, enough to learn which parameters have no effect."""
    found = Run(auto.start(SPACE, Config(), 0))
    for point in Domain(SPACE).snap(np.random.default_rng(0).random((40, 5))):
        found.tell(point, objective(point))
    return found


def test_irrelevant_parameters_keep_their_baseline(result: Run) -> None:
    """The point is as good, and states what its changes gain."""
    near = recommended(result, BASELINE)
    assert near.point[1:].tolist() == [0.2, 0.9, 0.5, 0.5]
    assert objective(near.point) > -0.01
    assert near.changes is not None
    ((axis, gain),) = [(each.axis, each.gain) for each in near.changes]
    assert axis == 0
    assert gain > 0.05
    assert near.mean == pytest.approx(objective(near.point), abs=0.02)


def test_partial_baseline_changes_no_other_parameter(result: Run) -> None:
    found, near = auto.recommend(result.state), recommended(result, {2: 0.9})
    assert found is not None
    assert near.changes == ()
    assert near.point.tolist() == [*found.point[:2], 0.9, *found.point[3:]]


def test_larger_tolerance_keeps_more_of_the_baseline(result: Run) -> None:
    near = recommended(result, BASELINE, tolerance=30.0)
    assert near.changes == ()
    assert near.point.tolist() == list(BASELINE.values())


def test_uncertain_baseline_is_not_recommended() -> None:
    """All results are far from the baseline, so the objective near it is unknown."""
    few = Run(auto.start(Space(SPACE.axes[:2]), Config(), 0))
    for a, b in np.random.default_rng(0).uniform(0.6, 1.0, (12, 2)):
        few.tell(np.array([a, b]), float(-10.0 * (a - 0.8) ** 2 - 10.0 * (b - 0.8) ** 2))
    near = recommended(few, {0: 0.0, 1: 0.0})
    assert near.changes is not None
    assert [each.axis for each in near.changes] == [0, 1]


def test_baseline_recommendation_satisfies_constraints_and_slice() -> None:
    tied = Space(SPACE.axes, (Constraint("a + d >= 1.3"),))
    result = run(tied, objective, 25)
    near = recommended(result, BASELINE)
    assert near.point[0] + near.point[3] >= 1.3
    within = Slice(tied, {"b": 0.66})
    found = auto.recommend_within(result.state, within)
    assert found is not None
    inside = keep_near(result.state, found, {axis: BASELINE[axis] for axis in (0, 2, 3, 4)}, within)
    assert within.holds(inside.point[None]).all()
    assert inside.point[0] + inside.point[3] >= 1.3


def test_restored_choice_brings_its_conditional_baseline() -> None:
    """Both branches have equal optima: the baseline's branch is recommended, with the baseline's value of its own
    parameter.
    """
    axes = (ChoiceAxis("kind", ("p", "q")), FloatAxis("p1", 0.0, 1.0), FloatAxis("q1", 0.0, 1.0))
    space = Space(axes, conditions=(Condition("p1", "kind", ("p",)), Condition("q1", "kind", ("q",))))

    def alike(u: Array) -> float:
        return -float((u[1] - 0.6) ** 2 if u[0] < 0.5 else 1e-3 + (u[2] - 0.3) ** 2)

    result = Run(auto.start(space, Config(), 0))
    for at in np.linspace(0.0, 1.0, 11):
        for point in ([0.25, at, 0.5], [0.75, 0.5, at]):
            result.tell(np.array(point), alike(np.array(point)))
    near = recommended(result, {0: 0.75, 2: 0.3})
    assert near.changes == ()
    assert near.point[0] == 0.75
    assert near.point[2] == 0.3
    assert space.decode(near.point) == {"kind": "q", "q1": 0.3}
