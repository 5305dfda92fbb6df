"""The events of a trial and of a result, in words, for their pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from adabkb_service.contract.answers import Study
from adabkb_service.contract.history import Event
from adabkb_service.operations.words.corrections_in_words import corrected
from adabkb_service.operations.words.reasons import of_event
from adabkb_service.operations.words.values_in_words import shown
from adabkb_service.operations.words.wording import added, result
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


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _to(payload: Payload) -> str:
    return f" to {payload['worker']}" if payload.get("worker") else ""


def _annotation(payload: Payload) -> str:
    """Return the new and the former values of attributes; the former ones are unknown in events of older servers."""
    was = payload.get("was")
    return "; ".join(_attribute(name, value, was) for name, value in payload["attributes"].items())


def _attribute(name: str, value: Any, was: object) -> str:
    label = "Note" if name == "note" else name
    before = was.get(name) if isinstance(was, Mapping) else None
    if value is None:
        return f"{label} removed{'' if before is None else f'; it was {_quote(before)}'}"
    return f"{label} {_quote(value)}{'' if before is None else f', before: {_quote(before)}'}"


def _quote(value: Any) -> str:
    return (
        f"“{value}”" if isinstance(value, str) else shown(value) if not isinstance(value, dict) else json.dumps(value)
    )


SENTENCES: Mapping[str, Callable[[Study, Payload], str]] = {
    "suggested": lambda _, payload: f"Suggested{_to(payload)}",
    "queued": lambda *_: "Queued",
    "leased": lambda _, payload: f"Issued{_to(payload)}, attempt {payload['attempt']}",
    "expired": lambda *_: "Overdue, since its reservation ended",
    "released": lambda *_: "Queued again without a result",
    "observed": lambda study, payload: f"Result {result(study.quantities, payload)}",
    "measured": lambda study, payload: f"Added to the result: {added(study.quantities, payload)}",
    "corrected": lambda study, payload: _sentence(corrected(study.quantities, payload)),
    "failed": lambda *_: "Failed",
    "reported": lambda *_: "Values reported",
    "stopped": lambda _, payload: f"Stopped at step {payload['step']}",
    "retried": lambda *_: "Queued again",
    "withdrawn": lambda *_: "Withdrawn",
    "annotated": lambda _, payload: _annotation(payload),
}
"""Kind of an event of a trial -> function that describes it."""
FOLLOWED: Sequence[EventKind] = [each for each in get_args(EventKind) if each != "reported"]
"""The kinds of events that an open page follows. Reports arrive too often, and the events after them show their
effect."""
