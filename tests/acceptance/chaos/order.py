"""The check of order: whether all calls could have been made one after the other, as far as the clients can tell.

A history is linearizable if there is an order of its calls that a study allows which does one thing at a time, and in
which a call that was answered before another one was asked comes first. Finding such an order takes exponential time in
general. Checking one does not, and the log is one: ``log.py`` checks that a study allows its events, and ``check.py``
that each acknowledged call has its effect there once. This module gives each call its place in the log: that of the
event that it caused or, for what an answer says, behind the last event that it has seen. It checks that the places
agree with the times of the calls, and that what was answered was so at its place.

All clients run on one machine, whose monotonic clock says when each call was asked and answered.
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
"""From an event to the place behind it, where a call is that has seen it."""
CLOCKS_DIFFER = 0.1
"""Seconds by which the clocks of two servers may differ."""
NEVER = math.inf

Span = tuple[float, float]
"""A first and a last place."""


@dataclass(frozen=True)
class Step:
    """A call with the places that it may have."""

    name: str
    asked: float
    answered: float
    spans: Sequence[Span]
    """In order; none if what was answered was never so."""


def order(events: Sequence[Event], log: Log, entries: Sequence[Entry], lease_seconds: float) -> Iterator[str]:
    """All that contradicts that the log is the order in which the calls were performed.

    Args:
        events: of the study.
        log: made of them.
        entries: of all clients.
        lease_seconds: of the study's trials.
    """
    end = len(events) + AFTER
    yield from _misplaced([*_writes(events, entries), *_answers(entries), *_listings(log, entries, end)])
    yield from _miscounted(log, entries)
    yield from _held_by_two(events, entries, lease_seconds)


def _misplaced(steps: Sequence[Step]) -> Iterator[str]:
    """Give each call the first place that it may have behind those that were answered before it was asked; it is named
    if there is none.

    The first place is the best one, as it leaves the most for the calls after it.
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
            yield f"{step.name} was never so"
        else:
            seconds = step.asked - latest.answered
            yield (
                f"{step.name} was asked {seconds:.6f} s after the answer to {latest.name}; by the log it is "
                f"{_said(step.spans[-1][1])}, and the other one {_said(bound)}"
            )


def _said(place: float) -> str:
    event = math.floor(place)
    return f"event {event}" if event == place else f"behind event {event}"


def _writes(events: Sequence[Event], entries: Sequence[Entry]) -> Iterator[Step]:
    """For each event, the call that asked for it first: it was logged after that. If there is one such call, and it was
    acknowledged, the event was logged before the answer."""
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
    """What identifies an event among those that clients ask for; None for one that a server causes by itself."""
    told: dict[str, Any] = event.payload
    match event.kind:
        case "suggested":
            found: Hashable = ("leased", event.trial, 1)
        case "leased" if not told["renewed"]:
            found = ("leased", event.trial, told["attempt"])
        case "observed":
            found = ("observed", event.trial, told["attempt"], told["value"])
        case "failed" | "released":
            found = (event.kind, event.trial, told["attempt"])
        case "retried":
            found = (event.kind, event.trial)
        case "queued":
            found = (event.kind, frozenset(told["parameters"].items()))
        case "corrected":
            found = (event.kind, told["observation"])
        case "reported":
            found = (event.kind, event.trial, told["attempt"], tuple(map(tuple, told["reports"])))
        case "paused" | "resumed" | "edited":
            found = event.kind
        case _:
            found = None
    return found


def _effects(entry: Entry) -> Iterator[Hashable]:
    """The events that a call may have caused. Those of a suggestion without an answer are not known."""
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
    """An answer has seen all events up to its revision, and none after it."""
    for entry in entries:
        if entry.revision is not None:
            place = entry.revision + AFTER
            yield Step(str(entry), entry.asked, entry.answered, [(place, place)])


def _listings(log: Log, entries: Sequence[Entry], end: float) -> Iterator[Step]:
    """Each trial of a list was as it is shown there, and there were no others."""
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


def _miscounted(log: Log, entries: Sequence[Entry]) -> Iterator[str]:
    """The counts in an answer are those of its revision."""
    for entry in entries:
        if entry.revision is not None and entry.counts is not None:
            there = log.counts.get(entry.revision)
            told = _counted(entry.counts)
            if there is None:
                yield f"the log has no event {entry.revision}, the revision of this answer: {entry}"
            elif told != dict(there):
                yield f"the counts at revision {entry.revision} were {dict(there)}, answered was {told}: {entry}"


def _counted(counts: Counts) -> dict[str, int]:
    found = {each.name: getattr(counts, each.name) for each in fields(counts) if each.name != "trials"}
    return {name: count for name, count in found.items() if count}


def _held_by_two(events: Sequence[Event], entries: Sequence[Entry], lease_seconds: float) -> Iterator[str]:
    """By the clients' clock, a lease that ran out had its full length since it was given or last renewed."""
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
                yield f"a trial was issued within the lease of another worker: {before}, then {after}"
        elif event.kind in ("leased", "released", "retried"):
            lost.pop(event.trial, None)
