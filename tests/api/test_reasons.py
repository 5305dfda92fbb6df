"""Where there is no estimate, the answer says why."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from adabkb_service.inference.messages import CannotFollow
from adabkb_service.inference.questions import QUESTIONS
from tests.api.conftest import DEFINITION

POINT = {"x": 0.5, "n": 3}


def reasons(api: httpx.Client) -> tuple[str | None, str | None]:
    """Of the recommendation, and of the study's missing gap."""
    found = api.get("/v1/studies/s/recommendation").json()
    assert (found["model"] is None) <= (found["reason"] is not None)
    info = api.get("/v1/studies/s").json()
    assert (info["gap"] is None) == (info["model"]["reason"] is not None)
    return found["reason"], info["model"]["reason"]


def observe(api: httpx.Client, value: float, **more: Any) -> None:
    told = {"parameters": {**POINT, "x": value}, "value": value, **more}
    assert api.post("/v1/studies/s/observe", json=told).status_code == 200


def test_before_and_after_the_first_results(api: httpx.Client) -> None:
    assert api.post("/v1/studies", json=DEFINITION).status_code == 201
    assert reasons(api) == ("no_results", "no_results")
    observe(api, 0.5)
    assert reasons(api) == (None, "not_known_yet")
    for n, x in enumerate((-1.0, 2.0, 0.0, 1.0, -0.5, 1.5, -0.8, 0.8, 1.8), start=1):
        observe(api, x, parameters={"x": x, "n": n})
    assert reasons(api) == (None, None)


def test_of_several_objectives(api: httpx.Client) -> None:
    objectives = [{"metric": name, "direction": "minimize"} for name in ("loss", "latency")]
    definition = {**DEFINITION, "objectives": objectives}
    definition.pop("direction")
    assert api.post("/v1/studies", json=definition).status_code == 201
    assert reasons(api) == ("several_objectives", "several_objectives")


def test_where_no_result_keeps_the_outcome_constraints(api: httpx.Client) -> None:
    bounds = {"outcome_constraints": [{"metric": "latency", "upper": 1.0}], "metrics": ["latency"]}
    created = api.post("/v1/studies", json={**DEFINITION, **bounds})
    assert created.status_code == 201, created.text
    observe(api, 0.5, metrics={"latency": 2.0})
    assert reasons(api) == ("nothing_feasible", "nothing_feasible")


@pytest.mark.parametrize(
    ("raised", "reason"), [(CannotFollow("a fault"), "model_failed"), (RuntimeError("a fault"), "model_busy")]
)
def test_while_the_model_does_not_answer(
    api: httpx.Client, monkeypatch: pytest.MonkeyPatch, raised: Exception, reason: str
) -> None:
    assert api.post("/v1/studies", json=DEFINITION).status_code == 201
    observe(api, 0.5)

    def fail(*_: Any) -> Any:
        raise raised

    monkeypatch.setitem(QUESTIONS, "recommended", fail)
    assert reasons(api)[0] == reason
