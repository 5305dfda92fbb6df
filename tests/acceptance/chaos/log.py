"""The state of a study according to its log: events are applied by the rules of docs/http.md, and violations are
listed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from adabkb_client import Event, Parameters, TrialState

WAITING = ("queued", "released", "expired")
HELD = ("active", "expired")
Shown = tuple[TrialState, int, float | None]
"""State, attempt and value of a trial."""


@dataclass
class LoggedTrial:
    """A trial after the events so far."""

    parameters: Parameters
    state: TrialState
    attempt: int = 0
    leased_at: datetime | None = None
    holders: dict[int, str | None] = field(default_factory=dict)
    """Attempt -> worker."""
    results: dict[int, int] = field(default_factory=dict)
    """Attempt -> observation, in order."""
    failures: list[int | None] = field(default_factory=list)
    """Attempts that failed; None if too many leases expired."""
    retries: list[int] = field(default_factory=list)
    """The failed attempts that were retried."""
    releases: list[int] = field(default_factory=list)
    expiries: list[tuple[int, datetime]] = field(default_factory=list)
    curves: dict[int, dict[int, float]] = field(default_factory=dict)
    """Attempt -> step -> value."""
    requests: list[tuple[int, tuple[tuple[int, float], ...]]] = field(default_factory=list)
    """Attempt and reports of each request with reports."""
    has_late_result: bool = False
    """Whether its result came after it was withdrawn. Such a result is taken although the budget may be used up."""


@dataclass
class LoggedObservation:
    """An observation after the events so far."""

    trial: int | None
    attempt: int | None
    parameters: Parameters
    told: float
    """The value before any correction."""
    value: float
    std_error: float | None
    excluded: bool = False
    corrections: list[float] = field(default_factory=list)
    """Later values."""


class Log:
    """The state after all events; ``faults`` lists violations of rules."""

    def __init__(self, events: Iterable[Event], lease: timedelta, *, may_repeat_points: bool) -> None:
        self.trials: dict[int, LoggedTrial] = {}
        self.queued: dict[int, Parameters] = {}
        """Trial -> point that a user queued."""
        self.observations: dict[int, LoggedObservation] = {}
        self.edits: list[list[dict[str, Any]]] = []
        """The parameters of the space after each edit."""
        self.faults: list[str] = []
        self.counts: dict[int, Counter[str]] = {}
        """Event -> numbers of trials by state, and of observations, after it; zeros are left out."""
        self.shown: defaultdict[int, list[tuple[int, Shown]]] = defaultdict(list)
        """Trial -> its state after each event about it."""
        self._lease = lease
        self._may_repeat_points = may_repeat_points
        self._suggested: dict[frozenset[tuple[str, Any]], int] = {}
        """Point -> trial."""
        self._paused = False
        for event in events:
            self._take(event)
            self._note(event)

    def _take(self, event: Event) -> None:
        match event.kind:
            case "suggested" | "queued":
                self._begin(event)
            case "leased" | "expired" | "released" | "failed" | "retried" | "stopped" | "withdrawn":
                self._move(event)
            case "observed":
                self._observe(event)
            case "corrected":
                self._correct(event)
            case "reported":
                self._report(event)
            case "edited":
                self._edit(event)
            case "paused" | "resumed":
                self._check(self._paused == (event.kind == "resumed"), event, "the state was the same before")
                self._paused = event.kind == "paused"
            case "model_failed":
                self._check(False, event, f"the model failed: {event.payload}")

    def _note(self, event: Event) -> None:
        """Record what a client would see now."""
        counts = self.counts.get(event.seq - 1, Counter()).copy()
        counts["observations"] = len(self.observations)
        trial = self.trials.get(event.trial or 0)
        if trial is not None:
            seen = self.shown[event.trial or 0]
            counts[trial.state] += 1
            if seen:
                counts[seen[-1][1][0]] -= 1
            first = next(iter(trial.results.values()), None)
            value = None if first is None else self.observations[first].value
            seen.append((event.seq, (trial.state, trial.attempt, value)))
        self.counts[event.seq] = +counts

    def _begin(self, event: Event) -> None:
        number, point = _number(event), event.payload["parameters"]
        self._check(number not in self.trials, event, "the trial's number was used before")
        if event.kind == "queued":
            self.trials[number] = LoggedTrial(point, "queued")
            self.queued[number] = point
            return
        key = frozenset(point.items())
        before = self._suggested.get(key)
        if before is not None and not self._may_repeat(self.trials[before]):
            self._check(False, event, f"it has the same point as trial {before}: {point}")
        self._suggested[key] = number
        worker = event.payload["worker"]
        self.trials[number] = LoggedTrial(point, "active", 1, event.created_at, holders={1: worker})

    def _may_repeat(self, trial: LoggedTrial) -> bool:
        """Whether the point of a trial may be suggested again: it was withdrawn, no result counts, or points may
        repeat."""
        results = [self.observations[seq] for seq in trial.results.values()]
        if trial.state == "withdrawn":
            return True
        return bool(results) and (self._may_repeat_points or all(result.excluded for result in results))

    def _move(self, event: Event) -> None:
        trial = self._trial(event)
        if trial is None:
            return
        attempt: int | None = event.payload["attempt"]
        was = f"the trial was {trial.state} at attempt {trial.attempt}"
        match event.kind:
            case "leased" if event.payload["renewed"]:
                self._check(trial.state == "expired" and attempt == trial.attempt, event, was)
                trial.state, trial.leased_at = "active", event.created_at
            case "leased":
                self._check(trial.state in WAITING and attempt == trial.attempt + 1, event, was)
                trial.state, trial.leased_at, trial.attempt = "active", event.created_at, attempt or 0
                trial.holders[trial.attempt] = event.payload["worker"]
            case "expired":
                self._check(trial.state == "active" and attempt == trial.attempt, event, was)
                lasted = event.created_at - (trial.leased_at or event.created_at)
                self._check(lasted >= self._lease, event, f"the lease expired after {lasted}")
                trial.state = "expired"
                trial.expiries.append((trial.attempt, event.created_at))
            case "released":
                self._check(trial.state in HELD and attempt == trial.attempt, event, was)
                trial.state = "released"
                trial.releases.append(trial.attempt)
            case "failed":
                self._check(trial.state not in ("completed", "failed", "stopped"), event, was)
                self._check(attempt in (None, trial.attempt), event, was)
                trial.state = "failed"
                trial.failures.append(attempt)
            case "withdrawn":
                self._check(trial.state in (*WAITING, "active"), event, was)
                self._check(attempt in (None, trial.attempt), event, was)
                trial.state = "withdrawn"
            case "stopped":
                last = list(trial.curves.get(attempt or 0, {}).items())[-1:]
                self._check(trial.state == "active" and attempt == trial.attempt, event, was)
                self._check(last == [(event.payload["step"], event.payload["value"])], event, f"it had reported {last}")
                trial.state = "stopped"
            case "retried":
                self._check(trial.state in ("failed", "withdrawn") and attempt == trial.attempt, event, was)
                trial.state = "released"
                trial.retries.append(trial.attempt)

    def _observe(self, event: Event) -> None:
        payload = event.payload
        seq, attempt = payload["observation"], payload["attempt"]
        self._check(seq not in self.observations, event, f"observation {seq} already existed")
        self.observations[seq] = LoggedObservation(
            event.trial, attempt, payload["parameters"], payload["value"], payload["value"], payload["std_error"]
        )
        if event.trial is not None and (trial := self._trial(event)):
            self._check(0 < attempt <= trial.attempt, event, f"the trial had {trial.attempt} attempts")
            self._check(attempt not in trial.results, event, f"it is the second result of attempt {attempt}")
            self._check(trial.state != "stopped" or self._is_last_of(trial, event), event, "the trial was stopped")
            trial.results[attempt] = seq
            trial.has_late_result |= trial.state == "withdrawn"
            trial.state = "stopped" if trial.state == "stopped" else "completed"

    def _is_last_of(self, trial: LoggedTrial, event: Event) -> bool:
        """Whether a result is the last reported value of a stopped trial."""
        last: float = list(trial.curves[trial.attempt].values())[-1]
        return bool(event.payload["attempt"] == trial.attempt and event.payload["value"] == last)

    def _report(self, event: Event) -> None:
        trial, attempt = self._trial(event), event.payload["attempt"]
        if trial is None:
            return
        was = f"the trial was {trial.state} at attempt {trial.attempt}"
        self._check(trial.state == "active" and attempt == trial.attempt, event, was)
        reports = tuple((step, value) for step, value in event.payload["reports"])
        curve = trial.curves.setdefault(attempt, {})
        steps = [*curve, *(step for step, _ in reports)]
        self._check(steps == sorted(set(steps)), event, f"the steps are {steps}")
        curve.update(reports)
        trial.requests.append((attempt, reports))

    def _edit(self, event: Event) -> None:
        version = len(self.edits) + 2
        self._check(event.payload["version"] == version, event, f"it is not version {version} of the space")
        self.edits.append(event.payload["parameters"])

    def _correct(self, event: Event) -> None:
        payload = event.payload
        observation = self.observations.get(payload["observation"])
        if observation is None:
            self._check(False, event, f"there is no observation {payload['observation']}")
            return
        if "value" in payload["was"]:
            observation.corrections.append(payload["value"])
        observation.value, observation.std_error = payload["value"], payload["std_error"]
        observation.excluded = payload["excluded"]

    def _trial(self, event: Event) -> LoggedTrial | None:
        trial = self.trials.get(_number(event))
        self._check(trial is not None, event, "there is no such trial")
        return trial

    def _check(self, right: bool, event: Event, explanation: str) -> None:
        if not right:
            concerned = "" if event.trial is None else f" of trial {event.trial}"
            self.faults.append(f"event {event.seq}, {event.kind}{concerned}: {explanation}")


def _number(event: Event) -> int:
    assert event.trial is not None, event
    return event.trial
