"""Fold events of the log into a model."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from adabkb_service.inference.dataset import is_decision, run_at
from adabkb_service.inference.decisions import Decisions
from adabkb_service.inference.model import Model
from adabkb_service.storage.rows import EventRow

MANY = 100
"""If a run has more results than this, as after an import, the model is rebuilt once from all results. Adding them one
by one would take milliseconds each, since hyperparameters would be learned many times."""


def fold(model: Model, decisions: Decisions, log: Sequence[EventRow], *, until: float = math.inf) -> None:
    """Fold the next events.

    Args:
        model: the model.
        decisions: its decisions. Those behind trials of the log are taken from it, or made again.
        log: the events.
        until: time limit, by ``time.monotonic``. At least one event is folded; those after the limit are not.

    Raises:
        Exception: raised by the engine; the model is then unusable.
    """
    for index, event in enumerate(log):
        if index and time.monotonic() > until:
            return
        if is_decision(event):
            model.catch_up()
            model.adopt(event, decisions.take(model, event))
        elif _is_skipped(model, log, index):
            decisions.made.clear()
            model.is_behind = True
        else:
            decisions.follow(event)
            model.apply(event)
        model.count(event)
    model.catch_up()


def _is_skipped(model: Model, log: Sequence[EventRow], index: int) -> bool:
    """Whether the engine can skip an event, because the model is rebuilt from all results before the next decision.
    This happens if the event's run ends with an edit or a changed result, or has more than ``MANY`` results. So a
    result that the engine cannot process does no harm once it is corrected. The run is stored for the next calls, since
    the log may be long."""
    event = log[index]
    if not (event.brings_result or event.changes_result):
        return False
    if model.run is None or model.run.end <= event.seq:
        model.run = run_at(log, index, 0 if event.changes_result else model.in_run)
    return model.run.is_rebuilt or (event.brings_result and model.run.results > MANY)
