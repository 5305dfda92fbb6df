"""The measurements of a run: pairs per second, and durations of calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

PARTS = ("server", "models", "clients", "machine")
"""Parts whose processor time is measured. The machine's time includes all others."""


@dataclass(frozen=True, slots=True)
class Pair:
    """When a suggestion was requested and received, and its result sent and acknowledged, in seconds."""

    asked: float
    suggested: float
    told: float
    observed: float
    degraded: bool = False
    """Whether the suggestion is a fallback."""


def summary(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Pairs per second, in total and for each half of the pairs, and durations of calls in milliseconds."""
    first = min(pair.asked for pair in pairs)
    ends = np.sort([pair.observed for pair in pairs]) - first
    half = len(pairs) // 2
    suggest = np.array([pair.suggested - pair.asked for pair in pairs])
    observe = np.array([pair.observed - pair.told for pair in pairs])
    return {
        "pairs": len(pairs),
        "seconds": float(ends[-1]),
        "pairs_per_second": len(pairs) / float(ends[-1]),
        "halves": [half / float(ends[half - 1]), (len(pairs) - half) / float(ends[-1] - ends[half - 1])],
        **{
            name: [1e3 * float(quantile) for quantile in np.quantile(seconds, [0.5, 0.99])]
            for name, seconds in (("suggest_ms", suggest), ("observe_ms", observe), ("pair_ms", suggest + observe))
        },
    }
