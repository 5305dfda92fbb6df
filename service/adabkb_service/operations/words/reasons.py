"""The reasons that the server gives by a code, in words: for the page, reports, webhooks and the command line."""

from __future__ import annotations

from collections.abc import Mapping

from adabkb_service.storage.rows import EventRow

REASONS: Mapping[str, str] = {
    "budget": "The budget is used up.",
    "exhausted": "All conditions of the space have been issued.",
    "converged": "The study has converged: according to the model, further trials gain little.",
    "no_gain": "The last results brought no improvement, so the study ended by its rule no_gain_for.",
    "gain_unlikely": "According to the model, further trials gain less than the study's rule requires, so it ended.",
    "failures": "Paused, because too many trials in a row failed. Remove the cause, then resume.",
    "pending_limit": "No new trial until an unfinished trial has its result.",
    "paused": "Paused: no new trials are issued. Results are still accepted.",
    "fixed_exhausted": "All conditions with these fixed values have been issued.",
    "plate_full": "The plate is full. The next request begins a new one.",
    "no_plate_left": "The budget allows no other plate. The last plate has room for other trials with its values.",
}
"""Why there are no new points, or fewer than requested."""
LATE = "max_attempts"
"""The reason of a trial that failed because its reservation ended too often."""
OF_EVENTS: Mapping[str, Mapping[str, str]] = {
    "completed": REASONS,
    "paused": REASONS,
    "failed": {LATE: "no result arrived before its reservation ended"},
}
"""Kind of an event -> reason given by a code -> the reason in words. Events of other kinds have only reasons that
people gave."""


def reason_of(event: EventRow) -> str:
    """Return the reason of an event in words; empty without a reason."""
    reason = event.payload.get("reason")
    return of_event(event.kind, reason if isinstance(reason, str) else None)


def of_event(kind: str, reason: str | None) -> str:
    """Return the reason of an event: a code in words, or the text that a person gave; empty without a reason."""
    return OF_EVENTS.get(kind, {}).get(reason or "", reason or "")
