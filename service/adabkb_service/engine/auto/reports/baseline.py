"""A recommended point that stays near a baseline: among equally good points, one that changes fewer values.

Parameters are reset to their baseline values one by one, first the one whose change gains least. This ends when the
point would no longer be as good: the lower end of its 90% interval may be below that of the recommended point by at
most a tolerance. (So no uncertain point replaces the recommended one.) The tolerance is the largest of the study's
declared tolerance, the standard deviation at the recommended point, and ``SHARE`` of the distance from the ``WORSE``
quantile of the results to the best one. The shares of a mixture are reset together.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.answers import Change, Recommendation
from adabkb_service.engine.auto.reports.report import feasible_probability, predict
from adabkb_service.engine.auto.state.state import State
from adabkb_service.engine.metrics import FEASIBLE
from adabkb_service.engine.slices import Slice

Array = NDArray[np.float64]

SHARE, WORSE = 0.05, 0.25
"""Constants of the tolerance."""


def keep_near(
    state: State,
    found: Recommendation,
    baseline: Mapping[int, float],
    within: Slice,
    tolerance: float = 0.0,
    feasible: float = FEASIBLE,
) -> Recommendation:
    """Return the point that stays near a baseline, with its changes.

    Args:
        state: the state of the study.
        found: the recommendation without a baseline.
        baseline: positions by axis.
        within: the slice of the space that must contain the point.
        tolerance: a difference in the user's units that does not matter.
        feasible: probability of satisfying the bounds of metrics that the point must reach, if the recommended one
        does.
    """
    values = state.record.values
    usual = SHARE * (float(values.max()) - float(np.quantile(values, WORSE)))
    point, (lower,) = found.point, predict(state, found.point[None]).lcb
    floor = float(lower) - max(tolerance, found.std, usual)
    required = min(feasible, float(feasible_probability(state, point[None])[0]))
    while len(others := _with_one_put_back(point, baseline, within)):
        lowest = predict(state, others).lcb
        as_good = (lowest >= floor) & (feasible_probability(state, others) >= required)
        if not as_good.any():
            break
        point = others[np.argmax(np.where(as_good, lowest, -np.inf))]
    at = predict(state, point[None])
    return Recommendation(point, float(at.mean[0]), float(at.std[0]), _changes(state, point, baseline, within))


def _changes(state: State, point: Array, baseline: Mapping[int, float], within: Slice) -> tuple[Change, ...]:
    """Return the changes of a point, each with the decrease of the mean if only this value is reset."""
    axes = _changed(point, baseline, within)
    if not axes:
        return ()
    put_back = np.array([_put_back(point, axis, baseline, within) for axis in axes])
    means = predict(state, np.concatenate([point[None], put_back])).mean
    return tuple(Change(axis, float(loss)) for axis, loss in zip(axes, means[0] - means[1:], strict=True))


def _with_one_put_back(point: Array, baseline: Mapping[int, float], within: Slice) -> Array:
    """Return the feasible points of the slice, (k, d), that result from a point, (d,), if one value is reset to the
    baseline. Baseline values that are withdrawn rows of a catalogue are skipped."""
    withdrawn = {k for k, axis in within.catalogues.items() if k in baseline and not axis.offers_at(baseline[k])}
    axes = (axis for axis in _changed(point, baseline, within) if axis not in withdrawn)
    found = [_put_back(point, axis, baseline, within) for axis in axes]
    if within.feasible is not None:
        found = [each for each in found if within.feasible.admits(each)]
    return np.array(found).reshape(-1, len(point))


def _changed(point: Array, baseline: Mapping[int, float], within: Slice) -> list[int]:
    """Return the active axes along which a point, (d,), differs from the baseline."""
    active = within.space.activity.active(point[None])[0]
    return [axis for axis, at in baseline.items() if active[axis] and point[axis] != at]


def _together(within: Slice, axis: int) -> tuple[int, ...]:
    """Return the axes that are reset together with an axis: all shares of its mixture."""
    mixtures = within.feasible.mixtures if within.feasible is not None else ()
    return next((mixture.axes for mixture in mixtures if axis in mixture.axes), (axis,))


def _put_back(point: Array, axis: int, baseline: Mapping[int, float], within: Slice) -> Array:
    """Return a point, (d,), with the baseline's value along an axis, and along axes that become active. The resulting
    point was not measured, so its values are moved to the steps of their parameters."""
    activity, moved = within.space.activity, point.copy()
    for each in _together(within, axis):
        moved[each] = baseline[each]
    activated = activity.active(moved[None])[0] & ~activity.active(point[None])[0]
    for other in np.flatnonzero(activated):
        moved[other] = baseline.get(int(other), moved[other])
    return within.space.on_steps(within.put(moved[None])[0])
