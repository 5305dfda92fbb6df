"""The ledger check accepts a correct record, and reports each falsified one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from adabkb_client import Client, Event, Float
from tests.acceptance.chaos.aftermath import finish
from tests.acceptance.chaos.board import EDITED, PATIENCE, SPACES, Plan
from tests.acceptance.chaos.check import check
from tests.acceptance.chaos.ledger import Entry, Ledger
from tests.acceptance.chaos.record import Record
from tests.acceptance.chaos.session import Session
from tests.servers import server_on


@dataclass(frozen=True)
class History:
    """A study, and the records of its clients."""

    plan: Plan
    record: Record
    entries: list[Entry]

    def violations(self) -> list[str]:
        return check(self.record, self.entries, self.plan)

    def first(self, kind: str, trial: int | None = None) -> Event:
        """The first event of a kind."""
        return next(event for event in self.record.events if event.kind == kind and trial in (None, event.trial))

    def entry(self, kind: str) -> Entry:
        """The first acknowledged entry of a kind."""
        return next(entry for entry in self.entries if entry.kind == kind and entry.fate == "acknowledged")

    def last(self, kind: str) -> Entry:
        """The last acknowledged entry of a kind."""
        return next(entry for entry in self.entries[::-1] if entry.kind == kind and entry.fate == "acknowledged")

    def reads(self, *, lists: bool) -> tuple[Entry, Entry]:
        """The reads of the study, or of its trials, before and after most calls."""
        early, late = (entry for entry in self.entries if entry.kind == "read" and bool(entry.listed) == lists)
        return early, late

    def with_entry(self, entry: Entry, **facts: Any) -> History:
        """Return the story with a changed entry."""
        changed = [replace(each, **facts) if each is entry else each for each in self.entries]
        return replace(self, entries=changed)

    def with_events(self, change: Callable[[Event], Event | None]) -> History:
        """Return the story with changed events; None removes an event."""
        events = [changed for event in self.record.events if (changed := change(event))]
        return replace(self, record=replace(self.record, events=events))

    def without(self, kind: str) -> History:
        """The story without the first event of a kind."""
        return self.with_events(lambda event: None if event is self.first(kind) else event)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> History:
    """One worker's use of every call, on a real server."""
    dice, ledger = random.Random(1), Ledger("worker-0")
    plan = Plan("story", 0, SPACES[0], "maximize", budget=20, seed=1, profile="auto", early_stopping=PATIENCE)
    database = f"sqlite:///{tmp_path_factory.mktemp('check')}/adabkb.db"
    with server_on(database) as address, Client(address) as client:
        session = Session(client, ledger)
        study = session.create(plan)
        assert study is not None
        issued = session.suggest(study, 5).answer
        assert issued is not None
        completed, failed, released, kept, stopped = issued
        session.observe(study, completed, 0.25)
        session.observe(study, completed, 0.25)
        session.contradict(study, completed, 0.5)
        session.read(study, study.info)
        session.read_trials(study)
        session.fail(study, failed)
        session.retry(study, failed)
        session.retry(study, failed)  # as if another worker also knew of the failure
        session.release(study, released)
        session.heartbeat(study, kept)
        session.report(study, kept, ((1, 0.3125), (2, 0.375)))
        session.report(study, stopped, tuple((step, 0.5 + step * 1e-9) for step in range(1, 6)))
        session.observe(study, stopped, 0.625)
        session.edit(study, EDITED, Float(0, 2))
        session.add_result(study, {**plan.point(dice), EDITED: 1.5}, 0.875)
        session.edit(study, EDITED, plan.parameters[EDITED])
        session.queue(study, plan.point(dice))
        session.add_result(study, plan.point(dice), 0.75)
        session.correct(study, 1, 0.125)
        session.exclude(study, 4)
        session.pause(study)
        session.resume(study)
        session.read(study, study.info)
        session.read_trials(study)
        finisher, (record,) = finish(client, [plan])
    assert not ledger.surprises
    return History(plan, record, [*ledger.entries, *finisher.entries])


def test_correct_record_passes(story: History) -> None:
    assert story.violations() == []
    assert {event.kind for event in story.record.events} >= {
        "expired",
        "released",
        "failed",
        "retried",
        "corrected",
        "leased",
        "reported",
        "stopped",
        "edited",
    }


def lost(story: History) -> History:
    shorter = replace(story.record, observations=story.record.observations[1:])
    return replace(story, record=shorter).without("observed")


def lost_row(story: History) -> History:
    return replace(story, record=replace(story.record, observations=story.record.observations[1:]))


def doubled(story: History) -> History:
    first, last = story.first("observed"), story.record.events[-1]
    seq = len(story.record.observations) + 1
    again = replace(first, seq=last.seq + 1, trial=None, payload={**first.payload, "observation": seq, "attempt": None})
    row = replace(story.record.observations[0], seq=seq, trial=None, attempt=None)
    record = replace(
        story.record,
        events=[*story.record.events, again],
        observations=[*story.record.observations, row],
    )
    return replace(story, record=record)


