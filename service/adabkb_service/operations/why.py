"""GET /v1/studies/{id}/trials/{n}/why: what a suggestion was decided on, and what became of it.

A decision takes in the whole log before it, so the log says what there was to know. What the model predicted at the
point is part of the event.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from adabkb_service.contract import answers as views
from adabkb_service.contract import history
from adabkb_service.contract.study import definition_of
from adabkb_service.engine.space import Space
from adabkb_service.errors import LONGEST_NAME, TrialNotFound, shortened, shown
from adabkb_service.operations.service import Service
from adabkb_service.storage import events, studies, trials
from adabkb_service.storage.rows import EventRow, StudyRow
from adabkb_service.study import render
from adabkb_service.study.log import as_best
from adabkb_service.study.logged import LoggedStudy, replayed

PHASES: Mapping[str | None, str] = {
    "start": "Too little is known yet to learn from, so the first points cover the space.",
    "search": "The model expects a better result here.",
    "polish": "The point is near the best one, which may be improved a little.",
    "explore": "The model knows little about this region, and a good result is possible.",
    "restart": "The search has brought no gain for a while, so this point looks elsewhere.",
    None: "The model chose this point.",
}
FALLBACK = "The model did not answer in time, so the point is quasi-random."


def why(service: Service, study_id: str, number: int) -> history.Why:
    """The decision that made a trial, and all events about it.

    Raises:
        StudyNotFound, TrialNotFound: there is no such thing.
    """
    with service.database.reading() as connection:
        study = studies.get(connection, study_id)
        trial = trials.get(connection, study_id, number)
        log = events.page(connection, study_id, 0)
    concerning = [event for event in log if event.trial == number]
    if not concerning:
        raise TrialNotFound(study_id, number)
    first = concerning[0]
    before = replayed(study_id, log[: first.seq - 1])
    return history.Why(
        trial=render.trial(trial),
        decision=_decision(study, first, before) if first.kind == "suggested" else None,
        events=[render.event(event) for event in concerning],
    )


def _decision(study: StudyRow, event: EventRow, before: LoggedStudy) -> history.Decision:
    pending, failed = before.awaited()
    results = sum(not row.excluded for row in before.observations.values())
    results += sum(row.estimate is not None for row in before.trials.values())  # of stopped trials
    best = before.best_observation()
    key = None if event.payload["cell"] is None else event.payload["cell"]["key"]
    definition, expected = definition_of(study.definition), event.payload.get("expected")
    distance = _distance(definition.space(), event.payload["parameters"], before)
    gain = None if expected is None or best is None else _gain(definition.sign, expected, best.value)
    return history.Decision(
        revision=before.study.head,
        origin=event.payload["origin"],
        results=results,
        pending=pending,
        failed=failed,
        best=None if best is None else views.Best.model_validate(as_best(best)),
        random=history.RandomKey(seed=study.seed, step=results + len(pending) + len(failed)),
        path=[] if key is None else _path(key),
        capped=event.payload["capped"],
        distance=distance,
        gain=gain,
        in_words=_in_words(event, None if best is None else best.value, distance),
    )


def _distance(space: Space, parameters: dict[str, object], before: LoggedStudy) -> float | None:
    """How far a point is from the nearest earlier one: the largest difference along any axis of the cube."""
    earlier = [row.parameters for row in before.trials.values()]
    earlier += [row.parameters for row in before.observations.values()]
    if not earlier:
        return None
    apart = np.abs(np.array([space.encode(each) for each in earlier]) - space.encode(parameters))
    without_order = [axis.raw_bounds is None for axis in space.axes]
    apart[:, without_order] = apart[:, without_order] > 0.0
    return float(apart.max(axis=1).min())


def _gain(sign: float, expected: dict[str, float], best: float) -> float:
    """The expected improvement on the best result, by the normal distribution of the prediction."""
    lead, std = sign * (expected["mean"] - best), expected["std"]
    if std <= 0.0:
        return max(lead, 0.0)
    z = lead / std
    density = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    return max(lead * math.erfc(-z / math.sqrt(2.0)) / 2.0 + std * density, 0.0)


def _in_words(event: EventRow, best: float | None, distance: float | None) -> str:
    """Why the point was chosen, for people."""
    payload = event.payload
    if payload["origin"] == "fallback":
        return FALLBACK
    fixed, expected = payload.get("fixed"), payload.get("expected")
    sentences = [] if fixed is None else [f"The request fixed {_listed(fixed)}."]
    sentences.append(PHASES[payload.get("phase")])
    if expected is not None:
        so_far = "" if best is None else f"; the best result so far is {best:.4g}"
        sentences.append(f"It expected {expected['mean']:.4g} ± {expected['std']:.2g}{so_far}.")
    if distance is not None:
        sentences.append(f"The nearest earlier point differs from it by {distance:.2g} of a parameter's range.")
    return " ".join(sentences)


def _listed(fixed: Mapping[str, object]) -> str:
    return ", ".join(f"{shortened(name, LONGEST_NAME)} = {shown(value)}" for name, value in fixed.items())


def _path(key: str) -> list[views.CellRef]:
    """From the root to a cell."""
    steps = key.split(".")
    return [views.CellRef(key=".".join(steps[: depth + 1]), depth=depth) for depth in range(len(steps))]
