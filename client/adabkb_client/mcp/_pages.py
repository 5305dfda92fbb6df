"""Parts of lists, which keep answers short."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from adabkb_client._calls import Call, Listing, Steps, study_path
from adabkb_client._models import Trial, decode

T = TypeVar("T")


def page(listing: Listing[T], limit: int, cursor: str | None = None) -> Steps[tuple[list[T], str | None]]:
    """Read up to ``limit`` items from a cursor on; also return the cursor of the next items, None at the end."""
    call = listing.page(cursor)
    answer = yield replace(call, params={**call.params, "limit": limit})
    return [listing.decode(item) for item in answer["items"]], answer["next_cursor"]


def last_trials(study: str, trials: int, count: int) -> Steps[list[Trial]]:
    """Read the trials with the largest numbers, last one first.

    Args:
        study: the study's id.
        trials: the number of trials, which is also the number of the last one.
        count: the maximum number of trials to read.
    """
    found = []
    for number in range(trials, max(trials - count, 0), -1):
        document = yield Call("GET", f"{study_path(study)}/trials/{number}")
        found.append(decode(Trial, document, study_id=study))
    return found
