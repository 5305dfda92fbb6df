"""The common work of all methods: pairs of calls in eight studies of one cheap function."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.quality.functions import FUNCTIONS

STUDIES = 8
WARM_UP = 4
"""Results per study during warm-up, with other studies, so that connections, imports and caches are not measured."""

FUNCTION = FUNCTIONS["Hartmann_6"]
BOUNDS = {f"x{i}": ends for i, ends in enumerate(FUNCTION.box)}


def value(parameters: Mapping[str, float]) -> float:
    """The result at a point; smaller is better."""
    return FUNCTION.evaluate(np.array([parameters[name] for name in BOUNDS]))


def dealt(worker: int, workers: int, results: int) -> list[int]:
    """The studies of one worker's pairs, in order, such that all studies get the same number of results.

    Pair i of all belongs to study i modulo 8, and to worker i modulo the number of workers. A single worker takes the
    studies in turn, each of eight workers has its own study, and with 32 workers, four share a study.
    """
    return [pair % STUDIES for pair in range(worker, STUDIES * results, workers)]
