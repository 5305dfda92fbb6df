"""Find results that other results contradict, by leave-one-out predictions."""

from __future__ import annotations

from collections.abc import Sequence

MIN_RESULTS = 8
"""With fewer results than this, there are no outliers."""
IMPROBABLE, IMPROBABLE_AND_GROSS = 0.01, 0.1
"""A result is an outlier if the probability of such an extreme value, times the number of results, is below the first
number. The second number applies to a result that is farther from all others than their range, such as one with a
misplaced decimal point."""


def outliers(values: Sequence[float], tails: Sequence[float], doubted: Sequence[bool]) -> list[int]:
    """Return the indices of the results that other results contradict: those that the model doubts, and the least
    probable result if it is an outlier.

    Args:
        values: the results.
        tails: for each result, the predicted probability of a value at least as extreme.
        doubted: for each result, whether the model doubts it, that is, gives it less weight.
    """
    if len(values) < MIN_RESULTS:
        return []
    least = min(range(len(values)), key=tails.__getitem__)
    contradicted = [place for place, is_doubted in enumerate(doubted) if is_doubted]
    if not doubted[least] and is_outlier(values[least], values, tails[least]):
        contradicted.append(least)
    return contradicted


def is_outlier(value: float, values: Sequence[float], tail: float) -> bool:
    """Return whether a value is an outlier. ``tail`` is the predicted probability of a value at least as extreme."""
    others = [each for each in values if each != value]
    if not others:
        return False
    low, high = min(others), max(others)
    is_gross = not 2.0 * low - high <= value <= 2.0 * high - low
    return tail * len(values) < (IMPROBABLE_AND_GROSS if is_gross else IMPROBABLE)