def second_result_of_an_attempt(story: History) -> History:
    first, last = story.first("observed"), story.record.events[-1]
    again = replace(first, seq=last.seq + 1, payload={**first.payload, "observation": 99, "value": 0.5})
    return replace(story, record=replace(story.record, events=[*story.record.events, again]))


def refused_but_stored(story: History) -> History:
    observed = story.entry("observe")
    refused = [replace(entry, fate="refused") if entry.value == observed.value else entry for entry in story.entries]
    return replace(story, entries=refused)


def invented(story: History) -> History:
    return replace(story, entries=[entry for entry in story.entries if entry.kind != "point"])


def budget_exceeded(story: History) -> History:
    return replace(story, plan=replace(story.plan, budget=len(story.record.trials) - 1))


def reused_number(story: History) -> History:
    return story.with_events(lambda event: replace(event, trial=1) if event.kind == "suggested" else event)


def missing_event(story: History) -> History:
    return story.without("paused")


def doubled_event(story: History) -> History:
    return replace(story, record=replace(story.record, events=[*story.record.events, story.record.events[0]]))


def issued_twice(story: History) -> History:
    return replace(story, entries=[*story.entries, replace(story.entry("suggest"), worker="worker-1")])


def never_sent(story: History) -> History:
    known = story.entry("suggest")
    return replace(story, entries=[entry for entry in story.entries if entry is not known])


def same_point(story: History) -> History:
    point = story.first("suggested", trial=1).payload["parameters"]

    def change(event: Event) -> Event:
        if event.kind == "suggested" and event.trial == 2:
            return replace(event, payload={**event.payload, "parameters": point})
        return event

    return story.with_events(change)


def expired_early(story: History) -> History:
    early = story.first("expired")
    at_once = replace(early, created_at=story.first("suggested", early.trial).created_at)
    return story.with_events(lambda event: at_once if event is early else event)


def renewal_ignored(story: History) -> History:
    expired, renewed = story.first("expired"), story.entry("heartbeat")
    late = timedelta(seconds=1)
    claimed = replace(renewed, started=expired.created_at - late, ended=expired.created_at - late / 2)
    return replace(story, entries=[*story.entries, replace(claimed, trial=expired.trial)])


def unfinished(story: History) -> History:
    first, *others = story.record.trials
    return replace(story, record=replace(story.record, trials=[replace(first, state="active"), *others]))


def not_complete(story: History) -> History:
    return replace(story, record=replace(story.record, info=replace(story.record.info, state="running")))


def wrong_best(story: History) -> History:
    return replace(story, record=replace(story.record, info=replace(story.record.info, best=None)))


def report_lost(story: History) -> History:
    (number, points), *_ = story.record.curves.items()
    record = replace(story.record, curves={**story.record.curves, number: points[:-1]})
    return replace(story, record=record)


def report_invented(story: History) -> History:
    return replace(story, entries=[entry for entry in story.entries if entry.kind != "report"])


def part_of_a_request(story: History) -> History:
    first = story.first("reported")
    part = replace(first, payload={**first.payload, "reports": first.payload["reports"][:1]})
    return story.with_events(lambda event: part if event is first else event)


def backwards(story: History) -> History:
    first = story.first("reported")
    turned = replace(first, payload={**first.payload, "reports": first.payload["reports"][::-1]})
    return story.with_events(lambda event: turned if event is first else event)


def stopped_at_another_value(story: History) -> History:
    stop = story.first("stopped")
    return story.with_events(
        lambda event: replace(event, payload={**event.payload, "value": 9.0}) if event is stop else event
    )


def refused_without_reason(story: History) -> History:
    observed = story.entry("observe")
    return replace(story, entries=[*story.entries, replace(observed, fate="refused")])


def counted_outside_the_space(story: History) -> History:
    inside = [replace(observation, outside=False) for observation in story.record.observations]
    return replace(story, record=replace(story.record, observations=inside))


def edit_invented(story: History) -> History:
    return replace(story, entries=[entry for entry in story.entries if entry.kind != "edit"])


def edit_lost(story: History) -> History:
    return replace(story, entries=[*story.entries, replace(story.entry("edit"), edited=Float(0, 3))])


def refused_but_queued(story: History) -> History:
    return story.with_entry(story.entry("queue"), fate="refused")


def queued_twice(story: History) -> History:
    first, last = story.first("queued"), story.record.events[-1]
    return story.with_events(lambda event: replace(first, seq=last.seq) if event is last else event)


def stale(story: History) -> History:
    early, late = story.reads(lists=False)
    return story.with_entry(late, revision=early.revision, counts=early.counts)


def stale_list(story: History) -> History:
    early, late = story.reads(lists=True)
    return story.with_entry(late, listed=early.listed)


def stale_trial(story: History) -> History:
    """Change one trial, but not the number of trials."""
    early, late = story.reads(lists=True)
    return story.with_entry(late, listed=(late.listed[0], early.listed[1], *late.listed[2:]))


