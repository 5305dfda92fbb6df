"""Mistakes with several objectives."""

from __future__ import annotations

from typing import Any

from tests.mistakes.kinds import Defined, Mistake, Section, Sent, Written

OBSERVE = "POST /v1/studies/trade/observe"
ERROR, COST = {"metric": "error", "direction": "minimize"}, {"metric": "cost", "direction": "minimize"}
BOTH = {"error": 0.1, "cost": 3}


def _several(title: str, *objectives: dict[str, Any], **more: Any) -> Defined:
    return Defined(title, {"direction": ..., "objectives": list(objectives), **more})


OBJECTIVES: list[Mistake] = [
    _several("One objective in a list", ERROR),
    _several("Five objectives", *({**ERROR, "metric": name} for name in "abcde")),
    _several("An objective twice", ERROR, ERROR),
    _several("An objective without a direction", ERROR, {"metric": "cost"}),
    _several("A direction beside several objectives", ERROR, COST, direction="minimize"),
    _several("An objective that is listed as a metric too", ERROR, COST, metrics=["cost"]),
    _several("A bound of an objective", ERROR, COST, outcome_constraints=[{"metric": "cost", "upper": 1}]),
    _several("A rule that needs a best result", ERROR, COST, stop={"no_gain_for": 20}),
    _several("A gap of several objectives", ERROR, COST, tolerance=0.1),
    _several(
        "Early stopping by one of several objectives", ERROR, COST, early_stopping={"rule": "asha", "max_steps": 9}
    ),
    _several("Several objectives of another system", ERROR, COST, algorithm={"kind": "gp-ucb"}),
    Sent("A value where there are several objectives", OBSERVE, {"trial": 1, "value": 0.1, "metrics": BOTH}),
    Sent("One of two objectives", OBSERVE, {"trial": 1, "metrics": {"error": 0.1}}),
    Sent("The front of one objective", "GET /v1/studies/svm/front"),
    Sent("Importances of no objective in particular", "GET /v1/studies/trade/importance"),
    Sent("A rule that needs a best result, later", "PATCH /v1/studies/trade", {"stop": {"no_gain_for": 3}}),
    Written("A value where there are several objectives in Python", 'client.study("trade").observe(1, 0.1)'),
]

SECTIONS: list[Section] = [
    ("Several objectives", "Objectives that do not go together, and what has a front only.", OBJECTIVES)
]
