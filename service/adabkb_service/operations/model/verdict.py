"""Whether a study's model can be trusted, judged by its predictions of results that it had not seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from adabkb_service.contract.analysis import NoValidation, ValidationItem, Verdict, VerdictCode
from adabkb_service.contract.quantities import Quantity, in_points
from adabkb_service.operations.words.digits import difference

NoVerdict = Literal["constant", "not_this_algorithm"]
"""Why a model cannot be checked, with any number of results."""
MIN_RESULTS = 8
"""The minimum number of results for a verdict."""
POOR = 0.85
"""The model predicts poorly if its mean error is at least this share of the mean error of the median of other results.
With 20 results of pure noise, 90% of these ratios are at least this large."""
WIDE = 0.8
"""The intervals are too wide if half of them are at least this share of the range of all results."""
LEVELS: dict[VerdictCode, Literal["unknown", "low", "medium", "high"]] = {
    "too_few_results": "unknown",
    "constant": "unknown",
    "not_this_algorithm": "unknown",
    "poor_predictions": "low",
    "wide_intervals": "low",
    "too_sure": "medium",
    "reliable": "high",
}
TOO_EARLY = "It is too early to say whether you can trust the model{of}: {needed}."
TOO_SMALL = (
    "The model{of} cannot be checked: the space has only {points} points, and a check needs results at "
    f"{MIN_RESULTS} points."
)
NO_VERDICT: dict[NoVerdict, str] = {
    "constant": "The model{of} cannot be checked: the results are all equal or too far apart.",
    "not_this_algorithm": "The model{of} cannot be checked: this needs the profile auto.",
}
ANSWERS: dict[VerdictCode, str] = {
    "poor_predictions": "Do not rely on the model{of} yet: it predicts hardly better than the median of the results.",
    "wide_intervals": "You can hardly trust the model{of}.",
    "too_sure": "You can partly trust the model{of}: its intervals are too narrow.",
    "reliable": "You can mostly trust the model{of}.",
}


class WithInterval(Protocol):
    """A result with its 90% interval."""

    @property
    def value(self) -> float:
        """The measured value."""

    @property
    def lcb(self) -> float:
        """The lower end of the interval."""

    @property
    def ucb(self) -> float:
        """The upper end of the interval."""


class Suggested(NamedTuple):
    """A result, and the 90% interval that the model gave for it when it suggested the point."""

    value: float
    lcb: float
    ucb: float


class Errors(NamedTuple):
    """Mean absolute errors of predictions; None beyond floating point."""

    of_model: float | None
    of_median: float | None
    """The error if each result is predicted by the median of the other results."""

    @property
    def are_poor(self) -> bool:
        """Whether the model's predictions are hardly better than the median."""
        return None not in self and (self.of_model or 0.0) >= POOR * (self.of_median or 0.0)


class JudgedResults(NamedTuple):
    """The predictions on which a verdict is based."""

    results: int
    """The number of results that the model uses."""
    items: Sequence[ValidationItem]
    """Leave-one-out predictions."""
    once: Sequence[ValidationItem]
    """The items at points without repetitions; all items if there are none."""
    suggested: Sequence[Suggested]
    """Results with the intervals that were given with their suggestions."""
    errors: Errors
    """The errors of ``once``."""


def verdict(found: JudgedResults, fewest: int, quantity: Quantity, of: str = "", points: float = math.inf) -> Verdict:
    """Return whether a model can be trusted.

    Args:
        found: its predictions.
        fewest: the minimum number of results for a reliable model.
        quantity: the metric, with its unit and natural bounds.
        of: the metric, if the study has several models, such as " of the cost".
        points: the number of points of the space.
    """
    if found.results < fewest or len(found.once) < MIN_RESULTS:
        has_repetitions = len(found.once) < len(found.items)
        usable = found.results if has_repetitions else len(found.once)
        return too_early(max(fewest - found.results, MIN_RESULTS - usable), of, points)
    is_wide = _are_wide(found, quantity)
    code: VerdictCode = "reliable"
    if found.errors.are_poor:
        code = "poor_predictions"
    elif is_wide:
        code = "wide_intervals"
    elif any(is_too_narrow(_inside(each), len(each)) for each in (found.once, found.suggested)):
        code = "too_sure"
    note = "" if len(found.items) == found.results else f" (of {found.results}, only {len(found.items)} are judged)"
    sentences = [
        ANSWERS[code].format(of=of),
        f"From the other results, it predicts {_share(found.once)} in its 90% intervals{note}.",
    ]
    if found.suggested:
        sentences.append(
            f"With the suggestions, before the results were known, it predicted {_share(found.suggested)}."
        )
    if is_wide:
        sentences.append("This proves little, since the intervals are nearly as wide as the range of all results.")
    if None not in found.errors:
        off, of_median = (in_points(difference(each or 0.0), quantity.unit) for each in found.errors)
        sentences.append(f"Its mean error is {off}; that of the median of the other results is {of_median}.")
    repeated = len(found.items) - len(found.once)
    if repeated:
        sentences.append(f"{repeated} results at repeated points do not count, since they predict each other.")
    return Verdict(
        code=code,
        level=LEVELS[code],
        text=" ".join(sentences),
        suggested=len(found.suggested),
        suggested_inside=_inside(found.suggested),
    )


def too_early(missing: int, of: str = "", points: float = math.inf) -> Verdict:
    """Return that there are too few results for a verdict.

    Args:
        missing: the number of results that are missing; 0 or less if there are enough, but too many repetitions.
        of: as in ``verdict``.
        points: the number of points of the space.
    """
    if points < MIN_RESULTS:
        return _unknown("too_few_results", TOO_SMALL.format(of=of, points=int(points)))
    needed = f"it needs {missing} more result{'' if missing == 1 else 's'}"
    if missing <= 0:
        needed = f"it needs results at {MIN_RESULTS} points that were not repeated"
    return _unknown("too_few_results", TOO_EARLY.format(of=of, needed=needed))


def without_verdict(reason: NoVerdict, of: str = "") -> Verdict:
    """Return that a model cannot be checked; ``of`` as in ``verdict``."""
    return _unknown(reason, NO_VERDICT[reason].format(of=of))


def _unknown(code: NoValidation, text: str) -> Verdict:
    return Verdict(code=code, level=LEVELS[code], text=text, suggested=0, suggested_inside=0)


def is_too_narrow(inside: int, count: int) -> bool:
    """Return whether the share of results inside their 90% intervals is more than three standard deviations below
    90%."""
    return count > 0 and inside / count < 0.9 - 3.0 * math.sqrt(0.9 * 0.1 / count)


def _are_wide(found: JudgedResults, quantity: Quantity) -> bool:
    """Return whether most intervals, within the natural bounds, are nearly as wide as the range of all results."""
    values = [each.value for each in found.items]
    widths = sorted(quantity.within(each.ucb) - quantity.within(each.lcb) for each in found.once)
    return widths[len(widths) // 2] >= WIDE * (max(values) - min(values))


def _inside(found: Sequence[WithInterval]) -> int:
    return sum(each.lcb <= each.value <= each.ucb for each in found)


def _share(found: Sequence[WithInterval]) -> str:
    """Return how many results lie in their intervals, and how many should."""
    return f"{_inside(found)} of {len(found)} ({math.floor(0.9 * len(found) + 0.5)} expected)"
