"""``python -m benchmarks.quality.gain``: the probability of a gain as a frequency.

How often do runs of ``auto`` on the development families still gain more than 1% of the range of their results, within
as many evaluations as they have results? A logistic regression on the number of results since the last gain gives the
constants of ``contract/gain.py``. It is checked in ten bins on each family, and on each kind of families, with the
constants that the others give. Families with noise are left aside, since there the best result also gets better by
luck; how often it does is told beside. Writes results/gain.json.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import rankdata

from adabkb_service.contract.gain import GAIN, advance, pace
from adabkb_service.storage.columns import Progress
from benchmarks.functions import Array
from benchmarks.output import RESULTS, print_table, provenance, write
from benchmarks.quality.traces import Trace, collected, options

COUNTS = sorted({round(5 * 1.05**step) for step in range(76)})
"""Numbers of results at which a run is asked, 5 to 194, as far as it goes on for as many evaluations again."""
BINS = 10
HEADER = ["predicted", "gained", "cases"]


@dataclass(frozen=True, slots=True)
class Cases:
    """Moments of runs."""

    families: Array
    """(n,) names."""
    kinds: Array
    """(n,) names."""
    logs: Array
    """(n,) logarithms of what the odds are a power of."""
    gained: Array
    """(n,) 1 where the run still gained, else 0."""

    def where(self, chosen: Array) -> Cases:
        """Some of them."""
        return Cases(self.families[chosen], self.kinds[chosen], self.logs[chosen], self.gained[chosen])


def cases(traces: Sequence[Trace]) -> Cases:
    """The runs at each of ``COUNTS``."""
    rows = [row for trace in traces for row in _of_run(trace)]
    families, kinds, logs, gained = map(np.array, zip(*rows, strict=True))
    return Cases(families, kinds, logs, gained.astype(float))


def _of_run(trace: Trace) -> list[tuple[str, str, float, bool]]:
    best, largest = np.minimum.accumulate(trace.values), np.maximum.accumulate(trace.values)
    progress: Progress | None = None
    found = []
    for count, value in enumerate(trace.values, start=1):
        progress = advance(progress, -value)
        if count in COUNTS and 2 * count <= len(trace.values):
            now, later = best[count - 1], best[2 * count - 1]
            gained = now - later > GAIN * (largest[count - 1] - now)
            log = math.log(pace(progress["since"], trace.dimension))
            found.append((trace.family, trace.kind, log, bool(gained)))
    return found


def fitted(those: Cases) -> Array:
    """(2,) logarithm of the factor, and the exponent: of the largest likelihood."""

    def loss(constants: Array) -> float:
        z = constants[0] + constants[1] * those.logs
        return float(np.mean(np.logaddexp(0.0, z) - those.gained * z))

    found: Array = minimize(loss, np.zeros(2)).x
    return found


def predicted(constants: Array, those: Cases) -> Array:
    """(n,) probabilities."""
    found: Array = 1.0 / (1.0 + np.exp(-constants[0] - constants[1] * those.logs))
    return found


def left_out(those: Cases, groups: Array) -> dict[str, Any]:
    """How well the constants that all other groups give tell the frequency in a group."""
    found = np.empty(len(those.gained))
    for group in np.unique(groups):
        own = groups == group
        found[own] = predicted(fitted(those.where(~own)), those.where(own))
    bins = calibration(found, those.gained)
    return {
        "auc": separation(found, those.gained),
        "largest_difference": max(abs(each["predicted"] - each["gained"]) for each in bins),
        "bins": bins,
    }


def calibration(probabilities: Array, gained: Array) -> list[dict[str, float]]:
    """Bins of as many cases each, by probability: its mean, and the share that gained."""
    order = np.argsort(probabilities, kind="stable")
    return [
        {"predicted": float(probabilities[some].mean()), "gained": float(gained[some].mean()), "cases": len(some)}
        for some in np.array_split(order, BINS)
    ]


def separation(probabilities: Array, gained: Array) -> float:
    """The area under the ROC curve: how often, of one case that gained and one that did not, the former has the larger
    probability."""
    ranks, positive = rankdata(probabilities), gained.sum()
    return float((ranks[gained == 1].sum() - positive * (positive + 1) / 2) / (positive * (len(gained) - positive)))


def main() -> None:
    asked = options(__doc__ or "", RESULTS / "gain.json").parse_args()
    traces = collected(asked)
    those = cases([trace for trace in traces if not trace.noise])
    noisy = cases([trace for trace in traces if trace.noise])
    constants = fitted(those)
    content: dict[str, Any] = {
        "runs": len(traces),
        "cases": len(those.gained),
        "factor": math.exp(constants[0]),
        "exponent": float(constants[1]),
        "families_left_out": left_out(those, those.families),
        "kinds_left_out": left_out(those, those.kinds),
        "with_noise": {"bins": calibration(predicted(constants, noisy), noisy.gained)},
    }
    write(asked.out, {**provenance("benchmarks.quality.gain"), **content})
    print(f"factor {content['factor']:.3f}, exponent {content['exponent']:.3f}")
    print_table(HEADER, rows(content["families_left_out"]["bins"]))


def rows(bins: Sequence[dict[str, float]]) -> list[list[str]]:
    """The bins as a table."""
    return [[f"{each['predicted']:.0%}", f"{each['gained']:.0%}", str(each["cases"])] for each in bins]


if __name__ == "__main__":
    main()
