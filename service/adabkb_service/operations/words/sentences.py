"""A sentence about each event, for the list of events of a study and for its report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from adabkb_service.contract.quantities import Quantity
from adabkb_service.operations.words.corrections_in_words import corrected
from adabkb_service.operations.words.ending import ENDED
from adabkb_service.operations.words.reasons import reason_of
from adabkb_service.operations.words.settings_in_words import changed
from adabkb_service.operations.words.wording import added, result
from adabkb_service.storage.event_payloads import Annotated, Edited
from adabkb_service.storage.rows import EventRow

Quantities = Mapping[str, Quantity]


class Sentence(NamedTuple):
    """A sentence about an event, without a full stop."""

    subject: str
    """The trial that the sentence is about, such as "Trial 3"; empty if it is about something else."""
    text: str
    """The rest of the sentence, or all of it without a subject."""


def sentence(quantities: Quantities, event: EventRow, *, is_ended_by_user: bool = False) -> Sentence:
    """Return what happened, with units, and with the reason, if known.

    Args:
        quantities: the labels, units and digits of the study's results.
        event: an event of its log.
        is_ended_by_user: whether a user ended the study with the event ``completed``.
    """
    if event.trial is not None and (text := _of_trial(quantities, event)):
        return Sentence(f"Trial {event.trial}", text)
    text = _of_result(quantities, event) or _of_study(quantities, event, is_ended_by_user=is_ended_by_user)
    return Sentence("", text)


def whose(trial: int | None, observation: int) -> str:
    """Return the beginning of a sentence about a result: its trial or, without one, its own number."""
    return f"Own result R{observation}" if trial is None else f"The result of trial {trial}"


def plate_closed(plate: int) -> str:
    """Return that a plate was closed, and why."""
    return f"Plate {plate} ended with free places: it had no unused conditions left"


def _of_trial(quantities: Quantities, event: EventRow) -> str:  # noqa: PLR0911 (one case per kind)
    """Return what happened to a trial; empty for an event whose sentence is not about the trial itself."""
    match event.kind:
        case "suggested":
            return f"was suggested{_to(event.payload.get('worker'))}"
        case "queued":
            return "was queued"
        case "leased":
            return f"was issued{_to(event.payload.get('worker'))}, attempt {event.payload['attempt']}"
        case "expired":
            return "is overdue: its reservation ended"
        case "released":
            return "is to be tried again"
        case "observed":
            return f"gave {result(quantities, event.payload)}"
        case "failed":
            return f"failed{_because(event)}"
        case "retried":
            return f"is issued again{_because(event)}"
        case "withdrawn":
            return f"was withdrawn{_because(event)}"
        case "annotated":
            return _new_attributes(event.payload)
        case "reported":
            return "has new values"
        case "stopped":
            return f"was stopped at step {event.payload['step']}{_because(event)}"
    return ""


def _of_result(quantities: Quantities, event: EventRow) -> str:
    """Return what happened to a result; empty for an event about something else."""
    match event.kind:
        case "observed":
            return f"A user's own result: {result(quantities, event.payload)}"
        case "corrected":
            of_user = f" by {event.user}" if event.user else ""
            text = corrected(quantities, event.payload)
            return f"{whose(event.trial, event.payload['observation'])} was {text}{of_user}{_because(event)}"
        case "measured":
            of_result = whose(event.trial, event.payload["observation"])
            return f"{of_result} got {added(quantities, event.payload)}, which it lacked"
        case "annotated":
            return f"{whose(None, event.payload['observation'])} {_new_attributes(event.payload)}"
    return ""


def _of_study(quantities: Quantities, event: EventRow, *, is_ended_by_user: bool) -> str:  # noqa: PLR0911 (as above)
    """Return what happened to the study."""
    match event.kind:
        case "created":
            return "The study was created"
        case "paused":
            return reason_of(event) or "The study was paused"
        case "resumed":
            return "The study was resumed"
        case "updated":
            return f"Changed: {changed(event.payload['changes'], quantities, event.payload.get('was'))}"
        case "edited":
            return _edited(event.payload)
        case "completed":
            return f"The study is complete. {ENDED if is_ended_by_user else reason_of(event)}"
        case "plate_closed":
            return plate_closed(event.payload["plate"])
        case "model_failed":
            return f"The model failed: {event.payload['error']}"
        case "model_recovered":
            return "The model works again"
    return event.kind.capitalize()


def _edited(payload: Edited) -> str:
    closed = "; the last plate was closed, since no point has its values" if payload.get("closes_plate") else ""
    return f"The parameters or rules were edited, version {payload['version']}{closed}"


def _new_attributes(payload: Annotated) -> str:
    return f"has a new {', '.join(payload['attributes']) or 'attribute'}"


def _to(worker: str | None) -> str:
    return f" to {worker}" if worker else ""


def _because(event: EventRow) -> str:
    reason = reason_of(event)
    return f": {reason}" if reason else ""
