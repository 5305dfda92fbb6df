"""What the page says of a result that a person has just entered: the stored numbers, and whether they are unusual."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from adabkb_service.contract.algorithms import AutoProfile
from adabkb_service.contract.answers import Study, Trial
from adabkb_service.contract.quantities import with_unit
from adabkb_service.contract.stored import definition_of
from adabkb_service.engine.answers import INTERVAL
from adabkb_service.errors import Unavailable
from adabkb_service.operations.service import Service
from adabkb_service.operations.words import digits, wording
from adabkb_service.storage import observations, result_table, studies, trials
from adabkb_service.study import lifecycle, render

WIDE = 2.5758293035489004
"""Half the width of a central 99% interval of a normal distribution, in standard deviations."""
FEWEST = 4
"""The minimum number of other results with which a result is compared."""
CHECK = "Check the number and its decimal point."
BEYOND = 0.5
"""Without a prediction, a result is unusual if it is farther outside the range of all others than this share of it."""
APART = 0.25
"""A repetition is unusual if it differs from the mean of earlier results there by more than this share of the range."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A result that was just stored."""

    told: str
    """Its numbers, with their units."""
    warning: str
    """A sentence if it is unusual; empty otherwise."""


def stored(service: Service, study_id: str, seq: int) -> Stored:
    """Return what to say of a result. It is unusual outside the 99% interval of what the model expected when it chose
    the point, widened by the noise; without such a prediction, if it is far outside the range of all others; and beyond
    natural bounds. A repetition is also compared with the earlier results at its point.

    Raises:
        StudyNotFound, ObservationNotFound: the study or the result does not exist.
    """
    with service.database.reading() as connection:
        row = studies.get(connection, study_id)
        result = observations.get(connection, study_id, seq)
        trial = None if result.trial is None else render.trial(trials.get(connection, study_id, result.trial))
        others = result_table.others(connection, study_id, seq)
        definition = definition_of(row.definition)
    study = lifecycle.full_view(row)
    told = wording.result(study.quantities, {"value": result.value, "metrics": result.metrics or {}})
    view = render.observation(result, definition, definition.space())
    if view.beyond_natural_bounds:
        return Stored(told, wording.beyond_natural_bounds(study, view))
    if result.value is None or study.objectives or others.count < FEWEST:
        return Stored(told, "")
    return Stored(told, _warning(service, study, result.value, others, trial, row.best))


def _warning(
    service: Service,
    study: Study,
    value: float,
    others: result_table.Others,
    trial: Trial | None,
    best: dict[str, Any] | None,
) -> str:
    """Return a sentence about a value that is unusual beside the other results; empty if it is not."""
    extent = others.high - others.low
    if others.there is not None and abs(value - others.there) > APART * extent:
        there = wording.in_unit(study, None, float(f"{others.there:.4g}"))
        return f"This is unusual: at the same point, the result was {there} before. {CHECK}"
    expected = _expected(service, study, trial, best)
    if expected is not None:
        low, high = expected
        if not low <= value <= high:
            return f"This is unusual: the model expected a result between {_range(study, low, high)} (99%). {CHECK}"
        return ""
    most = BEYOND * extent
    if not others.low - most <= value <= others.high + most:
        within = _range(study, others.low, others.high)
        return f"This is unusual: all other results are between {within}. {CHECK}"
    return ""


def _expected(
    service: Service, study: Study, trial: Trial | None, best: dict[str, Any] | None
) -> tuple[float, float] | None:
    """Return the central 99% interval of a result of a trial: the prediction that the model made when it chose the
    point, widened by the noise. None without a prediction, or if the model does not tell the noise in time."""
    found = None if trial is None else trial.expected
    if found is None or None in (found.mean, found.lcb, found.ucb) or not isinstance(study.algorithm, AutoProfile):
        return None
    try:
        _, assessed = service.ask(study.id, "assessment", None if best is None else best["parameters"])
    except Unavailable:
        return None
    mean, lcb, ucb = found.mean or 0.0, found.lcb or 0.0, found.ucb or 0.0
    noise = WIDE * (assessed.repeated or 0.0)
    low = mean - math.hypot((mean - lcb) * WIDE / INTERVAL, noise)
    high = mean + math.hypot((ucb - mean) * WIDE / INTERVAL, noise)
    return low, high


def _range(study: Study, low: float, high: float) -> str:
    """Format the ends of a range, clipped to the natural bounds, with two digits of its width."""
    known = wording.quantity(study)
    width = high - low
    ends = [digits.estimate(known.within(each), width / 4.0).split("\N{NO-BREAK SPACE}")[0] for each in (low, high)]
    return with_unit(" and ".join(ends), known.unit)
