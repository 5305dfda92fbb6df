"""The history before a crash, and the operations during which the server is killed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adabkb_service.operations.monitoring.sweep import sweep
from tests.acceptance.crash.server import Call, Operation

STUDY, OTHER = "/v1/studies/s", "/v1/studies/other"
OVER_AT_ONCE = 0.001
"""Duration of a lease in seconds, shorter than a request."""
HOURS = 4 * 3600.0


EITHER = {"sqlite": "paper", "postgresql": "auto"}
"""The state after a crash depends on the database and on the model's rows, but not on their combination."""


@dataclass(frozen=True)
class Case:
    """An operation, and the state before it."""

    name: str
    operation: Operation
    before: tuple[Operation, ...] = ()
    profiles: Mapping[str, str] = field(default_factory=lambda: EITHER)
    """Kind of database -> profile of the study with a history."""
    repeated: int | None = None
    """The status of a repeated request, if it differs."""


def definition(study: str | None, profile: str, **more: Any) -> dict[str, Any]:
    """A small study. Without an id, the server generates one."""
    parameters = [
        {"name": "x", "kind": "float", "low": -1, "high": 2},
        {"name": "n", "kind": "int", "low": 1, "high": 9},
    ]
    algorithm = {"profile": profile}
    fixed = {"direction": "minimize", "parameters": parameters, "seed": 3, "budget": 90, "algorithm": algorithm}
    return {"id": study, **fixed, **more}


def results(count: int) -> list[dict[str, Any]]:
    """Results at user-supplied points."""
    points = [{"x": -1 + 3 * index / count, "n": 1 + 5 * index % 9} for index in range(count)]
    return [{"parameters": point, "value": (point["x"] - 0.3) ** 2 + (point["n"] - 4) ** 2 / 9} for point in points]


def post(path: str, **body: Any) -> Call:
    """A POST."""
    return Call("POST", path, body)


def history(profile: str) -> list[Operation]:
    """A study with ten results, and with the active trials 2 and 3."""
    return [
        post("/v1/studies", **definition("s", profile, max_attempts=2)),
        post(f"{STUDY}/observations", items=results(9)),
        post(f"{STUDY}/suggest", count=3),
        post(f"{STUDY}/observe", trial=1, value=0.5),
    ]


def renew(trial: int, seconds: float, study: str = STUDY) -> Call:
    """A heartbeat."""
    return post(f"{study}/trials/{trial}/heartbeat", lease_seconds=seconds)


LEASES = (
    # Trial 4 is queued after an expired lease. The leases of 5 and 6 have expired unnoticed, for 6 in its last attempt.
    post(f"{STUDY}/suggest", count=3, lease_seconds=OVER_AT_ONCE),
    renew(4, HOURS),
    renew(5, HOURS),
    sweep,
    post(f"{STUDY}/suggest", lease_seconds=OVER_AT_ONCE),
    renew(6, HOURS),
    renew(4, OVER_AT_ONCE),
    sweep,
    renew(5, OVER_AT_ONCE),
    renew(6, OVER_AT_ONCE),
)
POINT = {"x": 1.25, "n": 7}

OTHER_STUDY = post("/v1/studies", **definition("other", "auto", tolerance=1e9, failure_limit=1))
"""Complete as soon as there is a gap, which takes nine results; paused by one failure."""

STEPS = "/v1/studies/steps"
HALF_TRAINED = (
    post("/v1/studies", **definition("steps", "auto", early_stopping={"rule": "asha", "max_steps": 9})),
    post(f"{STEPS}/suggest", count=2),
)
"""A study with an early-stopping rule, and two active trials."""

EDIT = Call(
    "PATCH",
    STUDY,
    {
        "parameters": [{"name": "n", "kind": "int", "low": 4, "high": 12}, {"name": "b", "kind": "bool"}],
        "defaults": {"b": True},
    },
)
"""Excludes some results and a waiting trial from the space."""

ONE = {"sqlite": "auto", "postgresql": "auto"}
"""For operations without a model, or with that of another study."""

