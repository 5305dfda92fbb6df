"""The check of intermediate values, and of the trials that were stopped by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from adabkb_client import Trial
from tests.acceptance.chaos.board import MAX_STEPS
from tests.acceptance.chaos.ledger import Entry
from tests.acceptance.chaos.log import Log
from tests.acceptance.chaos.record import Record


def share(trial: Trial) -> Fraction:
    """Return the share of a full evaluation that a trial has used."""
    if trial.state == "withdrawn":
        return Fraction(0)
    return Fraction(trial.curve.step, MAX_STEPS) if trial.state == "stopped" and trial.curve else Fraction(1)


def reports(record: Record, log: Log, entries: Sequence[Entry]) -> Iterator[str]:
    """Each acknowledged report is in the log, completely and once; every report in the log was sent; and curves agree
    with the log.

    A refused report may be in the log: it was stored, the answer was lost, and the attempt had lost its lease when the
    client repeated the request.
    """
    sent = {(entry.trial, entry.attempt, entry.reports) for entry in _sent(entries)}
    for entry in _sent(entries):
        logged = log.trials.get(entry.trial or 0)
        if logged is None:
            yield f"there is no such trial: {entry}"
        elif entry.stopped:
            if logged.state != "stopped":
                yield f"a worker was asked to stop a trial, which is {logged.state}: {entry}"
        elif entry.fate == "acknowledged" and (entry.attempt, entry.reports) not in logged.requests:
            yield f"some acknowledged reports are lost: {entry}"
    for number, logged in log.trials.items():
        for attempt, steps in logged.requests:
            if (number, attempt, steps) not in sent:
                yield f"attempt {attempt} of trial {number} reported {steps}, which no client sent"
    for number, logged in log.trials.items():
        stored = {point.step: point.value for point in record.curves.get(number, ())}
        if stored != (logged_curve := logged.curves.get(logged.attempt, {})):
            yield f"trial {number} has the curve {stored}, but in the log {logged_curve}"


def refusals(log: Log, entries: Sequence[Entry]) -> Iterator[str]:
    """A trial's result is refused only if the attempt has another one, or the trial was stopped."""
    for entry in entries:
        if entry.kind == "observe" and entry.fate == "refused" and (logged := log.trials.get(entry.trial or 0)):
            seq = logged.results.get(entry.attempt or 0)
            if logged.state != "stopped" and (seq is None or log.observations[seq].told == entry.value):
                yield f"a result was refused without a reason: {entry}"


def _sent(entries: Sequence[Entry]) -> Iterator[Entry]:
    return (entry for entry in entries if entry.kind == "report")
