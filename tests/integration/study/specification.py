"""A reference model of a study with dictionaries: trials, results, and the answers stored under idempotency keys.

It follows docs/http.md, and shares only the names of errors with the code under test.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from adabkb_service.errors import (
    AdaBKBError,
    IdempotencyKeyReused,
    Invalid,
    LeaseLost,
    ObservationNotFound,
    ResultConflict,
    TrialFinished,
    TrialNotFound,
)
from tests.integration.study.calls import Action, Ask, Call, Change, Correct, Facts, Fail, Release, Renew, Tell

LEASE_SECONDS = 60.0
MAX_ATTEMPTS = 2
FAILURE_LIMIT = 4
FIRST_BUDGET = 6


@dataclass(frozen=True)
class Answer:
    """The entry of a key: the action, and the answer as sent."""

    action: Action
    json: str


class Specification:
    """A study with sequential calls at given times."""

    def __init__(self) -> None:
        self.trials: dict[int, dict[str, Any]] = {}
        self.results: dict[int, dict[str, Any]] = {}
        self.answers: dict[str, Answer] = {}
        self.paused = False
        self.budget = FIRST_BUDGET
        self.failures = 0

    def perform(self, call: Call, now: datetime) -> Facts | Answer | type[AdaBKBError]:
        """Return the answer to a call: facts, the stored answer of its key, or a refusal, which changes nothing."""
        if call.key in self.answers:
            kept = self.answers[call.key or ""]
            return kept if kept.action == call.action else IdempotencyKeyReused
        match call.action:
            case Ask():
                found: Facts | type[AdaBKBError] = self._ask(call.action, now)
            case Correct(seq, change):
                found = self._correct(seq, change)
            case Change(change):
                found = self._change(change)
            case Tell() | Fail() | Renew() | Release():
                found = self._of_trial(call.action, now)
        if isinstance(found, type):
            return found
        self._pause_after_successive_failures()
        return {**found, **self.summary()}

    def keep(self, call: Call, json: str) -> None:
        """Store a new answer under its key. (The caller leaves out suggestions without trials, as a server does.)"""
        if call.key is not None:
            self.answers[call.key] = Answer(call.action, json)

    def expire(self, now: datetime) -> None:
        """Expire leases. The expiry of the last attempt fails the trial."""
        for trial in self.trials.values():
            if trial["state"] == "active" and trial["until"] < now:
                trial["expirations"] += 1
                trial["state"] = "expired"
                if trial["expirations"] >= MAX_ATTEMPTS:
                    self._fail(trial, None)

    def sweep(self, now: datetime) -> None:
        """Perform the background work of a server."""
        self.expire(now)
        self._pause_after_successive_failures()

    def summary(self) -> Facts:
        """The study in every answer."""
        states = Counter(trial["state"] for trial in self.trials.values())
        unfinished = sum(states[state] for state in ("active", "released", "expired"))
        values = [result["value"] for result in self.results.values() if not result["excluded"]]
        state = "paused" if self.paused else "running"
        return {
            "study": "complete" if len(self.trials) >= self.budget and not unfinished else state,
            "counts": {**states, "trials": len(self.trials), "observations": len(self.results)},
            "best": min(values, default=None),
        }

    def _ask(self, ask: Ask, now: datetime) -> Facts:
        self.sweep(now)
        found = [number for number, trial in self.trials.items() if trial["state"] in ("released", "expired")]
        handed = [] if self.paused else found[: ask.count]
        room = 0 if self.paused else max(self.budget - len(self.trials), 0)
        new = range(len(self.trials) + 1, len(self.trials) + 1 + min(ask.count - min(len(found), ask.count), room))
        for number in new:
            self.trials[number] = {"attempt": 0, "expirations": 0, "failed": None, "results": {}}
        for number in [*handed, *new]:
            trial = self.trials[number]
            until = now + timedelta(seconds=LEASE_SECONDS)
            held = {"state": "active", "attempt": trial["attempt"] + 1, "worker": ask.worker}
            trial.update(**held, until=until, seconds=LEASE_SECONDS)
        return {"trials": [self.shown(number) for number in [*handed, *new]]}

    def _of_trial(self, action: Tell | Fail | Renew | Release, now: datetime) -> Facts | type[AdaBKBError]:
        trial = self.trials.get(action.trial)
        if trial is None:
            return TrialNotFound
        attempt = trial["attempt"] if action.attempt is None else action.attempt
        seq: int | None = None
        match action:
            case Tell():
                outcome = self._tell(trial, attempt, action)
                if isinstance(outcome, type):
                    return outcome
                seq = outcome
            case Fail():
                refusal = self._report_failure(trial, attempt)
            case Renew():
                refusal = self._renew(trial, attempt, action.seconds or trial["seconds"], now)
            case Release():
                refusal = self._release(trial, attempt)
        if not isinstance(action, Tell) and refusal is not None:
            return refusal
        return {"trial": self.shown(action.trial), "observation": seq}

    def _tell(self, trial: dict[str, Any], attempt: int, tell: Tell) -> int | type[AdaBKBError]:
        if not 1 <= attempt <= trial["attempt"]:
            return Invalid
        if attempt in trial["results"]:
            seq: int = trial["results"][attempt]
            known = self.results[seq]
            return seq if tell.value in (known["value"], known["told"]) else ResultConflict
        if trial["state"] == "failed" and trial["failed"] == attempt:
            return ResultConflict
        seq = len(self.results) + 1
        row = {"trial": tell.trial, "attempt": attempt, "value": tell.value, "told": tell.value, "excluded": False}
        self.results[seq] = row
        trial["results"][attempt] = seq
        if trial["state"] != "completed":
            trial["state"], self.failures = "completed", 0
        return seq

    def _report_failure(self, trial: dict[str, Any], attempt: int) -> type[AdaBKBError] | None:
        if not 1 <= attempt <= trial["attempt"]:
            return Invalid
        if trial["state"] == "completed":
            return TrialFinished
        if trial["state"] == "failed":
            return None
        if attempt != trial["attempt"]:
            return LeaseLost
        self._fail(trial, attempt)
        return None

    def _renew(self, trial: dict[str, Any], attempt: int, seconds: float, now: datetime) -> type[AdaBKBError] | None:
        if not min(trial["attempt"], 1) <= attempt <= trial["attempt"]:
            return Invalid
        if attempt != trial["attempt"] or trial["state"] not in ("active", "expired"):
            return LeaseLost
        trial["expirations"] -= trial["state"] == "expired"
        trial.update(state="active", until=now + timedelta(seconds=seconds), seconds=seconds)
        return None

    def _release(self, trial: dict[str, Any], attempt: int) -> type[AdaBKBError] | None:
        if trial["state"] in ("completed", "failed"):
            return TrialFinished
        if not min(trial["attempt"], 1) <= attempt <= trial["attempt"]:
            return Invalid
        if attempt != trial["attempt"]:
            return LeaseLost
        trial["state"] = "released"
        return None

    def _correct(self, seq: int, change: tuple[str, Any]) -> Facts | type[AdaBKBError]:
        if seq not in self.results:
            return ObservationNotFound
        self.results[seq].update([change])
        return {"observation": seq}

    def _change(self, change: tuple[str, Any]) -> Facts:
        match change:
            case "budget", budget:
                self.budget = budget
            case "state", "paused":
                self.paused = True
            case "state", "running" if self.paused:
                self.paused, self.failures = False, 0
        return {}

    def _fail(self, trial: dict[str, Any], attempt: int | None) -> None:
        trial["state"], trial["failed"] = "failed", attempt
        self.failures += 1

    def _pause_after_successive_failures(self) -> None:
        self.paused = self.paused or self.failures >= FAILURE_LIMIT

    def shown(self, number: int) -> Facts:
        """A trial in an answer."""
        trial = self.trials[number]
        first = next(iter(trial["results"].values()), None)
        return {
            "number": number,
            "state": trial["state"],
            "attempt": trial["attempt"],
            "worker": trial["worker"],
            "until": trial["until"] if trial["state"] == "active" else None,
            "value": None if first is None else self.results[first]["value"],
        }