CASES = [
    Case("create a study", post("/v1/studies", **definition("new", "auto")), profiles=ONE),
    Case("create a study of the paper", post("/v1/studies", **definition("new", "paper")), profiles=ONE),
    Case("create a study whose id is drawn", post("/v1/studies", **definition(None, "auto")), profiles=ONE),
    Case("suggest the first trial", post(f"{OTHER}/suggest"), (OTHER_STUDY,), ONE),
    Case("suggest", post(f"{STUDY}/suggest", worker="w")),
    Case("suggest three", post(f"{STUDY}/suggest", count=3)),
    Case("suggest a trial that waits", post(f"{STUDY}/suggest"), LEASES),
    Case("suggest waiting trials and new ones", post(f"{STUDY}/suggest", count=4), LEASES),
    Case("observe a value", post(f"{STUDY}/observe", trial=2, value=0.125, std_error=0.01)),
    Case("observe a value of an overdue trial", post(f"{STUDY}/observe", trial=5, value=0.125), LEASES),
    Case("observe a point", post(f"{STUDY}/observe", parameters=POINT, value=0.125)),
    Case("observe a failure", post(f"{STUDY}/observe", trial=2, state="failed", reason="diverged")),
    Case(
        "observe the failure that pauses a study",
        post(f"{OTHER}/observe", trial=1, state="failed"),
        (OTHER_STUDY, post(f"{OTHER}/suggest")),
        ONE,
    ),
    Case(
        "observe the result that completes a study",
        post(f"{OTHER}/observe", **results(9)[8]),
        (OTHER_STUDY, post(f"{OTHER}/observations", items=results(9)[:8])),
        ONE,
    ),
    Case(
        "observe a batch",
        post(
            f"{STUDY}/observations",
            items=[
                {"trial": 2, "value": 0.125},
                {"trial": 99, "value": 1.0},
                {"trial": 3, "state": "failed"},
                {"parameters": POINT, "value": 2.0},
            ],
        ),
    ),
    Case("observe a batch that is folded in slices", post(f"{STUDY}/observations", items=results(51))),
    Case("report a value", post(f"{STUDY}/trials/2/reports", step=1, value=0.5), profiles=ONE),
    Case(
        "report the value that stops a trial",
        post(f"{STEPS}/trials/2/reports", reports=[{"step": 1, "value": 4.0}, {"step": 2, "value": 3.0}]),
        (*HALF_TRAINED, post(f"{STEPS}/trials/1/reports", step=1, value=0.5)),
        ONE,
    ),
    Case("renew a lease", renew(2, HOURS), profiles=ONE),
    Case("renew an expired lease", renew(4, HOURS), LEASES),
    Case("release", post(f"{STUDY}/trials/2/release")),
    Case("withdraw a trial", post(f"{STUDY}/trials/2/withdraw", reason="no XPhos left")),
    Case("queue a point", post(f"{STUDY}/trials", parameters=POINT)),
    Case("correct an observation", Call("PATCH", f"{STUDY}/observations/10", {"value": 0.75, "reason": "typo"})),
    Case("exclude an observation", Call("DELETE", f"{STUDY}/observations/3")),
    Case(
        "change limits",
        Call("PATCH", STUDY, {"budget": 4, "pending_limit": 2, "tags": {"stage": "late"}}),
        profiles=ONE,
    ),
    Case("edit the space", EDIT, LEASES, ONE),
    Case("pause", Call("PATCH", STUDY, {"state": "paused", "lease_seconds": 60}), profiles=ONE),
    Case("delete a study", Call("DELETE", STUDY), profiles=ONE, repeated=404),
    Case("restore a study", post(f"{STUDY}/restore", deletion=1), (Call("DELETE", STUDY),), ONE),
    Case("purge a study from the trash", Call("DELETE", "/v1/trash/1"), (Call("DELETE", STUDY),), ONE, repeated=404),
    Case("share a study", Call("PATCH", f"{STUDY}/access", {"owner": "ann", "shared_with": {"bob": "work"}}), (), ONE),
    Case(
        "sweep two studies",
        sweep,
        (*LEASES, OTHER_STUDY, post(f"{OTHER}/suggest", count=2, lease_seconds=OVER_AT_ONCE)),
        ONE,
    ),
]
