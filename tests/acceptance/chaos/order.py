"""The check of order: whether all calls could have been made one after the other, according to the clients.

A history is linearizable if its calls have an order that is valid for a sequential study, and that keeps the order of
calls that did not overlap. Finding such an order takes exponential time in general. Checking an order does not, and the
log is one: ``log.py`` checks that a study allows its events, and ``check.py`` that each acknowledged call has its
effect there once.

This module assigns each call a position in the log: that of the event that it caused or, for a read, after the last
event that its answer reflects. It checks that the positions agree with the times of the calls, and that each answer was
correct at its position.

All clients run on one machine, whose monotonic clock gives the times of requests and answers.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from adabkb_client import Counts, Event
from tests.acceptance.chaos.ledger import Entry
from tests.acceptance.chaos.log import Log, Shown

AFTER = 0.5
"""Distance from an event to the position after it, of a call whose answer reflects it."""
CLOCKS_DIFFER = 0.1
"""Seconds by which the clocks of two servers may differ."""
NEVER = math.inf

Span = tuple[float, float]
"""The first and the last possible position."""


@dataclass(frozen=True)
class Step:
    """A call with its possible positions."""

    name: str
    asked: float
    answered: float
    spans: Sequence[Span]
    """In order; empty if the answer was never correct."""


def order(events: Sequence[Event], log: Log, entries: Sequence[Entry], lease_seconds: float) -> Iterator[str]:
    """Return all violations: contradictions between the order of the log and the times of the calls.

    Args:
        events: the events of the study.
        log: the state that results from them.
        entries: the entries of all clients.
        lease_seconds: the duration of leases in the study.
    """
    end = len(events) + AFTER
    yield from _misplaced([*_writes(events, entries), *_answers(entries), *_listings(log, entries, end)])
    yield from _counts(log, entries)
    yield from _held_by_two(events, entries, lease_seconds)


def _misplaced(steps: Sequence[Step]) -> Iterator[str]:
    """Assign each call the first possible position after all calls that were answered before it was sent. Report a call
    without such a position.

    The first position is the best one, since it leaves the most positions for later calls.
    """
    placed = dict[int, float]()
    bound, latest = 0.0, None
    by_answer = deque(sorted(steps, key=lambda step: step.answered))
    for step in sorted(steps, key=lambda step: step.asked):
        while by_answer[0].answered < step.asked:
            before = by_answer.popleft()
            if placed.get(id(before), -1.0) > bound:
                bound, latest = placed[id(before)], before
        place = next((max(first, bound) for first, last in step.spans if last >= bound), None)
        if place is not None:
            placed[id(step)] = place
        elif latest is None or not step.spans:
            yield f"{step.name} was never true"
        else:
            seconds = step.asked - latest.answered
            yield (
                f"{step.name} was asked {seconds:.6f} s after the answer to {latest.name}; but in the log it is "
                f"{_describe(step.spans[-1][1])}, and the other one is {_describe(bound)}"
            )


def _describe(place: float) -> str:
    event = math.floor(place)
    return f"event {event}" if event == place else f"after event {event}"


def _writes(events: Sequence[Event], entries: Sequence[Entry]) -> Iterator[Step]:
    """Return the possible positions of the first call that requested each event.

    The call was sent before the event. If only one call requested the event, and it was acknowledged, the event
    precedes the answer.
    """
    causes: defaultdict[Hashable, list[Entry]] = defaultdict(list)
    for entry in entries:
        for effect in _effects(entry):
            causes[effect].append(entry)
    for event in events:
        calls = causes.get(_effect(event), [])
        if calls:
            first = min(calls, key=lambda entry: entry.asked)
            is_known = len(calls) == 1 and first.fate == "acknowledged"
            yield Step(str(first), first.asked, first.answered if is_known else NEVER, [(event.seq, event.seq)])


def _effect(event: Event) -> Hashable:
    """Return a key of an event that clients request; None for an event that a server causes by itself."""
    payload: dict[str, Any] = event.payload
    match event.kind:
        case "suggested":
            found: Hashable = ("leased", event.trial, 1)
        case "leased" if not payload["renewed"]:
            found = ("leased", event.trial, payload["attempt"])
        case "observed":
            found = ("observed", event.trial, payload["attempt"], payload["value"])
        case "failed" | "released":
            found = (event.kind, event.trial, payload["attempt"])
        case "retried":
            found = (event.kind, event.trial)
        case "queued":
            found = (event.kind, frozenset(payload["parameters"].items()))
        case "corrected":
            found = (event.kind, payload["observation"])
        case "reported":
            found = (event.kind, event.trial, payload["attempt"], tuple(map(tuple, payload["reports"])))
        case "paused" | "resumed" | "edited":
            found = event.kind
        case _:
            found = None
    return found


def _effects(entry: Entry) -> Iterator[Hashable]:
    """Return the keys of the events that a call may have caused; those of a suggestion without an answer are
    unknown."""
    match entry.kind:
        case "suggest" if entry.fate == "acknowledged":
            yield "leased", entry.trial, entry.attempt
        case "observe" | "point":
            yield "observed", entry.trial, entry.attempt, entry.value
        case "fail":
            yield "failed", entry.trial, entry.attempt
        case "release":
            yield "released", entry.trial, entry.attempt
        case "retry":
            yield "retried", entry.trial
        case "queue":
            yield "queued", frozenset((entry.parameters or {}).items())
        case "correct" | "exclude":
            yield "corrected", entry.observation
        case "report":
            yield "reported", entry.trial, entry.attempt, entry.reports
            for _, value in entry.reports:  # the last one of a trial that is stopped may be its result
                yield "observed", entry.trial, entry.attempt, value
        case "pause" | "resume":
            yield f"{entry.kind}d"
        case "edit":
            yield "edited"


def _answers(entries: Sequence[Entry]) -> Iterator[Step]:
    """Each answer reflects all events up to its revision, and none after it."""
    for entry in entries:
        if entry.revision is not None:
            place = entry.revision + AFTER
            yield Step(str(entry), entry.asked, entry.answered, [(place, place)])


def _listings(log: Log, entries: Sequence[Entry], end: float) -> Iterator[Step]:
    """Each list of trials was correct and complete at some position."""
    first_seen = {number: shown[0][0] for number, shown in log.shown.items()}
    births = [first_seen[number] for number in sorted(first_seen)]
    spans: dict[tuple[int, Shown], list[Span]] = {}
    for number, shown in log.shown.items():
        ends = [event - AFTER for event, _ in shown[1:]] + [end]
        for (event, state), last in zip(shown, ends, strict=True):
            spans.setdefault((number, state), []).append((event + AFTER, last))
    for entry in entries:
        if entry.kind == "read" and entry.listed:
            count = len(entry.listed)
            last = births[count] - AFTER if count < len(births) else end
            known = [(births[count - 1] + AFTER, last)] if count <= len(births) else []
            yield Step(f"{entry}, a list of {count} trials,", entry.asked, entry.answered, known)
            for trial in entry.listed:
                state = (trial.state, trial.attempt, trial.value)
                name = f"{entry}, trial {trial.number} as {state},"
                yield Step(name, entry.asked, entry.answered, spans.get((trial.number, state), []))


def _counts(log: Log, entries: Sequence[Entry]) -> Iterator[str]:
    """The counts in an answer agree with its revision."""
    for entry in entries:
        if entry.revision is not None and entry.counts is not None:
            there = log.counts.get(entry.revision)
            reported = _counted(entry.counts)
            if there is None:
                yield f"the log has no event {entry.revision}, the revision of this answer: {entry}"
            elif reported != dict(there):
                yield f"the counts at revision {entry.revision} were {dict(there)}, in the response {reported}: {entry}"


def _counted(counts: Counts) -> dict[str, int]:
    found = {each.name: getattr(counts, each.name) for each in fields(counts) if each.name != "trials"}
    return {name: count for name, count in found.items() if count}


def _held_by_two(events: Sequence[Event], entries: Sequence[Entry], lease_seconds: float) -> Iterator[str]:
    """By the clients' clock, an expired lease had its full length since it began or was renewed."""
    handed: dict[tuple[int | None, int | None], Entry] = {}
    held: dict[tuple[int | None, int | None], Entry] = {}
    for entry in entries:
        place = entry.trial, entry.attempt
        if entry.fate == "acknowledged" and entry.kind in ("suggest", "heartbeat", "report"):
            if entry.kind == "suggest":
                handed[place] = entry
            if not entry.stopped and (place not in held or held[place].asked < entry.asked):
                held[place] = entry
    lost = dict[int | None, int]()
    for event in events:
        if event.kind == "expired":
            lost[event.trial] = event.payload["attempt"]
        elif event.kind == "leased" and not event.payload["renewed"]:
            before = held.get((event.trial, lost.pop(event.trial, None)))
            after = handed.get((event.trial, event.payload["attempt"]))
            if before and after and after.answered < before.asked + lease_seconds - CLOCKS_DIFFER:
                yield f"a trial was issued during the lease of another worker: {before}, then {after}"
        elif event.kind in ("leased", "released", "retried"):
            lost.pop(event.trial, None)
