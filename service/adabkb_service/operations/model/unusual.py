"""What the page says of a result that a person has entered: the stored numbers, and whether they are unusual."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from sqlalchemy import Connection

from adabkb_service.contract.algorithms import AutoProfile
from adabkb_service.contract.answers import Observation, Study, Trial
from adabkb_service.contract.quantities import with_unit
from adabkb_service.contract.stored import definition_of
from adabkb_service.engine.answers import INTERVAL
from adabkb_service.errors import Unavailable
from adabkb_service.inference.questions import Assessed
from adabkb_service.operations.service import Service
from adabkb_service.operations.words import digits, wording
from adabkb_service.storage import observations, result_table, studies, trials
from adabkb_service.storage.rows import ObservationRow, StudyRow
from adabkb_service.study import lifecycle, render

WIDE = 2.5758293035489004
"""Half the width of a central 99% interval of a normal distribution, in standard deviations."""
FEWEST = 4
"""The minimum number of other results with which a result is compared."""
MOST = 5000
"""Studies with more results have no lasting warnings, since each result is compared with all others."""
CONFIRMED = "confirmed"
"""The attribute with the value that a person has confirmed."""
CHECK = "Check the number and its decimal point."
BEYOND = 0.5
"""Without a prediction, a result is unusual if it is outside the range of all others by more than this share of the
range."""
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
    """Return what to say about a result. It is unusual outside the 99% interval of what the model expected when it
    chose the point, widened by the noise. Without such a prediction, or if it rests on too few results, it is unusual
    far outside the range of all others. It is also unusual beyond natural bounds. Where there are other results at its
    point, it is compared with these instead.

    Raises:
        StudyNotFound, ObservationNotFound: the study or the result does not exist.
    """
    with service.database.reading() as connection:
        row = studies.get(connection, study_id)
        judged = _judged(connection, row, observations.get(connection, study_id, seq))
    study = lifecycle.full_view(row)
    result = judged.result
    numbers = wording.result(study.quantities, {"value": result.value, "metrics": result.metrics or {}})
    return Stored(numbers, _sentence(study, judged, partial(_assessed, service, row)))


def warnings(service: Service, study_id: str, seqs: Sequence[int]) -> dict[int, str]:
    """Return the warnings about those of the results that are unusual, by number. A result that does not count, or
    whose number a person has confirmed, has none.

    Raises:
        StudyNotFound: the study does not exist.
    """
    with service.database.reading() as connection:
        row = studies.get(connection, study_id)
        if row.observations > MOST:
            return {}
        judged = [
            _judged(connection, row, result)
            for result in observations.of_numbers(connection, study_id, seqs)
            if not result.excluded
        ]
    study, assessed = lifecycle.full_view(row), cache(partial(_assessed, service, row))
    found = {
        each.result.seq: _sentence(study, each, assessed)
        for each in judged
        if not each.result.outside and each.confirmed != each.result.value
    }
    return {seq: sentence for seq, sentence in found.items() if sentence}


@dataclass(frozen=True, slots=True)
class _Judged:
    """A result, and what it is compared with."""

    result: Observation
    trial: Trial | None
    before: int
    """The number of results when the trial was suggested; 0 without a prediction."""
    others: result_table.Others
    confirmed: Any
    """The value that a person has confirmed; None without one."""


def _judged(connection: Connection, row: StudyRow, result: ObservationRow) -> _Judged:
    trial = None if result.trial is None else render.trial(trials.get(connection, row.id, result.trial), row)
    definition = definition_of(row.definition)
    attributes = result.attributes if trial is None else trial.attributes
    return _Judged(
        render.observation(result, definition, definition.space()),
        trial,
        0 if trial is None or not trial.expected else result_table.count_before(connection, row.id, trial.created_at),
        result_table.others(connection, row.id, result.seq),
        (attributes or {}).get(CONFIRMED),
    )


def _sentence(study: Study, judged: _Judged, assessed: Callable[[], Assessed | None]) -> str:
    result, others = judged.result, judged.others
    if result.beyond_natural_bounds:
        return wording.beyond_natural_bounds(study, result)
    if result.value is None or study.objectives or others.count < FEWEST:
        return ""
    return _warning(study, result.value, judged, assessed)


def _assessed(service: Service, row: StudyRow) -> Assessed | None:
    """Return facts about the model; None if it does not answer in time."""
    try:
        _, assessed = service.ask(row.id, "assessment", None if row.best is None else row.best["parameters"])
    except Unavailable:
        return None
    found: Assessed = assessed
    return found


def _warning(study: Study, value: float, judged: _Judged, assessed: Callable[[], Assessed | None]) -> str:
    """Return a sentence about a value that is unusual beside the other results; empty if it is not."""
    others = judged.others
    extent = others.high - others.low
    if others.there is not None:
        if abs(value - others.there) <= APART * extent:
            return ""
        there = wording.in_unit(study, None, float(f"{others.there:.4g}"))
        return f"This is unusual: at the same point, the result was {there} before. {CHECK}"
    expected = _expected(study, judged, assessed)
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


def _expected(study: Study, judged: _Judged, assessed: Callable[[], Assessed | None]) -> tuple[float, float] | None:
    """Return the central 99% interval of a result of a trial: the prediction that the model made when it chose the
    point, widened by the noise. None without a prediction, if the model had too few results to rely on it, or if it
    does not answer in time."""
    found = None if judged.trial is None else judged.trial.expected
    if found is None or None in (found.mean, found.lcb, found.ucb) or not isinstance(study.algorithm, AutoProfile):
        return None
    model = assessed()
    if model is None or judged.before < (model.fewest or 0):
        return None
    repeated = model.repeated or 0.0
    mean, lcb, ucb = found.mean or 0.0, found.lcb or 0.0, found.ucb or 0.0
    low = mean - math.hypot((mean - lcb) * WIDE / INTERVAL, WIDE * repeated)
    high = mean + math.hypot((ucb - mean) * WIDE / INTERVAL, WIDE * repeated)
    return low, high


def _range(study: Study, low: float, high: float) -> str:
    """Format the ends of a range, clipped to the natural bounds, with two digits of its width."""
    known = wording.quantity(study)
    width = high - low
    ends = [digits.estimate(known.within(each), width / 4.0).split("\N{NO-BREAK SPACE}")[0] for each in (low, high)]
    return with_unit(" and ".join(ends), known.unit)
