"""Conditional parameters in the engine: every point has its active parameters only."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.domain.tree import box_of
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis, IntAxis, StepAxis, Value
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.feasibility import problems
from adabkb_service.engine.sensitivity import sensitivity
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Fixed, Space
from tests.unit.engine.auto.drive import run

Array = NDArray[np.float64]

NESTED = Space(
    (
        FloatAxis("lr", 1e-4, 1.0, "log"),
        ChoiceAxis("optimizer", ("sgd", "adam", "lbfgs")),
        FloatAxis("momentum", 0.0, 1.0),
        ChoiceAxis("nesterov", (False, True)),
        IntAxis("delay", 1, 9),
        IntAxis("layers", 1, 4),
        IntAxis("width", 8, 64, "log"),
        Fixed("history", 10),
        Fixed("data", "digits"),
    ),
    conditions=(
        Condition("momentum", "optimizer", ("sgd",)),
        Condition("nesterov", "optimizer", ("sgd", "adam")),
        Condition("delay", "nesterov", (True,)),
        Condition("width", "layers", (2, 3, 4)),
        Condition("width", "data", ("digits",)),
        Condition("history", "optimizer", ("lbfgs",)),
    ),
)


@st.composite
def finite_spaces(draw: st.DrawFn) -> Space:
    """Two to six axes of two or three values. Some depend on one or two others, declared in any order."""
    axes: list[Axis] = []
    conditions: list[Condition] = []
    for i in range(draw(st.integers(2, 6))):
        count = draw(st.integers(2, 3))
        kinds: list[Axis] = [ChoiceAxis(f"x{i}", tuple(range(count))), IntAxis(f"x{i}", 0, count - 1)]
        axes.append(draw(st.sampled_from(kinds)))
        for parent in draw(st.sets(st.integers(0, i - 1), max_size=2)) if i else ():
            values = draw(st.sets(st.integers(0, (axes[parent].count or 0) - 1), min_size=1))
            conditions.append(Condition(f"x{i}", f"x{parent}", tuple(values)))
    return Space(tuple(draw(st.permutations(axes))), conditions=tuple(conditions))


def patterns(space: Space) -> list[dict[str, Value]]:
    """All points of a finite space, each once, from all combinations of values."""
    found: dict[str, dict[str, Value]] = {}
    needs: dict[str, list[Condition]] = {axis.name: [] for axis in space.axes}
    for condition in space.conditions:
        needs[condition.parameter].append(condition)
    for values in product(*(range(axis.count or 0) for axis in space.axes)):
        point = dict(zip((axis.name for axis in space.axes), values, strict=True))

        def is_active(name: str, point: dict[str, int] = point) -> bool:
            return all(is_active(each.parent) and point[each.parent] in each.values for each in needs[name])

        active: dict[str, Value] = {name: value for name, value in point.items() if is_active(name)}
        found[str(active)] = active
    return list(found.values())


@pytest.mark.long
@given(finite_spaces(), st.data())
def test_points_sizes_and_slices_match_brute_force(space: Space, data: st.DataObject) -> None:
    everything = patterns(space)
    whole = Slice(space, {})
    assert whole.size == len(whole.points) == len(everything)
    key = sorted(map(str, everything))
    assert sorted(str(space.decode(point)) for point in whole.points) == key
    assert sorted(str(space.decode(space.encode(point))) for point in everything) == key
    assert Domain(space).together == max(map(len, everything))
    names = [axis.name for axis in space.axes if not space.activity.needs.get(axis.name)]
    fixed = {name: data.draw(st.sampled_from([each[name] for each in everything])) for name in names[:1]}
    within = Slice(space, fixed)
    assert within.size == len(within.points) == sum(fixed.items() <= point.items() for point in everything)


TEXTS = ["x0 + x1 <= 2", "x1 != 1", "x0 == 0 or x1 > 0", "not (x1 == 0 and x0 < 2)", "x0 * x1 < 3 and x0 != 1"]


@given(finite_spaces(), st.sets(st.sampled_from(TEXTS), min_size=1, max_size=3), st.data())
def test_constraints_apply_where_all_their_parameters_are_active(
    space: Space, texts: set[str], data: st.DataObject
) -> None:
    """The points are those that Python's ``eval`` allows. No box with a feasible point is excluded, and the cover
    contains all of them.
    """
    space = replace(space, constraints=tuple(map(Constraint, sorted(texts))))
    allowed = [
        point
        for point in patterns(space)
        if all(eval(text, {}, point) for text in texts if all(name in point for name in Constraint(text).names))
    ]
    whole = Slice(space, {})
    assert whole.feasible is not None
    assert sorted(str(space.decode(point)) for point in whole.points) == sorted(map(str, allowed))
    assert [point for point in patterns(space) if space.admits(point)] == allowed
    if not allowed:
        assert not len(whole.feasible.anchors)
        return
    positions = np.array([space.encode(point) for point in allowed])
    assert whole.feasible.mask(positions).all()
    corner = space.encode(data.draw(st.sampled_from(allowed)))
    boxes = np.minimum(positions, corner), np.maximum(positions, corner)
    assert whole.feasible.may_hold(*boxes).all()
    lows, highs, _ = whole.feasible.cover
    inside = (lows[None] <= positions[:, None] + 1e-12) & (positions[:, None] <= highs[None] + 1e-12)
    assert np.any(inside.all(axis=2), axis=1).all()


def test_conflicting_constraints_in_separate_branches_are_accepted() -> None:
    branches = Space(
        (ChoiceAxis("kind", ("a", "b")), FloatAxis("x", 0.0, 1.0), FloatAxis("y", 0.0, 1.0)),
        conditions=(Condition("x", "kind", ("a",)), Condition("y", "kind", ("b",))),
    )
    assert problems(["x + y <= 1"], branches)[0].startswith("never applies: no point has all its parameters")
    assert problems(["x >= 2"], branches) == {}, "the other branch is left"
    assert list(problems(["x >= 2", "y <= 0.5", "y >= 0.6"], branches)) == [0, 1, 2]
    assert list(problems(["x >= 2", "kind == 'a'", "y <= 0.5"], branches)) == [0, 1]


@given(st.lists(st.floats(0, 1), min_size=7, max_size=7))
def test_positions_and_points_with_active_parameters_round_trip(u: list[float]) -> None:
    point = NESTED.decode(u)
    assert NESTED.problems(point) == {}
    assert ("momentum" in point) == (point["optimizer"] == "sgd")
    assert ("delay" in point) == (point.get("nesterov") is True)
    assert ("history" in point) == (point["optimizer"] == "lbfgs")
    exact = NESTED.snap(np.array([u]))[0]
    assert NESTED.encode(point).tobytes() == exact.tobytes()
    assert NESTED.decode(exact) == point


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        ({"optimizer": "adam"}, {"momentum": "is only active if optimizer is 'sgd', and it is 'adam'"}),
        ({"nesterov": True}, {"delay": "is missing, although it is active at this point"}),
        ({"nesterov": None}, {"nesterov": "must be one of False, True"}),
        ({"optimizer": None}, {"optimizer": "must be one of 'sgd', 'adam', 'lbfgs'"}),
        ({"layers": 1}, {"width": "is only active if layers is one of 2, 3, 4, and it is 1; leave it out, or change"}),
        ({"history": 10}, {"history": "is only active if optimizer is 'lbfgs', and it is 'sgd'"}),
        ({"optimizer": "lbfgs"}, {"momentum": "is only active", "nesterov": "is only active"}),
    ],
)
def test_each_error_of_a_point_is_reported_once_at_its_parameter(
    changes: dict[str, Value], messages: dict[str, str]
) -> None:
    point = {"lr": 0.1, "optimizer": "sgd", "momentum": 0.9, "nesterov": False, "layers": 2, "width": 16}
    found = NESTED.problems({**point, **changes})
    assert list(found) == list(messages)
    assert all(found[name].startswith(message) for name, message in messages.items())
    assert NESTED.problems(point) == {}
    assert NESTED.problems({"momentum": 0.5}, partial=True) == {
        "momentum": "is only active if optimizer is 'sgd'; give optimizer, too"
    }
    assert NESTED.problems({"momentum": 0.5, "optimizer": "sgd"}, partial=True) == {}


def test_points_of_many_independent_switches_are_counted_in_closed_form() -> None:
    """2^60 sets of active parameters: each enabled switch adds a parameter with 3 values."""
    axes = [ChoiceAxis(f"use{i}", (False, True)) for i in range(60)]
    own = [IntAxis(f"n{i}", 1, 3) for i in range(60)]
    space = Space((*axes, *own), conditions=tuple(Condition(f"n{i}", f"use{i}", (True,)) for i in range(60)))
    assert Slice(space, {}).size == 4.0**60
    assert Domain(space).together == 120


def score(u: Array) -> float:
    """A function of every axis; later axes have larger effects."""
    return float(-sum((k + 1) * (x - 0.3) ** 2 for k, x in enumerate(u)))


def test_the_tree_splits_parents_first_and_repeats_no_point() -> None:
    """No cell is split along an axis that is inactive in a part of it, and the first points try every branch."""
    result = run(NESTED, score, 60)
    activity, domain = NESTED.activity, Domain(NESTED)
    for key in result.cells:
        parent, _, name = key.rpartition(".")
        if parent and (axis := int(name.split("-")[0])) in activity.conditional:
            box = box_of(domain, parent)
            for ancestor, allowed in activity.conditional[axis]:
                assert allowed[int(box.low[ancestor]) : int(box.high[ancestor])].all(), key
    points = np.array(result.points)
    assert len(np.unique(points, axis=0)) == 60
    assert np.array_equal(points, NESTED.snap(points))
    tried = [set(column.tolist()) - {-1} for column in activity.branches(points[:8]).T]
    assert sum(map(len, tried)) == activity.branch_count == 7  # optimizers, nesterov, layers
    state, restored = result.state, result.restored().state
    none = np.zeros((0, 7))
    assert auto.suggest(state, none).point.tobytes() == auto.suggest(restored, none).point.tobytes()


def test_search_of_a_finite_space_tries_each_point_once_and_ends() -> None:
    space = Space(
        (ChoiceAxis("a", (0, 1, 2)), IntAxis("n", 1, 4), StepAxis("s", 0.0, 1.0, 0.25)),
        conditions=(Condition("n", "a", (1,)), Condition("s", "a", (2,))),
    )
    result = run(space, score, 10)
    assert len({str(space.decode(point)) for point in result.points}) == 10
    assert auto.exhausted(result.state, np.zeros((0, 3)))


def test_slices_keep_fixed_parents_and_vary_their_children() -> None:
    state = run(NESTED, score, 12).state
    within = Slice(NESTED, {"optimizer": "sgd", "nesterov": True})
    suggestions = auto.suggestions_within(state, within, np.zeros((0, 7)))
    points = [NESTED.decode(next(suggestions).point) for _ in range(6)]
    assert all(point["optimizer"] == "sgd" and point["nesterov"] is True for point in points)
    assert len({point["momentum"] for point in points}) > 1
    assert len({point["delay"] for point in points}) > 1


def test_sensitivity_accounts_for_inactive_parameters() -> None:
    """The mean is x in the half of the space where x is active, and 0 elsewhere: x explains 1/24 of 1/24 + 1/16."""
    space = Space(
        (ChoiceAxis("on", (False, True)), FloatAxis("x", 0.0, 1.0)), conditions=(Condition("x", "on", (True,)),)
    )
    found = sensitivity(lambda u: np.where(u[:, 0] > 0.5, u[:, 1], 0.0), space)
    assert found is not None
    assert found.total[1] == pytest.approx((1 / 24) / (1 / 24 + 1 / 16), abs=0.03)


@pytest.mark.long
@settings(max_examples=20)
@given(finite_spaces())
def test_search_with_any_conditions_repeats_no_point(space: Space) -> None:
    size = int(Slice(space, {}).size)
    result = run(space, score, min(size, 12), config=Config())
    assert len({str(space.decode(point)) for point in result.points}) == min(size, 12)
