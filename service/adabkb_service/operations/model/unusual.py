"""The message of the page about a result that a person has entered: the stored numbers, and whether they are
unusual."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import Connection

from adabkb_service.contract.algorithms import AutoProfile
from adabkb_service.contract.answers import Observation, Study, Trial
from adabkb_service.contract.stored import StoredDefinition, definition_of
from adabkb_service.engine.answers import INTERVAL
from adabkb_service.errors import Unavailable
from adabkb_service.inference.questions import Assessed
from adabkb_service.operations.model.analysis import validation
from adabkb_service.operations.service import Service
from adabkb_service.operations.words import wording
from adabkb_service.storage import observations, result_table, studies, trials
from adabkb_service.storage.rows import ObservationRow, StudyRow
from adabkb_service.study import lifecycle, render

WIDE = 2.5758293035489004
"""Half the width of a central 99% interval of a normal distribution, in standard deviations."""
FEWEST = 4
"""The minimum number of other results with which a result is compared."""
MOST = 5000
"""In studies with more results, ``warnings`` returns nothing, since it compares each given result with all results."""
CONFIRMED = "confirmed"
"""The attribute with the value that a person has confirmed."""
CHECK = "Check the number and its decimal point."
BEYOND = 0.5
"""Without a prediction, a result is unusual if it is outside the range of all others by more than this share of the
range."""
APART = 0.25
"""A result is unusual if it differs from the mean of the other results at its point by more than this share of the
range of all other results."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A result that was just stored."""

    numbers: str
    """Its numbers, with their units."""
    warning: str
    """A sentence if the result is unusual; empty otherwise."""


def stored(service: Service, study_id: str, seq: int) -> Stored:
    """Return a result's numbers, and a warning if it is unusual. It is unusual if it is beyond natural bounds. If there
    are other results at its point, it is compared with these. Otherwise, it is unusual if it is outside the 99%
    interval that the model predicted when it chose the point, widened by the noise. Without such a prediction, or if
    the prediction is based on too few results, it is unusual if it is far outside the range of all other results.

    Raises:
        StudyNotFound, ObservationNotFound: the study or the result does not exist.
        Busy: too many requests wait for the model.
    """
    with service.database.reading() as connection:
        row = studies.get(connection, study_id)
        definition = definition_of(row.definition)
        compared = _compare(connection, row, definition, observations.get(connection, study_id, seq))
    study = lifecycle.full_view(row, definition)
    result = compared.result
    numbers = wording.result(study.quantities, {"value": result.value, "metrics": result.metrics or {}})
    if result.missing:
        numbers = f"{numbers}; {wording.missing(study, result)} still missing"
    return Stored(numbers, _sentence(study, compared, _Model(service, row)))


