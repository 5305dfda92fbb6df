"""Slices of a search space: fixed parameters have exactly their values, and the others take all their values."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis, StepAxis
from adabkb_service.engine.slices import Slice, are_alike
from adabkb_service.engine.space import Fixed, Space
from tests.unit.engine.auto.strategies import spaces

SPACE = Space(
    (
        Fixed("solvent", "water"),
        ChoiceAxis("a", (None, [1, 2], True, 1)),
        IntAxis("n", 1, 9, step=2),
        StepAxis("s", 0.0, 1.0, 0.25),
    )
)


@given(spaces(), st.data())
def test_slice_points_survive_a_round_trip_through_parameters(space: Space, data: st.DataObject) -> None:
    """For any fixed parameters, a point read from a stored trial equals the suggested point bit for bit."""
    u = np.array(data.draw(st.lists(st.floats(0, 1), min_size=space.dimension, max_size=space.dimension)))
    names = data.draw(st.sets(st.sampled_from([axis.name for axis in space.axes])))
    fixed = {}
    for axis in space.axes:
        if axis.name in names:
            value = data.draw(st.floats(axis.low, axis.high)) if isinstance(axis, FloatAxis) else axis.decode(0.7)
            fixed[axis.name] = value
    within = Slice(space, fixed)
    point = within.exact(u)
    parameters = {**space.decode(point), **fixed}
    assert space.encode(parameters).tobytes() == point.tobytes()
    assert within.agrees(parameters)
    assert within.holds(point[None]).all()
    free = [k for k, axis in enumerate(space.axes) if axis.name not in names]
    assert point[free].tolist() == space.snap(u[None])[0][free].tolist()


def test_finite_slices_contain_all_points_with_the_fixed_values() -> None:
    whole = Slice(SPACE, {})
    assert (whole.size, len(whole.points), len(np.unique(whole.points, axis=0))) == (100, 100, 100)
    within = Slice(SPACE, {"a": [1, 2], "s": 0.25})
    assert within.size == 5
    assert [SPACE.decode(point) for point in within.points] == [
        {"solvent": "water", "a": [1, 2], "n": n, "s": 0.25} for n in (1, 3, 5, 7, 9)
    ]
    assert within.holds(whole.points).sum() == 5
    assert Slice(SPACE, {"a": None, "n": 1, "s": 0.0}).size == 1
    mixed = Space((FloatAxis("x", 0.0, 1.0), IntAxis("n", 1, 3)))
    assert [Slice(mixed, {}).size, Slice(mixed, {"n": 1}).size, Slice(mixed, {"x": 0.5}).size] == [np.inf, np.inf, 3]


def test_values_are_compared_as_json() -> None:
    assert not Slice(SPACE, {"a": True}).agrees({"a": 1})
    assert not are_alike({"a": True}, {"a": 1})
    assert not are_alike(None, {"a": 1})
    assert are_alike({"a": [1, 2]}, {"a": [1, 2]})
