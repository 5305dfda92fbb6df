"""The events of a trial and of a result, in words, for their pages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from adabkb_service.contract.answers import Study
from adabkb_service.operations.words.corrections_in_words import corrected
from adabkb_service.operations.words.reasons import reason_of
from adabkb_service.operations.words.values_in_words import shown
from adabkb_service.operations.words.wording import added, result
from adabkb_service.storage.event_payloads import Annotated
from adabkb_service.storage.rows import EventKind, EventRow


def happened(study: Study, event: EventRow) -> str:
    """Return in words what happened to a trial or a result, with the user, if known, and the reason. An imported log
    may attach events of other kinds to a trial; for these, return only the kind."""
    phrase, reason = _phrase(study, event), reason_of(event)
    if event.user:
        phrase = f"{phrase} by {event.user}"
    return f"{phrase}: {reason}" if reason else phrase


def _phrase(study: Study, event: EventRow) -> str:  # noqa: PLR0911 (one case per kind)
    match event.kind:
        case "suggested":
            return f"Suggested{_to(event.payload['worker'])}"
        case "leased":
            return f"Issued{_to(event.payload['worker'])}, attempt {event.payload['attempt']}"
        case "expired":
            return "Overdue, since its reservation ended"
        case "released":
            return "Queued again without a result"
        case "observed":
            return f"Result {result(study.quantities, event.payload)}"
        case "measured":
            return f"Added to the result: {added(study.quantities, event.payload)}"
        case "corrected":
            return _sentence(corrected(study.quantities, event.payload))
        case "reported":
            return "Values reported"
        case "stopped":
            return f"Stopped at step {event.payload['step']}"
        case "retried":
            return "Queued again"
        case "annotated":
            return _annotation(event.payload)
    return event.kind.capitalize()


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _to(worker: str | None) -> str:
    return f" to {worker}" if worker else ""


def _annotation(payload: Annotated) -> str:
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


FOLLOWED: Sequence[EventKind] = [each for each in get_args(EventKind) if each != "reported"]
"""The kinds of events that an open page follows. Reports arrive too often, and the events after them show their
effect."""
