"""Answers about the history of a study: the events of the log, and why a trial was suggested."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from adabkb_service.contract.answers import Answer, Best, CellRef, Trial
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.storage.rows import EventKind, Origin


class Event(Answer):
    """An entry of the log."""

    seq: int
    kind: EventKind
    trial: int | None
    payload: dict[str, Any]
    created_at: datetime


class TrialEvent(Event):
    """An event of a trial."""

    in_words: Annotated[str, Field(description="what happened, in a few words")]


class RandomKey(Answer):
    """The two numbers that determine the random draws of a suggestion."""

    seed: int
    step: int


class Decision(Sparse, Answer):
    """How the point of a suggestion was chosen: the inputs of the decision, and what it predicted."""

    revision: Annotated[int, Field(description="the last event that the decision used")]
    origin: Origin
    results: Annotated[
        int,
        Field(
            description="number of results at that time, without excluded ones and those outside the space, but with "
            "the estimated results of stopped trials"
        ),
    ]
    pending: Annotated[list[int], Field(description="trials that were issued or queued and had no result yet")]
    failed: Annotated[list[int], Field(description="trials that had failed and had no result")]
    best: Best | None
    random: RandomKey
    path: Annotated[list[CellRef], Field(description="cells from the root to the point's cell; empty without one")]
    capped: Annotated[bool, Field(description="whether the refinement of cells ended at a limit on steps or cells")]
    distance: Annotated[
        float | None,
        Field(
            description="distance of the point to the nearest issued or evaluated one: the largest "
            "difference in any parameter, as a share of its range (1 between two categories); null for the first point"
        ),
    ]
    gain: Annotated[
        float | None,
        Field(
            description="the model's expected improvement over the best result; with outcome constraints, "
            "times the probability that the point satisfies them; null without a prediction of the point, and while "
            "no result satisfies them"
        ),
    ]
    trust: Annotated[
        dict[str, float] | None,
        Field(
            description="weight of each older study, by its id, from 0 (ignored) to 1 (used in full); only in studies "
            "with transfer_from"
        ),
        ABSENT_BY_DEFAULT,
    ] = None
    finish_probability: Annotated[
        float | None,
        Field(
            description="probability that the trial finishes instead of failing, given the results and failures then; "
            "absent if there were too few failures to predict where trials fail, if a point is outside the current "
            "space, or if the model did not answer"
        ),
        ABSENT_BY_DEFAULT,
    ] = None
    in_words: Annotated[str, Field(description="why the point was chosen, in a sentence or two")]


class Why(Answer):
    """Why a trial was suggested, and its history."""

    trial: Trial
    decision: Annotated[Decision | None, Field(description="null for a point that a user queued")]
    events: Annotated[list[TrialEvent], Field(description="all events about the trial, in order")]
