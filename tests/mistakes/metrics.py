"""Mistakes with metrics and outcome constraints."""

from __future__ import annotations

from typing import Any

from tests.mistakes.bench import POINT
from tests.mistakes.kinds import Defined, Mistake, Section, Sent, Written

OBSERVE = "POST /v1/studies/fast/observe"
NET = {"latency_ms": 12, "size": 3}


def _constrained(title: str, *constraints: dict[str, Any], **more: Any) -> Defined:
    return Defined(title, {"outcome_constraints": list(constraints), **more})


LATENCY = {"metric": "latency_ms", "upper": 20}

METRICS: list[Mistake] = [
    Defined("A metric twice", {"metrics": ["size", "size"]}),
    Defined("Metrics by name, not in a list", {"metrics": {"size": {}}}),
    _constrained("A constraint without a bound", {"metric": "latency_ms"}),
    _constrained("A constraint without a metric", {"upper": 20}),
    _constrained("Bounds of a metric in the wrong order", {"metric": "latency_ms", "lower": 20, "upper": 10}),
    _constrained("A metric constrained twice", LATENCY, {"metric": "latency_ms", "lower": 1}),
    _constrained("A bound of another library", {"metric": "latency_ms", "max": 20}),
    _constrained("Outcome constraints where the algorithm has none", LATENCY, algorithm={"profile": "paper"}),
    _constrained(
        "Outcome constraints and the probability of a gain", LATENCY, stop={"probability_of_gain_below": 0.05}
    ),
    _constrained("Outcome constraints and constraints on parameters", LATENCY, constraints=["layers <= 3"]),
    Defined("Metrics and early stopping", {"metrics": ["size"], "early_stopping": {"rule": "median", "max_steps": 27}}),
    Sent("A result without its metrics", OBSERVE, {"trial": 1, "value": 0.5}),
    Sent("A result without one of its metrics", OBSERVE, {"trial": 1, "value": 0.5, "metrics": {"size": 3}}),
    Sent("A misspelt metric", OBSERVE, {"trial": 1, "value": 0.5, "metrics": {**NET, "latency": 12}}),
    Sent("A metric that is NaN", OBSERVE, b'{"trial": 1, "value": 0.5, "metrics": {"latency_ms": NaN, "size": 3}}'),
    Sent("A metric as text", OBSERVE, {"trial": 1, "value": 0.5, "metrics": {**NET, "size": "3"}}),
    Sent(
        "The standard error of a metric that the study has not",
        OBSERVE,
        {"trial": 1, "value": 0.5, "metrics": NET, "std_errors": {"speed": 1}},
    ),
    Sent(
        "Metrics in a study without any",
        "POST /v1/studies/svm/observe",
        {"parameters": POINT, "value": 0.5, "metrics": NET},
    ),
    Sent(
        "The correction of a metric that the study has not",
        "PATCH /v1/studies/fast/observations/1",
        {"metrics": {"latency": 12}},
    ),
    Sent("A safe point where nothing is constrained", "GET /v1/studies/svm/recommendation?feasible_probability=0.9"),
    Sent("A probability of 1", "GET /v1/studies/fast/recommendation?feasible_probability=1"),
    Written(
        "A metric that is infinite in Python",
        'client.study("fast").observe(1, 0.5, metrics={"size": float("inf"), "latency_ms": 12})',
    ),
    Written("Metrics as a number", 'client.study("fast").observe(1, 0.5, metrics=12)'),
]

SECTIONS: list[Section] = [
    ("Metrics and outcome constraints", "Bounds that cannot be, and results that do not fit them.", METRICS),
]
