"""Constraints on choices: Python's ``eval`` allows the same points, and interval bounds are sound."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis, IntAxis, StepAxis
from adabkb_service.engine.columns import AxisExtent
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.feasibility import problems
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Fixed, Space

Array = NDArray[np.float64]

CATALYST = ChoiceAxis("catalyst", ("XPhos", "SPhos", "PPh3"))
SIZE = ChoiceAxis("size", ("S", "M", "L"), ordered=True)
DOSE = ChoiceAxis("dose", (1, 2.5, 5), ordered=True)
STIR = ChoiceAxis("stir", (False, True))
N = IntAxis("n", 1, 4)
DROP = StepAxis("drop", 0.0, 0.3, 0.1)
LABORATORY = Fixed("lab", "Genoa")
FINITE = (CATALYST, SIZE, DOSE, STIR, N, DROP, LABORATORY)

OF_CHOICES = [
    *(f"{axis.name} == {choice!r}" for axis in (CATALYST, SIZE) for choice in axis.choices),
    *(f"{choice!r} != {axis.name}" for axis in (CATALYST, SIZE) for choice in axis.choices),
    "catalyst in ['XPhos', 'PPh3']",
    "catalyst not in ('XPhos', 'SPhos')",
    "size in {'S', 'L'}",
]
OF_NUMBERS = [
    "dose == 2.5",
    "dose in [1, 5.0]",
    "dose < 3",
    "stir",
    "stir == False",
    "lab != 'Genoa'",
    "lab == 'Genoa'",
    "n == 3",
    "n not in [1, 4]",
    "drop == 0.3",
    "drop in [0.1, 0.2]",
    "n * drop <= 0.4",
    "1 < n <= dose",
    "2 <= n < 4 <= dose + drop",
]
EXPRESSIONS = st.recursive(
    st.sampled_from(OF_CHOICES + OF_NUMBERS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(" or ".join),
        st.lists(inner, min_size=2, max_size=3).map(" and ".join),
        inner.map(lambda each: f"not ({each})"),
        inner.map(lambda each: f"({each})"),
        inner.map(lambda each: f"not {each}"),
    ),
    max_leaves=8,
)


def feasible_by_python(text: str, axes: tuple[Axis | Fixed, ...]) -> list[dict[str, Any]]:
    """The feasible points of a finite space, according to Python."""
    values = [[each.value] if isinstance(each, Fixed) else _values(each) for each in axes]
    points = [dict(zip([each.name for each in axes], row, strict=True)) for row in itertools.product(*values)]
    return [point for point in points if eval(text, {"__builtins__": {}}, point)]


def _values(axis: Axis) -> list[Any]:
    assert axis.count is not None
    assert not isinstance(axis, FloatAxis)
    return [axis.value(index) for index in range(axis.count)]


@settings(max_examples=10)
@given(EXPRESSIONS)
def test_finite_spaces_have_the_feasible_points_of_python(text: str) -> None:
    """Compares exact evaluation, arrays, interval bounds and Python, for the whole space and a slice."""
    constraint, expected = Constraint(text), feasible_by_python(text, FINITE)
    whole = Slice(Space(FINITE, (constraint,)), {})
    assert whole.feasible is not None
    found = [whole.space.decode(point) for point in whole.points]
    assert sorted(map(str, found)) == sorted(map(str, expected))
    every = Slice(Space(FINITE), {}).points
    holds = np.array([constraint.holds(whole.space.decode(point)) for point in every])
    assert (whole.feasible.mask(every) == holds).all()
    for slack in whole.feasible.slack(every).T:
        assert (np.where(slack == 0.0, holds, slack > 0.0) == holds).all(), "the sign of the slack is wrong"
    assert (whole.feasible.may_hold(every, every) | ~holds).all()
    within = Slice(whole.space, {"catalyst": "PPh3", "n": 2})
    assert within.size == sum(point["catalyst"] == "PPh3" and point["n"] == 2 for point in expected)
    assert (len(expected) == 0) == bool(problems([f"({text}) and n >= 1"], Space(FINITE)))


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, st.integers(0, 10**6))
@example("not not not (2 <= n < 4 <= dose + drop)", 381)  # n is up to 2, which is not below 2
def test_bounds_over_boxes_of_several_choices_are_sound(text: str, seed: int) -> None:
    """If a random box contains a feasible point, the constraint may hold in it. If the constraint surely holds in a
    box, all its points are feasible.
    """
    random, space = np.random.default_rng(seed), Space(FINITE)
    points = Slice(space, {}).points
    ends = np.sort(random.random((2, 12, space.dimension)), axis=0)
    extents = {axis.name: AxisExtent(axis, *ends[:, :, k]) for k, axis in enumerate(space.axes)}
    extents["lab"] = AxisExtent(ChoiceAxis("lab", ("Genoa",)), np.zeros(1), np.zeros(1))
    constraint = Constraint(text)
    may, surely = (np.broadcast_to(each, 12) for each in constraint.compared(extents))
    for box in range(12):
        inside = points[((ends[0, box] <= points) & (points <= ends[1, box])).all(axis=1)]
        holds = [constraint.holds(space.decode(point)) for point in inside]
        assert may[box] or not any(holds)
        assert not surely[box] or all(holds)


@pytest.mark.parametrize(
    "axis",
    [
        IntAxis("n", 1, 9),
        IntAxis("n", 1, 1000, "log"),
        IntAxis("n", 2, 2**40, "log"),
        IntAxis("n", 5, 500, "log", 7),
        IntAxis("n", -7, 2**40),
        StepAxis("n", 0.0, 0.9, 0.1),
        StepAxis("n", 1e-9, 6e-9, 1e-12),
        ChoiceAxis("n", tuple(range(7))),
    ],
    ids=str,
)
def test_among_is_exact_for_single_values_and_their_neighbours(axis: Axis) -> None:
    """Checks only a few of billions of values: those in comparisons, and their neighbours."""
    assert axis.count is not None
    assert not isinstance(axis, FloatAxis)
    random = np.random.default_rng(1)
    for index in {0, 1, 2, axis.count // 2, axis.count - 1, *random.integers(0, axis.count, 20).tolist()}:
        value, at = axis.value(index), axis.encode(axis.value(index))
        others = [axis.value(each) for each in (index - 1, index + 1) if 0 <= each < axis.count]
        lows, highs = np.array([0.0, at, at, 0.0, at - 0.3]), np.array([1.0, at, 1.0, at, at + 0.3])
        may, surely = AxisExtent(axis, np.clip(lows, 0, 1), np.clip(highs, 0, 1)).among([value])
        assert may.all()
        assert surely[1], "a box of one value has no other"
        assert not surely[0]
        assert not AxisExtent(axis, np.array([at]), np.array([at])).among(others)[0].any()


MANY: tuple[Axis, ...] = (
    *(ChoiceAxis(f"c{k}", ("a", "b", "d", "e", "f")) for k in range(6)),
    FloatAxis("x", 0.0, 1.0),
)
ONE_LEFT = [f"c{k} == 'd'" for k in range(5)] + ["c5 not in ['a', 'b', 'e', 'f'] and x < 0.25"]


def test_one_feasible_combination_of_thousands_is_found() -> None:
    """One of 15,625 combinations is feasible, on a quarter of the range of a float. A contradiction among them is
    proved.
    """
    assert problems(ONE_LEFT, Space(MANY)) == {}
    feasible = Slice(Space(MANY, tuple(map(Constraint, ONE_LEFT))), {}).feasible
    assert feasible is not None
    found = feasible.sample((1, 1), 100)
    assert feasible.mask(found).all()
    assert np.ptp(found[:, 6]) > 0.2
    contradiction = problems([*ONE_LEFT, "not (c2 == 'd' and x < 0.5)"], Space(MANY))
    assert set(contradiction) == {2, 5, 6}
    assert contradiction[2].startswith("no point satisfies the constraints 2, 5, 6 together")


def test_log_integers_are_split_between_values() -> None:
    """Without these splits, bounds on a log-scale integer and a float would prove nothing."""
    space = Space((IntAxis("n", 1, 300, "log"), FloatAxis("x", 0.0, 1.0)))
    assert problems(["n in [7, 8]", "n == 8 and x > 0.5"], space) == {}
    assert problems(["n in [7, 8]", "n not in [7, 8] or x > 2"], space)[0].startswith("no point satisfies")


def test_slack_is_measured_among_points_that_satisfy_the_choices() -> None:
    axes = (CATALYST, FloatAxis("temperature", 20.0, 120.0))
    of_choices = Constraint("catalyst != 'SPhos'")
    space = Space(axes, (of_choices, Constraint("not (catalyst == 'PPh3' and temperature > 80)")))
    feasible = Slice(space, {}).feasible
    assert feasible is not None
    points = np.array([space.encode({"catalyst": each, "temperature": 60.0}) for each in CATALYST.choices])
    assert feasible.slack(points).shape == (3, 1), "constraints on choices alone have no slack"
    assert feasible.slack(points)[:, 0].tolist() == pytest.approx([math.inf, math.inf, 20.0])
    assert feasible.scales[0] == pytest.approx(60.0, abs=10.0)
