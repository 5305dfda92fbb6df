"""Calls of clients: as values, as requests to a server, and the facts in their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adabkb_service.contract.answers import Observation, Trial
from adabkb_service.contract.requests import HeartbeatBody, ReleaseBody
from adabkb_service.operations import correct as correction
from adabkb_service.operations import lease
from adabkb_service.operations import observe as observation
from adabkb_service.operations import suggest as suggestion
from adabkb_service.operations.studies import manage
from adabkb_service.study.request import Key, Request
from tests.integration.operations import verbs


@dataclass(frozen=True)
class Ask:
    """Request trials."""

    count: int
    worker: str


@dataclass(frozen=True)
class Tell:
    """Report the result of an attempt; None means the current one."""

    trial: int
    attempt: int | None
    value: float


@dataclass(frozen=True)
class Fail:
    """Report that an attempt failed."""

    trial: int
    attempt: int | None


@dataclass(frozen=True)
class Renew:
    """Renew a lease."""

    trial: int
    attempt: int | None
    seconds: float | None = None


@dataclass(frozen=True)
class Release:
    """Release a trial."""

    trial: int
    attempt: int | None


@dataclass(frozen=True)
class Correct:
    """Replace an observation's value, or exclude it, or include it again."""

    observation: int
    change: tuple[str, Any]


@dataclass(frozen=True)
class Change:
    """Pause or resume the study, or set its budget."""

    change: tuple[str, Any]


Action = Ask | Tell | Fail | Renew | Release | Correct | Change
Facts = dict[str, Any]
"""The facts in an answer."""


@dataclass(frozen=True)
class Call:
    """An action with or without an idempotency key."""

    action: Action
    key: str | None = None


def request_of(call: Call) -> Request[Any]:
    """Convert a call to a request to a server."""
    key = None if call.key is None else Key("s", call.key, repr(call.action))
    match call.action:
        case Ask(count, worker):
            made: Request[Any] = suggestion.suggest("s", verbs.Ask(count, worker), key)
        case Tell(trial, attempt, value):
            made = observation.observe("s", verbs.Value(value, trial, attempt), key)
        case Fail(trial, attempt):
            made = observation.observe("s", verbs.Failure(trial, attempt), key)
        case Renew(trial, attempt, seconds):
            renewal = HeartbeatBody.model_construct(attempt=attempt, lease_seconds=seconds)
            made = lease.heartbeat("s", trial, renewal, key)
        case Release(trial, attempt):
            made = lease.release("s", trial, ReleaseBody.model_construct(attempt=attempt), key)
        case Correct(seq, change):
            made = correction.correct("s", seq, dict([change]), key=key)
        case Change(change):
            made = manage.change("s", dict([change]), key=key)
    return made


def facts_of(call: Call, view: Any) -> Facts:
    """Return the facts in an answer that the specification knows."""
    study = view if isinstance(call.action, Change) else view.study
    counts = {name: count for name, count in dict(study.counts).items() if count or name in ("trials", "observations")}
    best = None if study.best is None else study.best.value
    found: Facts = {"study": study.state, "counts": counts, "best": best}
    match call.action:
        case Ask():
            found["trials"] = list(map(shown, view.trials))
        case Correct():
            found["observation"] = view.observation.seq
        case Tell() | Fail() | Renew() | Release():
            observation: Observation | None = getattr(view, "observation", None)
            found |= {"trial": shown(view.trial), "observation": None if observation is None else observation.seq}
    return found


def shown(trial: Trial) -> Facts:
    return {
        "number": trial.number,
        "state": trial.state,
        "attempt": trial.attempt,
        "worker": trial.worker,
        "until": trial.leased_until,
        "value": trial.value,
    }
