"""Studies that a user ended by lowering the budget to the number of issued trials. The log shows whether the budget was
lowered or used up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from adabkb_service.storage import events
from adabkb_service.storage.rows import StudyRow, created_row

MAX_UPDATES = 200
"""The maximum number of updates of a study that are read: the latest ones."""


@dataclass(frozen=True, slots=True)
class EndedEarly:
    """What a user did to end a study."""

    at: datetime
    trials: int
    """The budget that the user set: the number of trials issued at that time."""
    budget: int | dict[str, int] | None
    """The budget before, in trials or as {"plates": 3}; None for no limit."""


def ended_early(connection: Connection, study: StudyRow) -> EndedEarly | None:
    """Return how a user ended a study that is complete because of its budget. None if the budget was used up: the last
    change did not lower it, or a trial was issued after this change. Also None with a budget of plates or costs."""
    if not isinstance(study.budget, int):
        return None
    log = events.of_kinds(connection, study.id, ["updated"], MAX_UPDATES)
    changes = [each for each in log if each.kind == "updated" and "budget" in each.payload["changes"]]
    if not changes or events.has_new_trials(connection, study.id, changes[-1].seq):
        return None
    created = created_row(events.of_kinds(connection, study.id, ["created"], 1)).payload["definition"]
    before = changes[-2].payload["changes"]["budget"] if len(changes) > 1 else created.get("budget")
    if isinstance(before, int) and before <= study.budget:
        return None
    return EndedEarly(changes[-1].created_at, study.budget, before)
