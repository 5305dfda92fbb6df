"""Answers about the history of a study: the events of the log, and how a trial came about."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from adabkb_service.contract.answers import Answer, Best, CellRef, Trial
from adabkb_service.storage.rows import EventKind, Origin


class Event(Answer):
    """An entry of the log."""

    seq: int
    kind: EventKind
    trial: int | None
    payload: dict[str, Any]
    created_at: datetime


class RandomKey(Answer):
    """The two numbers that determine random draws."""

    seed: int
    step: int


class Decision(Answer):
    """The inputs of the decision on a suggestion."""

    revision: Annotated[int, Field(description="the last event it takes in: every one before its own")]
    origin: Origin
    results: Annotated[int, Field(description="results that counted")]
    pending: Annotated[list[int], Field(description="trials that were handed out or queued and had no result yet")]
    failed: Annotated[list[int], Field(description="trials that had failed and had no result")]
    best: Best | None
    random: RandomKey
    path: Annotated[list[CellRef], Field(description="from the root to its cell; empty if it has none")]
    capped: Annotated[bool, Field(description="whether the refinement of cells was cut short to answer in time")]
    distance: Annotated[
        float | None,
        Field(
            description="how far the point was from the nearest one that had been handed out or evaluated: the largest "
            "difference in any parameter, as a share of its range (1 between two categories); null for the first point"
        ),
    ]
    gain: Annotated[
        float | None,
        Field(
            description="expected improvement on the best result, by the model; where there are outcome constraints, "
            "times the probability that the point keeps them, and null while no result does"
        ),
    ]
    trust: Annotated[
        dict[str, float] | None,
        Field(
            exclude_if=lambda value: value is None,
            description="how much each older study counted, by its id: 0 ignores what it says, 1 takes it over in "
            "full; only in studies with transfer_from",
        ),
    ] = None
    in_words: Annotated[str, Field(description="why this point, in a sentence or two")]


class Why(Answer):
    """How a trial came about, and what became of it."""

    trial: Trial
    decision: Annotated[Decision | None, Field(description="null for a point that a user queued")]
    events: Annotated[list[Event], Field(description="all that concern it, in order")]