def warnings(service: Service, study_id: str, seqs: Sequence[int]) -> dict[int, str]:
    """Return number -> warning, for those of the given results that are unusual. Results that are excluded or outside
    the space, or whose value a person has confirmed, have no warning.

    Raises:
        StudyNotFound: the study does not exist.
        Busy: too many requests wait for the model.
    """
    with service.database.reading() as connection:
        row = studies.get(connection, study_id)
        if row.observations > MOST:
            return {}
        definition = definition_of(row.definition)
        compared = [
            _compare(connection, row, definition, result)
            for result in observations.of_numbers(connection, study_id, seqs)
            if not result.excluded
        ]
    study, model = lifecycle.full_view(row, definition), _Model(service, row)
    found = {
        each.result.seq: _sentence(study, each, model)
        for each in compared
        if not each.result.outside and each.confirmed != each.result.value
    }
    return {seq: sentence for seq, sentence in found.items() if sentence}


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A result, and what it is compared with."""

    result: Observation
    first: Trial | None
    """The trial of the first result at its point; None if this result has no trial."""
    before: int
    """The number of results when the trial was suggested; 0 without a prediction."""
    others: result_table.Others
    confirmed: Any
    """The value that a person has confirmed; None without one."""


def _compare(
    connection: Connection, row: StudyRow, definition: StoredDefinition, result: ObservationRow
) -> _Comparison:
    others = result_table.others(connection, row.id, result.seq)
    own = None if result.trial is None else trials.get(connection, row.id, result.trial)
    _, number = min([(result.seq, result.trial), *((each.seq, each.trial) for each in others.there)])
    first = own if number == result.trial else number and trials.get(connection, row.id, number)
    shown = render.trial(first, definition) if first else None
    attributes = result.attributes if own is None else own.attributes
    return _Comparison(
        render.observation(result, definition, definition.space()),
        shown,
        result_table.count_before(connection, row.id, shown.created_at) if shown and shown.expected else 0,
        others,
        (attributes or {}).get(CONFIRMED),
    )


class _Model:
    """Facts about a study's model. The model is asked when they are first needed; they are missing if it does not
    answer in time.

    Args:
        service: the running service.
        row: the study.
    """

    def __init__(self, service: Service, row: StudyRow) -> None:
        self._service = service
        self._row = row

    @cached_property
    def assessed(self) -> Assessed | None:
        best = None if self._row.best is None else self._row.best["parameters"]
        try:
            _, found = self._service.ask(self._row.id, "assessment", best)
        except Unavailable:
            return None
        assessed: Assessed = found
        return assessed

    @cached_property
    def doubted(self) -> frozenset[int]:
        """The numbers of the results to which the model gives less weight."""
        try:
            found = validation(self._service, self._row.id)
        except Unavailable:
            return frozenset()
        return frozenset(each.observation for each in found.items if each.doubted)


def _sentence(study: Study, compared: _Comparison, model: _Model) -> str:
    result, others = compared.result, compared.others
    if result.beyond_natural_bounds:
        return wording.beyond_natural_bounds(study, result)
    if result.value is None or study.objectives or others.count < FEWEST:
        return ""
    return _warning(study, result.value, compared, model)


def _warning(study: Study, value: float, compared: _Comparison, model: _Model) -> str:
    """Return a sentence about a value that is unusual compared with the other results; empty if it is not."""
    others = compared.others
    extent = others.high - others.low
    if others.there:
        if abs(value - others.mean_there) <= APART * extent or _is_other_wrong(study, value, compared, model):
            return ""
        return f"This is unusual: at the same point, {wording.at_point(study, others.there)}. {CHECK}"
    expected = _predicted_range(study, compared, model)
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


def _is_other_wrong(study: Study, value: float, compared: _Comparison, model: _Model) -> bool:
    """Return whether the other results at the point are probably wrong, and this value is not.

    That is so if the model gives less weight to one of the other results at the point, and not to this one. If the
    model gives full weight to all results at the point, its prediction before the first of them decides: the
    prediction's interval must contain this value, but not the mean of the others. Without a prediction, the interval is
    the range of the results at other points, widened by ``BEYOND`` times its length at either end."""
    if model.doubted.intersection(each.seq for each in compared.others.there):
        return compared.result.seq not in model.doubted
    if compared.result.seq in model.doubted:
        return False
    lowest, highest = compared.others.elsewhere
    most = BEYOND * (highest - lowest)
    low, high = _predicted_range(study, compared, model) or (lowest - most, highest + most)
    return low <= value <= high and not low <= compared.others.mean_there <= high


def _predicted_range(study: Study, compared: _Comparison, model: _Model) -> tuple[float, float] | None:
    """Return the central 99% interval of a result at a point: the prediction that the model made when it chose the
    point for the first time, widened by the noise. None without a prediction, if the model had too few results to rely
    on it, or if it does not answer in time."""
    found = None if compared.first is None else compared.first.expected
    if found is None or None in (found.mean, found.lcb, found.ucb) or not isinstance(study.algorithm, AutoProfile):
        return None
    assessed = model.assessed
    if assessed is None or compared.before < (assessed.fewest or 0):
        return None
    repeated = assessed.repeated or 0.0
    mean, lcb, ucb = found.mean or 0.0, found.lcb or 0.0, found.ucb or 0.0
    low = mean - math.hypot((mean - lcb) * WIDE / INTERVAL, WIDE * repeated)
    high = mean + math.hypot((ucb - mean) * WIDE / INTERVAL, WIDE * repeated)
    return low, high


def _range(study: Study, low: float, high: float) -> str:
    """Format the ends of a range, clipped to the natural bounds, with two digits of its width."""
    return wording.interval(study, low, high, (high - low) / 4.0)
