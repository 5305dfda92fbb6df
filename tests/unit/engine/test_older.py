"""Results of an older study in an edited space."""

from __future__ import annotations

import numpy as np

from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.older import Older
from adabkb_service.engine.space import Fixed, Space

KIND = ChoiceAxis("kind", ("a", "b", "c"))
X = FloatAxis("x", 0.0, 10.0)
COUNT = IntAxis("count", 1, 4)
POINTS = [{"kind": "a", "x": 1.0, "count": 1}, {"kind": "b", "x": 5.0, "count": 2}, {"kind": "c", "x": 9.0, "count": 4}]


def older_study(space: Space) -> Older:
    positions = [space.encode({name: point[name] for name in ("kind", "x", "count")}) for point in POINTS]
    return Older("o", tuple(range(space.dimension)), tuple(map(tuple, np.array(positions).tolist())), (1.0, 2.0, 3.0))


def points_in(space: Space, older: Older) -> list[dict[str, object]]:
    return [
        {space.axes[axis].name: space.axes[axis].decode(u) for axis, u in zip(older.axes, position, strict=True)}
        for position in older.positions
    ]


def test_points_outside_the_edited_space_are_dropped() -> None:
    before = Space((KIND, X, COUNT))
    after = Space((FloatAxis("x", 4.0, 20.0), ChoiceAxis("kind", ("c", "b")), FloatAxis("new", 0.0, 1.0), COUNT))
    found = older_study(before).moved(before, after)
    assert found is not None
    assert points_in(after, found) == POINTS[1:]
    assert found.outputs == (2.0, 3.0)


def test_removed_parameters_are_dropped_from_older_points() -> None:
    before, after = Space((KIND, X, COUNT)), Space((Fixed("kind", "a"), X, COUNT))
    found = older_study(before).moved(before, after)
    assert found is not None
    assert points_in(after, found) == [{"x": each["x"], "count": each["count"]} for each in POINTS]
    assert older_study(before).moved(before, Space((ChoiceAxis("x", (1, 2)), FloatAxis("y", 0.0, 1.0)))) is None
    assert older_study(before).moved(before, Space((FloatAxis("x", 20.0, 30.0),))) is None


def test_same_space_keeps_points_and_inactive_parameters_stay_at_rest() -> None:
    when = (Condition("count", "kind", ("b",)),)
    before, after = Space((KIND, X, COUNT), conditions=when), Space((KIND, X, IntAxis("count", 1, 9)), conditions=when)
    one = Older("o", (0, 1, 2), ((0.1, 0.2, before.activity.rest[2]), (0.5, 0.25, 0.875)), (1.0, 2.0))
    assert one.moved(before, before) == one
    found = one.moved(before, after)
    assert found is not None
    assert [position[2] for position in found.positions] == [after.activity.rest[2], after.axes[2].encode(4)]
