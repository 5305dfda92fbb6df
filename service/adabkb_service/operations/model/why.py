"""GET /v1/studies/{id}/trials/{n}/why: how the point of a suggestion was chosen, and the events of its trial.

A decision depends on the whole log before it, so replaying the log shows what was known then. The event of the
suggestion holds the prediction at the point.
"""

from __future__ import annotations

import math

import numpy as np

from adabkb_service.contract import answers as views
from adabkb_service.contract import history
from adabkb_service.contract.algorithms import AutoProfile
from adabkb_service.contract.context import measured_of
from adabkb_service.contract.stored import StoredDefinition, definition_of
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.failures import are_many
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.space import Space
from adabkb_service.errors import TrialNotFound, Unavailable
from adabkb_service.operations.model.novelty import novelty
from adabkb_service.operations.model.why_in_words import Known, in_words
from adabkb_service.operations.service import Service
from adabkb_service.operations.words.events_in_words import happened
from adabkb_service.operations.words.labels import Labels
from adabkb_service.storage import events, studies, trials
from adabkb_service.storage.columns import BestResult, StoredPrediction
from adabkb_service.storage.rows import EventRow, StudyRow, SuggestedRow
from adabkb_service.study import lifecycle, render
from adabkb_service.study.best import as_best
from adabkb_service.study.replay_state import ReplayState, replayed


def why(service: Service, study_id: str, number: int) -> history.Why:
    """Return a trial, the decision that led to it (None for a queued trial), and all events about it.

    Raises:
        StudyNotFound, TrialNotFound: the study or the trial does not exist.
        Busy: too many requests wait for the model.
    """
    with service.database.reading() as connection:
        study = studies.get(connection, study_id)
        trial = trials.get(connection, study_id, number)
        log = events.page(connection, study_id, 0)
    trial_events = [event for event in log if event.trial == number]
    if not trial_events:
        raise TrialNotFound(study_id, number)
    first = trial_events[0]
    before = replayed(study_id, log[: first.seq - 1])
    definition = definition_of(study.definition)
    view = lifecycle.full_view(study, definition)
    decision = None
    if first.kind == "suggested":
        likely = _finish_probability(service, study, definition.space(), first, before)
        decision = _decision(study, definition, first, before).model_copy(update={"finish_probability": likely})
    return history.Why(
        trial=render.trial(trial, definition),
        decision=decision,
        events=[_with_words(view, event) for event in trial_events],
    )


def _with_words(study: views.Study, event: EventRow) -> history.TrialEvent:
    return history.TrialEvent(**dict(render.event(event)), in_words=happened(study, event))


def _finish_probability(
    service: Service, study: StudyRow, space: Space, event: SuggestedRow, before: ReplayState
) -> float | None:
    """Return the probability that a suggested trial finishes, given what was known when it was suggested. None if too
    few trials had failed, if one of the points is outside the current space, or if the model does not answer."""
    _, failed = before.awaited()
    finished = [row.parameters for row in before.counting()]
    if not are_many(len(finished), len(failed)) or service.is_loading:
        return None
    points = [event.payload["parameters"], *(before.trials[number].parameters for number in failed), *finished]
    positions = [position for point in points if (position := space.position(point)) is not None]
    if len(positions) < len(points):
        return None
    found = np.array(positions)
    try:
        _, likely = service.ask(study.id, "finishing", found[1 + len(failed) :], found[1 : 1 + len(failed)], found[0])
    except Unavailable:
        return None
    return None if likely is None else float(likely)


def _decision(study: StudyRow, current: StoredDefinition, event: SuggestedRow, before: ReplayState) -> history.Decision:
    pending, failed = before.awaited()
    definition = before.definition
    space, results = definition.space(), len(before.counting())
    stopped = (row for row in before.trials.values() if row.estimate is not None)
    results += sum(space.present(row.parameters) is not None for row in stopped)
    best = before.best_observation()
    key = None if event.payload["cell"] is None else event.payload["cell"]["key"]
    expected = event.payload["expected"]
    distance = _distance(space, event.payload["parameters"], before)
    best_result = as_best(before.study, definition, best)
    gain = None if expected is None or best_result is None else _gain(definition.sign, expected, best_result)
    names, has_intervals = Labels.of(current), isinstance(definition.algorithm, AutoProfile)
    known = Known(
        sign=definition.sign,
        best=best_result,
        distance=distance,
        context=space.context,
        measured=measured_of(definition.parameters),
        shared=definition.plates.shared if definition.plates else (),
        names=names,
        new=_novelty(space, event, before, names),
        has_intervals=has_intervals,
        results=results,
        fewest=Domain(space).fewest_results if has_intervals else 0,
    )
    return history.Decision(
        revision=before.study.study_seq,
        origin=event.payload["origin"],
        results=results,
        pending=pending,
        failed=failed,
        best=None if best_result is None else views.Best.model_validate(best_result),
        random=history.RandomKey(seed=study.seed, step=results + len(pending) + len(failed)),
        path=[] if key is None else _path(key),
        capped=event.payload["capped"],
        distance=distance,
        gain=gain,
        trust=event.payload.get("trust"),
        in_words=in_words(event, known),
    )


def _novelty(space: Space, event: SuggestedRow, before: ReplayState, names: Labels) -> str:
    """Return what was new about a suggested point; empty in the phases in which the search seeks nothing new."""
    if event.payload["phase"] not in ("search", "explore", "restart"):
        return ""
    earlier = [row.parameters for row in before.trials.values()]
    earlier += [row.parameters for row in before.observations.values()]
    return novelty(space, event.payload["parameters"], earlier, names)


def _distance(space: Space, parameters: dict[str, object], before: ReplayState) -> float | None:
    """Return the distance from the nearest earlier point; None without one. The distance is the largest difference
    along any axis of the unit cube. Two different values without an order have the difference 1."""
    points = [row.parameters for row in before.trials.values()]
    points += [row.parameters for row in before.observations.values()]
    earlier = [position for position in map(space.position, points) if position is not None]
    if not earlier:
        return None
    differences = np.abs(np.array(earlier) - space.encode(parameters))
    periodic = [isinstance(axis, FloatAxis) and axis.periodic for axis in space.axes]
    differences[:, periodic] = np.minimum(differences[:, periodic], 1.0 - differences[:, periodic])
    without_order = [axis.raw_bounds is None for axis in space.axes]
    differences[:, without_order] = differences[:, without_order] > 0.0
    # A position is the middle of a bin, but the range is from the first value to the last one.
    differences *= [1.0 if not axis.count or axis.count < 2 else axis.count / (axis.count - 1) for axis in space.axes]
    differences = np.minimum(differences, 1.0)
    return float(differences.max(axis=1).min())


def _gain(sign: float, expected: StoredPrediction, best: BestResult) -> float | None:
    """Return the expected improvement over the best result, times the probability that the outcome constraints are
    satisfied. The prediction is normally distributed. None while no result satisfies the constraints."""
    if not best.get("feasible", True):
        return None
    lead: float = sign * (expected["mean"] - best["value"])
    std, probability = expected["std"], expected.get("feasible_probability", 1.0)
    if std <= 0.0:
        return max(lead, 0.0) * probability
    z = lead / std
    density = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    return max(lead * math.erfc(-z / math.sqrt(2.0)) / 2.0 + std * density, 0.0) * probability


def _path(key: str) -> list[views.CellRef]:
    """Return the cells on the path from the root to a cell, both included."""
    steps = key.split(".")
    return [views.CellRef(key=".".join(steps[: depth + 1]), depth=depth) for depth in range(len(steps))]