def read_before_it_happened(story: History) -> History:
    early, late = story.reads(lists=False)
    return story.with_entry(early, revision=late.revision, counts=late.counts)


def listed_before_it_happened(story: History) -> History:
    early, late = story.reads(lists=True)
    return story.with_entry(early, listed=late.listed)


def impossible_list(story: History) -> History:
    _, late = story.reads(lists=True)
    return story.with_entry(late, listed=(replace(late.listed[0], attempt=7), *late.listed[1:]))


def miscounted(story: History) -> History:
    _, late = story.reads(lists=False)
    assert late.counts is not None
    return story.with_entry(late, counts=replace(late.counts, observations=0))


def logged_before_the_request(story: History) -> History:
    told, last = story.entry("point"), story.entries[-1]
    return story.with_entry(told, asked=last.answered + 1.0, answered=last.answered + 2.0)


def logged_after_later_calls(story: History) -> History:
    told, first = story.last("point"), story.entry("create")
    return story.with_entry(told, asked=first.answered + 1e-6, answered=first.answered + 2e-6)


def lease_cut_short(story: History) -> History:
    """By the clients' clock; the servers report that it expired."""
    lost = story.first("expired")
    attempts = {
        entry.attempt: entry for entry in story.entries if entry.kind == "suggest" and entry.trial == lost.trial
    }
    at_once = attempts[1].answered + 1.0
    return story.with_entry(attempts[2], asked=at_once, answered=at_once)


@pytest.mark.parametrize(
    ("falsify", "named"),
    [
        (lost, "an acknowledged result is lost"),
        (lost_row, "observation 1 is in the log only"),
        (doubled, "reported once, is stored 2 times"),
        (second_result_of_an_attempt, "it is the second result of attempt 1"),
        (refused_but_stored, "is stored although it was refused"),
        (invented, "which no client reported"),
        (budget_exceeded, "exceed the budget"),
        (reused_number, "the trial's number was used before"),
        (missing_event, "not numbered without gaps"),
        (doubled_event, "event 1 occurs 2 times"),
        (issued_twice, "an attempt was issued twice"),
        (never_sent, "without receiving it"),
        (same_point, "it has the same point as trial 1"),
        (expired_early, "the lease expired after 0:00:"),
        (renewal_ignored, "a renewed lease expired too early"),
        (unfinished, "trial 1 is still active"),
        (not_complete, "not complete"),
        (wrong_best, "the best observation is"),
        (lambda story: story.without("corrected"), "an acknowledged correction is lost"),
        (lambda story: story.without("released"), "an acknowledged release is not in the log"),
        (lambda story: story.without("failed"), "an acknowledged failure is not in the log"),
        (lambda story: story.without("retried"), "an acknowledged retry is not in the log"),
        (lambda story: story.without("queued"), "an acknowledged point is not in the queue"),
        (lambda story: story.without("leased"), "but in the log it is"),
        (report_lost, "has the curve"),
        (report_invented, "which no client sent"),
        (part_of_a_request, "some acknowledged reports are lost"),
        (backwards, "the steps are [2, 1]"),
        (stopped_at_another_value, "it had reported"),
        (lambda story: story.without("stopped"), "was asked to stop a trial, which is"),
        (refused_without_reason, "a result was refused without a reason"),
        (counted_outside_the_space, "counts at"),
        (edit_invented, "which no client requested"),
        (edit_lost, "an acknowledged edit is lost"),
        (lambda story: story.without("edited"), "it is not version 2 of the space"),
        (refused_but_queued, "calls that could have queued it: worker-0 queue"),
        (queued_twice, "calls that could have queued it: worker-0 queue"),
        (stale, "story: worker-0 read (acknowledged"),
        (stale_list, "a list of 5 trials, was asked"),
        (stale_trial, "trial 2 as ('active', 1, None), was asked"),
        (read_before_it_happened, "s after the answer to worker-0 read"),
        (listed_before_it_happened, "s after the answer to worker-0 read"),
        (impossible_list, "was never true"),
        (miscounted, "the counts at revision"),
        (logged_before_the_request, "story: worker-0 point observation"),
        (logged_after_later_calls, "s after the answer to worker-0 point"),
        (lease_cut_short, "a trial was issued during the lease of another worker"),
    ],
)
def test_falsified_records_are_reported(story: History, falsify: Callable[[History], History], named: str) -> None:
    violations = falsify(story).violations()
    assert any(named in violation for violation in violations), violations
    assert all(violation.startswith(f"{story.plan.id}: ") for violation in violations)


def test_late_copy_of_a_refused_call_may_queue_its_point(story: History) -> None:
    """A stopped trial frees a part of the budget, and a refusal is not stored under its key."""
    queued, stopped = story.entry("queue"), story.entry("report")
    assert stopped.started < story.first("stopped").created_at
    early = {"started": stopped.started, "ended": stopped.ended, "asked": stopped.asked, "answered": stopped.answered}
    assert story.with_entry(queued, fate="refused", trial=None, revision=None, **early).violations() == []
