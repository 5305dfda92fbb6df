"""Combinations of features: allowed ones are accepted, and give correct trials and logs; all others are rejected.

The studies are drawn with a seed.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pytest
from pydantic import ValidationError

from adabkb_service.contract.answers import Trial
from adabkb_service.contract.stored import definition_of
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.engine.axes import FloatAxis
from adabkb_service.operations.model.predict import recommendation, row
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.studies.read import list_observations
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import (
    Ask,
    Failure,
    Value,
    change,
    correct,
    edit,
    observe,
    queue,
    repeat,
    report,
    suggest,
    withdraw,
)

ANGLE = {"name": "angle", "kind": "float", "low": 0, "high": 360}
SPEED = {"name": "speed", "kind": "float", "low": 1, "high": 10}
GLUE = {"name": "glue", "kind": "categorical", "choices": ["fast", "slow"]}
COUNT = {"name": "count", "kind": "int", "low": 1, "high": 5}
KINDS: list[dict[str, Any]] = [
    {"name": "stir", "kind": "ordinal", "values": [100, 250, 800]},
    {"name": "dose", "kind": "float", "low": 0.001, "high": 10, "scale": "log"},
    {"name": "wait", "kind": "float", "low": 0, "high": 2, "step": 0.5},
    {"name": "lid", "kind": "bool"},
    {"name": "flask", "kind": "fixed", "value": "round"},
]
PLAIN: dict[str, dict[str, Any]] = {each["name"]: each for each in (ANGLE, SPEED, GLUE, COUNT)}  # type: ignore[misc]
HUMIDITY = {"name": "humidity", "kind": "float", "low": 0, "high": 1, "context": True}
MOISTURE = {"name": "moisture", "kind": "float", "low": 0, "high": 1, "context": "measured"}
SHARES = ("resin", "filler", "solvent")
DYES = [f"dye {number}" for number in range(12)]
CATALOGUE = {
    "name": "dye",
    "kind": "catalogue",
    "table": "\n".join(["dye,size,polarity", *(f"{dye},{k % 5},{k * k % 7}" for k, dye in enumerate(DYES))]),
}
OF_ROWS = [
    'dye not in ["dye 1", "dye 2"]',
    'not (dye == "dye 3" and speed > 4) or angle > 90',
]
"""Constraints of a study with a catalogue."""
HEAT = {"name": "heat", "kind": "int", "low": 1, "high": 4, "when": {"dye": DYES[:6]}}
"""A parameter that depends on the row."""
METRIC = "price"
OBJECTIVES = [{"metric": METRIC, "direction": "minimize"}, {"metric": "quality", "direction": "maximize"}]
FEATURES: dict[str, dict[str, Any]] = {
    "periodic": {},
    "context": {},
    "measured context": {},
    "conditions": {},
    "baseline": {"baseline": {"speed": 3, "glue": "slow"}},
    "constraints": {
        "constraints": ["speed <= 1 + angle / 30", 'not (glue == "fast" and speed > 8)', "count + speed <= 11"]
    },
    "bounds": {"metrics": [METRIC], "outcome_constraints": [{"metric": METRIC, "upper": 6}]},
    "objectives": {"objectives": OBJECTIVES, "direction": None},
    "patience": {"early_stopping": {"rule": "patience", "max_steps": 9, "no_gain_for": 3}},
    "median": {"early_stopping": {"rule": "median", "max_steps": 9, "after_trials": 2}},
    "asha": {"early_stopping": {"rule": "asha", "max_steps": 9, "eta": 2}},
    "prior": {"prior": {"angle": {"around": 350, "width": 30}, "glue": {"weights": {"fast": 3}}}},
    "cost": {"cost": "told"},
    "per cost": {"cost": "told", "per_cost": True},
    "measured": {"cost": "measured", "per_cost": True},
    "mixtures": {"mixtures": [{"parameters": ["resin", "filler", "solvent"], "at_most": 2, "least": 0.1}]},
    "noise": {"noise_std": 0.1},
    "robust": {"robust": True},
    "failing": {"failure_limit": None},
    "stop": {"stop": {"no_gain_for": 50}},
    "fixed": {},
    "partial": {"metrics": ["mass"]},
    "edited": {},
    "older": {"transfer_from": ["old"]},
    "catalogue": {},
    "plates": {"plates": {"size": 2, "shared": ["glue"]}},
    "descriptors": {},
    "repeated": {},
    "tolerance": {"tolerance": 1e-9},
    "kinds": {},
    "budget": {"budget": 50},
    "other settings": {},
    "corrected": {},
    "withdrawn": {},
}
"""Fields of a definition, by feature."""
EXCLUDED: set[frozenset[str]] = {
    frozenset(pair)
    for one, others in {
        "context": ("stop", "tolerance"),
        "measured context": ("stop", "tolerance"),
        "objectives": ("tolerance", "baseline"),
    }.items()
    for pair in ((one, other) for other in others)
}
"""Pairs that cannot be combined; each has a reason in its meaning (docs/guides/when-to-stop.md, decision 0129).

