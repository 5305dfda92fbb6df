"""Who paused a study, and what an agent should do then."""

from __future__ import annotations

from adabkb_client._calls import Steps
from adabkb_client._records import Event
from adabkb_client._study_calls import StudyCalls
from adabkb_client.mcp._refusals import no_trial
from adabkb_client.mcp._sessions import Session

OWN = "You paused the study. resume() continues it."


def who_paused(study: str, me: Session) -> Steps[str]:
    """Return who paused a study and when, and what to do, from the study's log."""
    pause: Event | None = None
    cursor: str | None = None
    while True:
        pauses, cursor = yield from StudyCalls(study).events("paused").page_after(cursor)
        pause = pauses[-1] if pauses else pause
        if cursor is None:
            return in_words(pause, study, me)


def in_words(pause: Event | None, study: str, me: Session) -> str:
    """Return who caused a pause, and what to do. ``pause`` is the event; None if it is not known."""
    if pause is None:
        return no_trial("paused")
    if pause.payload.get("reason") == "failures":
        return no_trial("failures")
    if me.has_paused(study, pause.seq):
        return OWN
    user = pause.payload.get("user")
    by = "somebody else" if user is None else f'"{user}"'
    return f"Paused by {by} at {pause.created_at:%Y-%m-%d %H:%M} UTC. Ask your user before you call resume()."
