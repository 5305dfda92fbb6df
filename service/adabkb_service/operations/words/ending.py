"""Studies that a user ended by lowering the budget to the number of issued trials. The log shows whether the budget was
lowered or used up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from adabkb_service.storage import events
from adabkb_service.storage.rows import StudyRow, created_row

ENDED = "Ended by a user."
"""Why a study is complete whose budget a user has lowered to the number of issued trials."""
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


def ended_early(connection: Connection, study: StudyRow, until: int | None = None) -> EndedEarly | None:
    """Return how a user ended a study that is complete because of its budget. None if the budget was used up: the last
    change did not lower it, or a trial was issued after this change. Also None with a budget of plates or costs.

    Args:
        connection: reads the log.
        study: the current row of the study.
        until: the event with which the study became complete; None if no later event matters.
    """
    if not isinstance(study.budget, int):
        return None
    log = events.of_kinds(connection, study.id, ["updated"], MAX_UPDATES, until)
    changes = [each for each in log if each.kind == "updated" and "budget" in each.payload["changes"]]
    if not changes or events.has_new_trials(connection, study.id, changes[-1].seq, until):
        return None
    budget = changes[-1].payload["changes"]["budget"]
    if not isinstance(budget, int):
        return None
    created = created_row(events.of_kinds(connection, study.id, ["created"], 1)).payload["definition"]
    before = changes[-2].payload["changes"]["budget"] if len(changes) > 1 else created.get("budget")
    if isinstance(before, int) and before <= budget:
        return None
    return EndedEarly(changes[-1].created_at, budget, before)
