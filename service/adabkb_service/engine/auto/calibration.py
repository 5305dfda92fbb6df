"""How much wider (or narrower) than the posterior's a reported interval is, so that it holds what it says.

The posterior takes the learned hyperparameters for certain, and learns them from points that are uniform at first and
crowded later. Two corrections, both of predictions alone; the search does not see them:

* With few results the deviation is too small by about ``exp(a / n^b)``.
* Where the search has chosen the points, the amplitude is too large for the rest of the box, or too small. The results
  left out one after the other tell (Rasmussen and Williams 2006, eq. 5.12): with leave-one-out errors r_i and
  variances v_i,

      R = (e sum r_i^2 / sum v_i + 1) / (e + 1),   e = (sum v_i)^2 / sum v_i^2,

  which lonely results dominate, as in the rest of the box every point is lonely; e is their number, and the ones are
  one result that is as expected. Deviations are multiplied by R. Among the results, where s^2 is below the mean v, an
  R < 1 counts only by its power s^2 / v: what lonely results say is of no use there.

The form and the constants were chosen by ``benchmarks.calibration`` on some functions and judged on others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.auto import surrogate
from adabkb_service.engine.auto.likelihood import MIN_RESULTS
from adabkb_service.engine.auto.rows import noise_ratios, to_learn_from
from adabkb_service.engine.auto.state import State
from adabkb_service.engine.auto.surrogate import Surrogate

Array = NDArray[np.float64]

AMOUNT, POWER = 2.8, 0.85
"""a and b."""
FEWEST_MEASURED = 5
"""Results below which the first correction stays as it is with so many."""
LEAST, MOST = 1.0 / 3.0, 3.0
"""Of R."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The corrections of one state."""

    small: float = 1.0
    """exp(a / n^b)."""
    ratio: float = 1.0
    """R."""
    typical: float = math.inf
    """The mean v, in squared model output units."""

    def widened(self, deviations: Array) -> Array:
        """The posterior's deviations (k,), corrected."""
        power = np.minimum(deviations**2 / self.typical, 1.0) if self.ratio < 1.0 else 1.0
        found: Array = deviations * self.small * self.ratio**power
        return found


def calibrate(state: State) -> Calibration:
    """The corrections of a state; R is 1 as long as it is not known how the objective varies."""
    values = state.record.values
    if not len(values):
        return Calibration()
    small = math.exp(AMOUNT / max(len(values), FEWEST_MEASURED) ** POWER)
    if len(values) < MIN_RESULTS or values.min() == values.max():
        return Calibration(small)
    errors, variances = left_out(_exact(state))
    number = variances.sum() ** 2 / (variances**2).sum()
    ratio = (number * (errors**2).sum() / variances.sum() + 1.0) / (number + 1.0)
    return Calibration(small, min(max(float(ratio), LEAST), MOST), float(variances.mean()))


def _exact(state: State) -> Surrogate:
    """The posterior with every result in it, or where that is compressed, one of some results."""
    if state.checkpoint.dictionary is None:
        return state.surrogate
    record, hyperparameters = state.record, state.checkpoint.hyperparameters
    rows = to_learn_from(state.problem.seed, record.values)
    values = record.values[rows]
    noises = noise_ratios(state.problem, hyperparameters, state.warp, values, record.errors[rows])
    kernel, outputs = state.surrogate.kernel, state.warp.forward(values)
    return surrogate.exact(kernel, hyperparameters.variance, record.positions[rows], outputs, noises)


def left_out(view: Surrogate) -> tuple[Array, Array]:
    """What an exact posterior says of each of its n rows by the others: errors and variances (of results), (n,) each.

    With P = W'W = (K + N)^-1 they are a_i / P_ii and sigma_f^2 / P_ii.
    """
    precisions = (view.factor**2).sum(axis=0)
    return view.weights / precisions, view.variance / precisions