* context, also if it is measured, and stop: results become worse with their context, too, so that a run of results
  without an improvement says nothing about further trials; a gap exists only per context.
* context, also if it is measured, and tolerance: there is a gap per context, and a study has one tolerance.
* objectives and tolerance: a front has no gap.
* objectives and baseline: "equally good" is defined for one posterior mean.
"""
SAME_FIELD = {
    frozenset(pair)
    for group in (("patience", "median", "asha"), ("cost", "per cost", "measured"))
    for pair in combinations(group, 2)
}


PERIODIC = FloatAxis("angle", 0.0, 360.0, periodic=True)


def of_catalogue(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a study that also name rows of its catalogue."""
    weights = {"dye 2": 5, "dye 7": 0.2}
    rows: dict[str, dict[str, Any]] = {"baseline": {"dye": "dye 4"}, "prior": {"dye": {"weights": weights}}}
    named = {field: {**fields[field], **rows[field]} for field in rows if field in fields}
    rules = {"constraints": [*fields["constraints"], *OF_ROWS]} if "constraints" in fields else {}
    return named | rules


def of_objectives(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a study that depend on its objectives, of which the price is one."""
    found: dict[str, Any] = {}
    if "early_stopping" in fields:
        found["early_stopping"] = {**fields["early_stopping"], "metric": METRIC}
    if "noise_std" in fields:
        found |= {"noise_std": None, "objectives": [{**OBJECTIVES[0], "noise_std": 0.1}, OBJECTIVES[1]]}
    if "outcome_constraints" in fields:
        found |= {"metrics": ["mass"], "outcome_constraints": [{"metric": "mass", "upper": 6}]}
    return found


def of_budget(features: list[str], fields: dict[str, Any]) -> dict[str, Any]:
    """The budget in the unit that the study has: plates, costs or trials."""
    if "budget" in features and "plates" in features:
        return {"budget": {"plates": 40}}
    return {"budget": {"cost": 1e4}} if "budget" in features and "cost" in fields else {}


def made(features: list[str]) -> StudyDefinition:
    """The definition of a study with these features."""
    parameters = {name: dict(each) for name, each in PLAIN.items()}
    if "periodic" in features:
        parameters["angle"]["periodic"] = True
    if "context" in features:
        parameters["humidity"] = HUMIDITY
    if "measured context" in features:
        parameters["moisture"] = MOISTURE
    if "mixtures" in features:
        parameters |= {name: {"name": name, "kind": "float", "low": 0, "high": 1} for name in SHARES}
    if "catalogue" in features:
        parameters["dye"] = CATALOGUE
        parameters |= {"heat": HEAT} if "conditions" in features else {}
    if "conditions" in features:
        parameters["count"]["when"] = {"glue": ["fast"]}
    if "kinds" in features:
        parameters |= {each["name"]: each for each in KINDS}
    fields: dict[str, Any] = {"direction": "minimize"}
    if "descriptors" in features:
        parameters["glue"]["descriptors"] = {"viscosity": [2.0, 9.0]}
    for each in features:
        fields |= FEATURES[each]
    fields |= of_budget(features, fields)
    if "catalogue" in features:
        fields |= of_catalogue(fields)
    if {"partial", "bounds"} <= set(features):
        fields["metrics"] = [METRIC, "mass"]
    if "objectives" in features:
        fields |= of_objectives(fields)
    return definition(**fields, parameters=list(parameters.values()))


DRAWN = 1000
"""Number of studies of many features."""
IN_SHORT = 252
"""The seed of ``make test``, with 13 of the 34 features."""


def drawn(seed: int) -> list[str]:
    """Draw features that can be combined."""
    rng, found = np.random.default_rng(seed), list[str]()
    for index in rng.permutation(len(FEATURES)):
        each = list(FEATURES)[index]
        pairs = {frozenset((each, other)) for other in found}
        if rng.random() < 0.6 and not pairs & (EXCLUDED | SAME_FIELD):
            found.append(each)
    return found


def test_drawn_studies_cover_every_allowed_pair_of_features() -> None:
    found = {frozenset(pair) for seed in range(DRAWN) for pair in combinations(drawn(seed), 2)}
    assert found == {frozenset(pair) for pair in combinations(FEATURES, 2)} - EXCLUDED - SAME_FIELD


@pytest.mark.parametrize("first", FEATURES)
def test_two_features_can_be_combined_or_are_rejected(first: str) -> None:
    for pair in combinations(FEATURES, 2):
        if pair[0] != first or frozenset(pair) in SAME_FIELD:
            continue
        if frozenset(pair) not in EXCLUDED:
            assert made(list(pair)).id == "s"
            continue
        with pytest.raises(ValidationError) as refused:
            made(list(pair))
        assert all(len(fault["msg"]) > 20 for fault in refused.value.errors()), pair


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[] if seed == IN_SHORT else pytest.mark.long) for seed in range(DRAWN)]
)
def test_combined_features_give_valid_trials_and_complete_logs(
    database: Database, clock: ManualClock, running: Service, seed: int
) -> None:
    features, rng = drawn(seed), np.random.default_rng(seed)
    if "older" in features:
        create_older(running, features)
    create(running, made(features))
    context: dict[str, Any] | None = None
    trials: list[Trial] = []
    gone: list[str] = []
    for step in range(9):
        gone = edit_at(running, features, step, gone)
        if "context" in features:
            context = {"humidity": round(float(rng.random()), 3)}
        fixed = {"glue": "slow"} if "fixed" in features and step % 3 == 1 else None
        # The trials of an answer are on one plate, which may have only one free place.
        plate: Literal["new"] | None = "new" if "plates" in features and step % 2 else None
        if "plates" in features and step == 6:
            control = {**trials[-1].parameters, **(context or {})}
            assert queue(running, "s", control, plate="open").view.plate == (trials[-1].plate or 0) + 1
        trials = suggest(running, "s", Ask(1 + step % 2, fixed=fixed, context=context, plate=plate)).view.trials
        assert [trial.origin for trial in trials] == ["queued"] or "plates" not in features or step != 6
        assert len(trials) == 1 + step % 2
        assert len({(trial.plate, trial.parameters["glue"] if trial.plate else None) for trial in trials}) == 1
        assert (trials[0].plate is not None) == ("plates" in features)
        for trial in trials:
            check(running, {**trial.parameters, **trial.to_measure}, {**(fixed or {}), **(context or {})})
            assert list(trial.to_measure) == (["moisture"] if "measured context" in features else [])
            assert trial.parameters.get("dye") not in gone or trial.origin == "queued"
            later = {name: round(float(rng.random()), 3) for name in trial.to_measure}
            if "withdrawn" in features and step == 7 and trial is trials[-1]:
                withdraw(running, "s", trial.number)
                continue
            evaluate(running, features, trial.number, trial.parameters, later, fails=step == 3)
        if "plates" in features and step == 2:  # a point of the same plate
            point = {**trials[0].parameters, **trials[0].to_measure}
            value, others = measured(features, point)
            own = Value(value, parameters=point, plate=trials[0].plate, **others)  # type: ignore[arg-type]
            observe(running, "s", own)
        if "repeated" in features and step == 4:
            where: dict[str, Any] = {"plate": "open"} if "plates" in features else {}
            again = repeat(running, "s", trial=trials[0].number, **where).view.trials
            assert [trial.parameters for trial in again] == [trials[0].parameters]
        if "partial" in features and step % 3 == 2:
            complete(running, late=step == 8)
    check_recommended(running, features, context)
    assert_log_is_complete(database, clock, running, context)


def edit_at(running: Service, features: list[str], step: int, gone: list[str]) -> list[str]:
    """Change the study before a step, and return the withdrawn rows, given those so far."""
    if "catalogue" in features and step == 4:
        gone = [DYES[0], DYES[7]]
        change(running, "s", {"catalogues": {"dye": {"withdraw": gone}}})
    if "catalogue" in features and step == 7:
        gone = gone[:1]
        added = "dye,size,polarity\ndye 12,3,3\ndye 13,9,1"
        change(running, "s", {"catalogues": {"dye": {"add": added, "restore": [DYES[7]]}}})
    if "edited" in features and step == 5:
        edit(running, {**COUNT, "high": 7, **({"when": {"glue": ["fast"]}} if "conditions" in features else {})})
    if "other settings" in features and step == 7:
        change(running, "s", other_settings(features))
    if "corrected" in features and step in (6, 8):
        revise(running, is_excluded=step == 6)
    return gone


def other_settings(features: list[str]) -> dict[str, Any]:
    """Other values of settings that a running study may change."""
    changes: dict[str, Any] = {"robust": "robust" not in features}
    if "objectives" not in features:
        changes["noise_std"] = None if "noise" in features else 0.2
    if {"cost", "per cost", "measured"} & set(features):
        changes["per_cost"] = "cost" in features
    return changes


def revise(running: Service, *, is_excluded: bool) -> None:
    """Exclude the first result and the last one, or include them again and correct the second one. If most trials fail
    or are stopped, there may be fewer results."""
    results = list_observations(running, "s", 0, 100).items
    for result in results:
        if result.excluded if not is_excluded else result in (results[0], results[-1]):
            correct(running, "s", result.seq, {"excluded": is_excluded})
    if not is_excluded and len(results) > 1 and results[1].value is not None:
        correct(running, "s", results[1].seq, {"value": results[1].value + 0.5})


def create_older(running: Service, features: list[str]) -> None:
    """An older study with some results."""
    known = [*PLAIN.values(), *([CATALOGUE] if "catalogue" in features else [])]
    create(running, definition(id="old", parameters=known, metrics=[METRIC]))
    for number, angle in enumerate(range(0, 360, 45)):
        point = {"angle": float(angle), "speed": 4.0, "glue": "fast", "count": 2}
        point |= {"dye": DYES[number]} if "catalogue" in features else {}
        observe(running, "old", Value(float(-np.cos(np.radians(angle))), parameters=point, metrics={METRIC: 2.0}))


def check_recommended(running: Service, features: list[str], context: dict[str, Any] | None) -> None:
    """The recommended points are of the study's space and in the context."""
    if "measured context" in features:
        context = {**(context or {}), "moisture": 0.4}
    found = recommendation(running, "s", context=context)
    if "objectives" in features:
        assert found.front
        for each in found.front:
            check(running, each.parameters, context or {})
        return
    assert found.model is not None
    check(running, found.model.parameters, context or {})
    assert (found.model.changes is not None) == ("baseline" in features)


def check(running: Service, point: dict[str, Any], held: dict[str, Any]) -> None:
    """Check that a point is in the study's space, has the given values, and is below the end of a periodic parameter,
    and that its shares sum to exactly 1.
    """
    space = definition_of(row(running, "s").definition).space()
    assert space.problems(point) == {}
    assert space.admits(point)
    if space.mixtures:
        assert sum(Fraction(str(point[name])) for name in SHARES) == 1
    assert held.items() <= point.items()
    assert point["angle"] < (360.0 if space.axes[0] == PERIODIC else 361.0)


def evaluate(
    running: Service,
    features: list[str],
    number: int,
    point: dict[str, Any],
    later: dict[str, Any],
    *,
    fails: bool,
) -> None:
    """Report the result of a trial, or its failure. ``later`` are the parameters that are measured with the result."""
    if fails or ("failing" in features and point["speed"] > 5.0):
        observe(running, "s", Failure(number))
        return
    value, others = measured(features, {**point, **later}, number)
    others |= {"parameters": later} if later else {}
    if {"patience", "median", "asha"} & set(features):
        last = others["metrics"][METRIC] if value is None else value
        first = last if number % 2 else last + 1.0  # rule patience: no gain in four steps
        cost = others.get("cost")
        if report(running, "s", number, (1, first), (5, last), cost=cost, parameters=later or None).view.stop:
            add_rest(running, number)
            return
    if "partial" in features:
        report_part(running, number, value, {**others, "metrics": {**others["metrics"], "mass": 1.0 + number}})
        return
    observe(running, "s", Value(value, number, **others))  # type: ignore[arg-type]


def measured(
    features: list[str], point: dict[str, Any], number: int | None = None
) -> tuple[float | None, dict[str, Any]]:
    """The metrics at a point: the value, unless there are several objectives, costs and other metrics."""
    angle = np.cos(np.radians(point["angle"] + 5.0))
    value = float((point["speed"] - 4.0) ** 2 / 10.0 - angle + (point["glue"] == "slow") + point.get("humidity", 0.0))
    value += (point.get("resin", 0.6) - 0.6) ** 2 + (point.get("moisture", 0.5) - point["speed"] / 10.0) ** 2
    price = point["speed"] / 2.0 + point.get("count", 3) / 5.0
    others: dict[str, Any] = {}
    if {"cost", "per cost"} & set(features):
        others = {"cost": 1.0 + price}
    if "measured" in features and number is None:  # a result without a trial has no duration
        others = {"cost": 1.0}
    if {"bounds", "objectives"} & set(features):
        others["metrics"] = {METRIC: price}
    if "objectives" in features:
        others["metrics"]["quality"] = -value
    if "partial" in features or {"bounds", "objectives"} <= set(features):
        others["metrics"] = {**others.get("metrics", {}), "mass": 1.0 + point["speed"]}
    return None if "objectives" in features else value, others


def report_part(running: Service, number: int, value: float | None, others: dict[str, Any]) -> None:
    """Report a part of a result, which varies between trials: its first metrics, its last ones, or all."""
    names = list(others["metrics"])
    kept = [names[: number % 3], names[number % 3 :], names][number % 3]
    metrics = {name: others["metrics"][name] for name in kept}
    value = None if number % 3 == 1 and kept else value
    if value is not None or kept:
        observe(running, "s", Value(value, number, partial=True, **{**others, "metrics": metrics}))  # type: ignore[arg-type]
    else:
        observe(running, "s", Value(None, number, **others))  # type: ignore[arg-type]


def add_rest(running: Service, number: int) -> None:
    """Add the metrics that the result of a stopped trial lacks, if it has a result."""
    for result in list_observations(running, "s", 0, 100).items:
        if result.trial == number and result.missing:
            observe(running, "s", Value(None, number, metrics=dict.fromkeys(result.missing, 3.0)))  # type: ignore[arg-type]


def complete(running: Service, *, late: bool) -> None:
    """Add missing metrics to results, to every second one only if ``late``."""
    for result in list_observations(running, "s", 0, 100).items:
        if result.missing and result.trial is not None and (late or result.trial % 2):
            metrics = {name: 2.0 + result.seq for name in result.missing if name != "value"}
            value = 1.0 if "value" in result.missing else None
            part = Value(value, result.trial, metrics=metrics)  # type: ignore[arg-type]
            observed = observe(running, "s", part).view.observation
            assert observed is not None
            assert observed.missing == []
