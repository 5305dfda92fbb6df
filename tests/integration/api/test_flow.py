"""A study from its creation to its end, over HTTP."""

from __future__ import annotations

import httpx
import pytest

SVM = {
    "id": "svm",
    "direction": "maximize",
    "parameters": [
        {"name": "C", "kind": "float", "low": 0.001, "high": 1000, "scale": "log"},
        {"name": "degree", "kind": "int", "low": 1, "high": 5},
    ],
    "budget": 3,
    "seed": 7,
}


def test_study_runs_until_its_budget_is_used(api: httpx.Client) -> None:
    assert api.post("/v1/studies", json=SVM).status_code == 201
    for number in (1, 2, 3):
        answer = api.post("/v1/studies/svm/suggest").json()
        [trial] = answer["trials"]
        assert (trial["number"], trial["state"], trial["attempt"]) == (number, "active", 1)
        reply = api.post("/v1/studies/svm/observe", json={"trial": number, "value": float(number)}).json()
        assert reply["trial"]["state"] == "completed"
        assert reply["observation"]["seq"] == number
    assert reply["study"]["state"] == "complete"
    assert reply["study"]["reason"] == "budget"
    end = api.post("/v1/studies/svm/suggest").json()
    assert (end["trials"], end["reason"], end["retry_after"]) == ([], "budget", None)


def test_log_scaled_parameter_starts_at_its_geometric_mean(api: httpx.Client) -> None:
    api.post("/v1/studies", json=SVM)
    [trial] = api.post("/v1/studies/svm/suggest").json()["trials"]
    assert trial["parameters"] == {"C": pytest.approx(1.0), "degree": 3}
