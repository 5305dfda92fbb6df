"""New points for a study: the engine's, or quasi-random ones where the engine cannot decide."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from adabkb_service.engine.randomness import uniforms
from adabkb_service.inference.model import Decided, Model
from adabkb_service.inference.models import Followed, Models
from adabkb_service.inference.pool import Shelf
from adabkb_service.storage import observations, trials
from adabkb_service.storage.rows import Origin, StudyRow
from adabkb_service.study.lifecycle import definition_of

logger = logging.getLogger(__name__)

ATTEMPTS = 50
"""Draws for a fallback point that is not known yet."""
MOST_TRIALS = 1 << 32
"""More than a study has: keeps the draws of one trial apart from another's."""
MOST_KNOWN = 10_000
"""Trials, and results, among which it is looked for."""
SECONDS = 3.0
"""How long the engine decides on the points of one request; it finishes the one that it is at."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A point to hand out as a new trial."""

    parameters: dict[str, Any]
    origin: Origin
    cell: str | None = None
    capped: bool = False
    """Whether refinement ended at the engine's cap on expansions, and not by its own rule."""


@dataclass(frozen=True, slots=True)
class Proposals:
    """New points, and the model after deciding on them."""

    points: list[Proposal]
    decided: Decided | None = None
    """None if the engine decided on nothing."""
    error: str | None = None
    """Why the engine could not decide."""


def propose(models: Models, followed: Followed, count: int) -> Proposals:
    """Decide on ``count`` new points, which become the study's next trials.

    Raises:
        ModelGone, ModelLate: the model cannot, at the moment.
    """
    study = followed.study
    if count and followed.in_order:
        return models.call(study, decide, study, count)
    return Proposals(_fallbacks(study, _numbers(study, count), _known(models, study) if count else set()))


def decide(shelf: Shelf, study_id: str, seq: int, study: StudyRow, count: int) -> Proposals:
    """The same where the model is."""
    model = shelf.at(study_id, seq)
    try:
        return _ask_engine(shelf, model, study, count)
    except Exception as failure:
        logger.exception("study %s: the engine cannot suggest", study_id)
        error = f"{type(failure).__name__}: {failure}"[:500]
    return Proposals(_fallbacks(study, _numbers(study, count), set(model.history.known)), error=error)


def _ask_engine(shelf: Shelf, model: Model, study: StudyRow, count: int) -> Proposals:
    """Each point is pending for the next, so all are different; fewer where a finite space ends. Once the time is
    up the others are quasi-random: nobody waits for a suggestion."""
    points: list[Proposal] = []
    cells: dict[str, str] = {}
    state, awaited = model.state, model.history.awaited_points()
    decisions = model.policy.suggestions(state, model.history.pending(), model.history.failed_points())
    deadline = time.monotonic() + SECONDS
    for suggestion in islice(decisions, count):
        state, awaited = suggestion.state, np.concatenate([awaited, suggestion.point[None]])
        cells.update(suggestion.cells)
        parameters = model.history.parameters_at(suggestion.point)
        points.append(Proposal(parameters, "policy", suggestion.cell, suggestion.capped))
        if time.monotonic() > deadline:
            known = {*model.history.known, *(position.tobytes() for position in awaited)}
            points += _fallbacks(study, _numbers(study, count)[len(points) :], known)
            break
    shelf.undecided[study.id] = state, cells
    return Proposals(points, Decided(cells, model.figures(state, awaited)))


def _known(models: Models, study: StudyRow) -> set[bytes]:
    """Points that a finite space need not be asked for again, as far as a look at the rows tells."""
    space = definition_of(study).space()
    if not space.is_finite:
        return set()
    with models.database.reading() as connection:
        handed_out = trials.page(connection, study.id, state=None, after=0, limit=MOST_KNOWN)
        evaluated = observations.page(connection, study.id, 0, MOST_KNOWN)
    points = [row.parameters for row in handed_out] + [row.parameters for row in evaluated]
    return {space.encode(point).tobytes() for point in points}


def _numbers(study: StudyRow, count: int) -> range:
    """Of the study's next trials."""
    return range(study.trials + 1, study.trials + 1 + count)


def _fallbacks(study: StudyRow, numbers: range, known: set[bytes]) -> list[Proposal]:
    """Points drawn by (seed, trial number), so that a retry draws the same; in finite spaces, new ones as far as can
    be found."""
    space, points = definition_of(study).space(), []
    for number in numbers:
        for attempt in range(ATTEMPTS):
            drawn = space.snap(uniforms(study.seed, number + attempt * MOST_TRIALS, space.dimension)[None])[0]
            if drawn.tobytes() not in known:
                break
        known.add(drawn.tobytes())
        points.append(Proposal(space.decode(drawn), "fallback"))
    return points
