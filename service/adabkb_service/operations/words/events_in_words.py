"""The events of a trial and of a result, in words, for their pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from adabkb_service.contract.answers import Study
from adabkb_service.contract.history import Event
from adabkb_service.operations.words.reasons import of_event
from adabkb_service.operations.words.wording import added, former, result
from adabkb_service.storage.rows import EventKind

Payload = Mapping[str, Any]


def happened(study: Study, event: Event) -> str:
    """Return in words what happened to a trial or a result, with the user, if known, and the reason. An imported log
    may attach events of other kinds to a trial; for these, return only the kind."""
    sentence, reason = SENTENCES.get(event.kind), of_event(event.kind, event.payload.get("reason"))
    phrase = sentence(study, event.payload) if sentence else event.kind.capitalize()
    if user := event.payload.get("user"):
        phrase = f"{phrase} by {user}"
    return f"{phrase}: {reason}" if reason else phrase


def _to(payload: Payload) -> str:
    return f" to {payload['worker']}" if payload.get("worker") else ""


def _corrected(study: Study, payload: Payload) -> str:
    was = former(payload)
    if "excluded" in was:
        return "Excluded" if payload["excluded"] else "Included again"
    before, now = (result(study.quantities, each) for each in (was, payload))
    return f"Corrected from {before} to {now}" if before else f"Corrected to {now}"


SENTENCES: Mapping[str, Callable[[Study, Payload], str]] = {
    "suggested": lambda _, payload: f"Suggested{_to(payload)}",
    "queued": lambda *_: "Queued",
    "leased": lambda _, payload: f"Issued{_to(payload)}, attempt {payload['attempt']}",
    "expired": lambda *_: "Overdue, since its reservation ended",
    "released": lambda *_: "Queued again without a result",
    "observed": lambda study, payload: f"Result {result(study.quantities, payload)}",
    "measured": lambda study, payload: f"Added to the result: {added(study.quantities, payload)}",
    "corrected": _corrected,
    "failed": lambda *_: "Failed",
    "reported": lambda *_: "Values reported",
    "stopped": lambda _, payload: f"Stopped at step {payload['step']}",
    "retried": lambda *_: "Queued again",
    "withdrawn": lambda *_: "Withdrawn",
    "annotated": lambda _, payload: f"Changed: {', '.join(payload['attributes'])}",
}
"""Kind of an event of a trial -> function that describes it."""
FOLLOWED: Sequence[EventKind] = [each for each in get_args(EventKind) if each != "reported"]
"""The kinds of events that an open page follows. Reports arrive too often, and the events after them show their
effect."""
