"""Studies for the tests of the web interface, created by a real client on a real server."""

from __future__ import annotations

import math
from typing import Any

import httpx

HOSTILE = """<img src=x onerror=alert(1)>"'{{7*7}}</script><script>alert(2)</script>"""
"""Text that pages must always show literally."""

PARAMETERS: list[dict[str, Any]] = [
    {"name": "rate", "kind": "float", "low": 1e-4, "high": 1.0, "scale": "log"},
    {"name": "width", "kind": "int", "low": 1, "high": 64},
    {"name": "activation", "kind": "categorical", "choices": ["relu", "tanh", "gelu"]},
    {"name": "data", "kind": "fixed", "value": "digits"},
]
WORKERS = ("anna", "node-7")


def loss(point: dict[str, Any]) -> float:
    bend = {"relu": 0.0, "tanh": 0.05, "gelu": 0.02}[point["activation"]]
    found: float = round((math.log10(point["rate"]) + 2.2) ** 2 / 10 + (point["width"] - 40) ** 2 / 4000 + bend, 4)
    return found


def tuned(api: httpx.Client, study: str = "digits", results: int = 24) -> None:
    """A typical study: two workers, a failure, an excluded result, and an active trial."""
    definition = {"id": study, "direction": "minimize", "parameters": PARAMETERS, "budget": 40, "seed": 5}
    tags = {"owner": "anna", "project": "vision"}
    checked(api.post("/v1/studies", json={**definition, "tags": tags}))
    for number in range(results):
        worker = WORKERS[number % 2]
        (trial,) = checked(api.post(f"/v1/studies/{study}/suggest", json={"worker": worker}))["trials"]
        told: dict[str, Any] = {"value": loss(trial["parameters"]), "std_error": 0.01}
        if number == 7:
            told = {"state": "failed", "reason": "out of memory"}
        checked(api.post(f"/v1/studies/{study}/observe", json={"trial": trial["number"], **told}))
    checked(api.request("DELETE", f"/v1/studies/{study}/observations/3", params={"reason": "spilt"}))
    checked(api.post(f"/v1/studies/{study}/suggest", json={"worker": "anna"}))


def hostile(api: httpx.Client) -> None:
    """A study with markup in every string from users."""
    parameters = [
        {"name": HOSTILE, "kind": "float", "low": 0, "high": 1},
        {"name": "b" + HOSTILE, "kind": "categorical", "choices": [HOSTILE, "plain"]},
    ]
    definition = {"id": "hostile", "direction": "maximize", "parameters": parameters, "tags": {HOSTILE: HOSTILE}}
    checked(api.post("/v1/studies", json={**definition, "seed": 1}))
    for number in range(1, 11):  # so many results that all charts are drawn
        checked(api.post("/v1/studies/hostile/suggest", json={"worker": HOSTILE}))
        told = {"state": "failed", "reason": HOSTILE} if number == 6 else {"value": number}
        checked(api.post("/v1/studies/hostile/observe", json={"trial": number, **told}))
    checked(api.patch("/v1/studies/hostile/trials/1", json={"attributes": {HOSTILE: HOSTILE}}))
    checked(api.patch("/v1/studies/hostile/observations/2", json={"value": 2.5, "reason": HOSTILE}))


COATING: dict[str, Any] = {
    "objectives": [
        {"metric": "hardness", "direction": "maximize", "reference": 60},
        {"metric": "price", "direction": "minimize", "reference": 8},
    ],
    "parameters": [
        {"name": "binder", "kind": "float", "low": 40, "high": 80, "unit": "%", "label": "Binder A"},
        {"name": "acetate", "kind": "float", "low": 0, "high": 40, "unit": "%", "label": "Butyl acetate"},
        {"name": "xylene", "kind": "float", "low": 0, "high": 40, "unit": "%", "label": "Xylene"},
        {"name": "hardener", "kind": "categorical", "choices": ["Desmodur L75", "Tolonate HDT"], "label": "Hardener"},
        {"name": "humidity", "kind": "float", "low": 20, "high": 80, "unit": "%", "label": "Humidity", "context": True},
    ],
    "mixtures": [{"parameters": ["binder", "acetate", "xylene"], "total": 100}],
    "outcome_constraints": [{"metric": "viscosity", "upper": 120}],
    "quantities": {
        "hardness": {"label": "Hardness", "unit": "s"},
        "price": {"label": "Cost", "unit": "€/kg"},
        "viscosity": {"label": "Viscosity", "unit": "mPa·s"},
    },
    "seed": 3,
}
"""A clear coat: two objectives, a mixture, a bounded metric, and a context parameter."""


def tested(point: dict[str, Any]) -> dict[str, float]:
    """The hardness, the cost and the viscosity of a clear coat. The viscosity depends on the binder."""
    binder, hard = point["binder"], 20.0 if point["hardener"] == "Tolonate HDT" else 0.0
    return {
        "hardness": round(1.6 * binder + 0.1 * point["xylene"] + hard - 0.2 * point["humidity"], 1),
        "price": round(2 + 0.05 * binder + 0.02 * hard + 0.01 * point["acetate"], 2),
        "viscosity": round(120 * math.exp((binder - 62) / 8), 1),
    }


def coated(api: httpx.Client, study: str, results: int, **more: Any) -> None:
    """A clear coat with as many results, each at another humidity."""
    checked(api.post("/v1/studies", json={"id": study, **COATING, **more}))
    for number in range(results):
        context = {"humidity": 40 + number % 20}
        (trial,) = checked(api.post(f"/v1/studies/{study}/suggest", json={"context": context}))["trials"]
        told = {"trial": trial["number"], "metrics": tested(trial["parameters"])}
        checked(api.post(f"/v1/studies/{study}/observe", json=told))


def checked(answer: httpx.Response) -> dict[str, Any]:
    """The body of a successful answer."""
    assert answer.status_code < 400, answer.text
    body: dict[str, Any] = answer.json()
    return body
