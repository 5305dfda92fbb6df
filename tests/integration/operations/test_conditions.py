"""Studies with conditional parameters: all operations use only the active ones, and a replay gives the same study."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.engine.conditions import Condition
from adabkb_service.errors import Invalid
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.export import csv_rows, json_lines
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.model import analysis
from adabkb_service.operations.model.predict import predict, recommendation
from adabkb_service.operations.model.why import why
from adabkb_service.operations.reports.overview import Overview
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database
from tests.integration.operations.conftest import OF_THE_PAPER, SYSTEMS, definition
from tests.integration.operations.verbs import Ask, Failure, Value, observe, queue, retry, suggest

PARAMETERS: list[dict[str, Any]] = [
    {"name": "momentum", "kind": "float", "low": 0, "high": 1, "when": {"optimizer": ["sgd"], "tuned": [True]}},
    {"name": "lr", "kind": "float", "low": 1e-4, "high": 1, "scale": "log"},
    {"name": "optimizer", "kind": "categorical", "choices": ["sgd", "adam"]},
    {"name": "tuned", "kind": "fixed", "value": True},
    {"name": "layers", "kind": "int", "low": 1, "high": 3},
    {"name": "width", "kind": "int", "low": 8, "high": 64, "when": {"layers": [2, 3]}},
    {"name": "eps", "kind": "fixed", "value": 1e-8, "when": {"optimizer": ["adam"]}},
    {"name": "pool", "kind": "bool", "when": {"width": [16, 32]}},
]
SGD = {"momentum": 0.9, "lr": 0.1, "optimizer": "sgd", "tuned": True, "layers": 2, "width": 16, "pool": True}
ADAM = {"lr": 0.01, "optimizer": "adam", "tuned": True, "layers": 1, "eps": 1e-8}


def is_right(point: dict[str, Any]) -> bool:
    return (
        ("momentum" in point) == (point["optimizer"] == "sgd")
        and ("eps" in point) == (point["optimizer"] == "adam")
        and ("width" in point) == (point["layers"] > 1)
        and ("pool" in point) == (point.get("width") in (16, 32))
    )


@pytest.fixture
def conditional(running: Service) -> str:
    create(running, definition(parameters=PARAMETERS))
    return "s"


def test_all_operations_use_only_active_parameters_and_are_replayed(
    database: Database, running: Service, conditional: str
) -> None:
    observe(running, conditional, Value(0.5, parameters=SGD))
    observe(running, conditional, Value(0.7, parameters={name: ADAM[name] for name in ("lr", "optimizer", "layers")}))
    queue(running, conditional, ADAM)
    for number in range(1, 18):
        (trial,) = suggest(running, conditional, Ask()).view.trials
        assert is_right(trial.parameters), trial.parameters
        if number == 4:
            observe(running, conditional, Failure(trial.number))
            retry(running, conditional, trial.number)
        else:
            observe(running, conditional, Value(1 / number, trial.number, parameters=SGD if number == 3 else None))
    assert why(running, conditional, 9).decision is not None
    best = recommendation(running, conditional)
    assert best.model is not None
    assert is_right(best.model.parameters)
    assert len(predict(running, conditional, [SGD, ADAM]).predictions) == 2
    assert replay(running, conditional).diverged == []
    assert list(examine(database)) == []
    lines = list(json_lines(running, conditional))
    delete(running, conditional)
    import_study(database, lines)
    assert list(json_lines(running, conditional)) == lines


def test_table_leaves_cells_of_inactive_parameters_empty(running: Service, conditional: str) -> None:
    observe(running, conditional, Value(0.5, parameters=SGD))
    observe(running, conditional, Value(0.5, parameters=ADAM))
    sgd, adam = csv.DictReader(io.StringIO("".join(csv_rows(running, conditional))))
    assert (sgd["parameters.momentum"], sgd["parameters.eps"]) == ("0.9", "")
    assert (adam["parameters.momentum"], adam["parameters.eps"]) == ("", "1e-08")


def test_model_queries_respect_the_conditions(running: Service, conditional: str) -> None:
    for i in range(6):
        observe(running, conditional, Value(float(i), parameters={**ADAM, "lr": 0.1 / (i + 1)}))
    along = analysis.slice_through(running, conditional, ["momentum"], 5, {})
    assert along.at["optimizer"] == "sgd"
    assert along.axes[0].values == [0.0, 0.25, 0.5, 0.75, 1.0]
    both = analysis.slice_through(running, conditional, ["optimizer", "momentum"], 3, {})
    assert [both.predictions[i] == both.predictions[3] for i in (0, 4, 5)] == [False, True, True]
    suggest(running, conditional, Ask())
    cells, _ = analysis.partition(running, conditional, 0, 100, None)
    assert all(set(cell.low) == set(cell.high) >= set(cell.centroid) for cell in cells)
    with pytest.raises(Invalid) as refused:
        analysis.slice_through(running, conditional, ["momentum"], None, {"optimizer": "adam"})
    assert refused.value.errors[0].pointer == "?at/optimizer"
    for i in range(6, 27):  # so many results do importances need
        observe(running, conditional, Value(float(i), parameters={**ADAM, "lr": 0.1 / (i + 1)}))
    found = analysis.importance(running, conditional).parameters
    assert [each.name for each in found] == [each["name"] for each in PARAMETERS]


REFUSED_POINTS = [
    ({**ADAM, "momentum": 0.5}, {"/momentum"}),
    ({**SGD, "layers": 1}, {"/width", "/pool"}),
    ({name: value for name, value in SGD.items() if name != "momentum"}, {"/momentum"}),
    ({**SGD, "optimizer": "adm"}, {"/optimizer"}),
]


@pytest.mark.parametrize(("point", "pointers"), REFUSED_POINTS)
def test_points_with_wrong_conditional_parameters_are_rejected(
    running: Service, conditional: str, point: dict[str, Any], pointers: set[str]
) -> None:
    def refused(verb: Any, *arguments: Any, **named: Any) -> set[str]:
        with pytest.raises(Invalid) as error:
            verb(running, conditional, *arguments, **named)
        return {"/" + each.pointer.rpartition("/")[2] for each in error.value.errors}

    assert refused(observe, Value(1.0, parameters=point)) == pointers
    assert refused(queue, point) == pointers
    assert refused(predict, [point]) == pointers


def test_fixed_values_must_include_the_parents_that_activate_them(running: Service, conditional: str) -> None:
    """A parent may be omitted if it has only one possible value."""
    with pytest.raises(Invalid, match="is only active if layers is one of 2, 3; give layers, too"):
        suggest(running, conditional, Ask(fixed={"width": 20}))
    with pytest.raises(Invalid, match="is only active if optimizer is 'sgd', and it is 'adam'"):
        suggest(running, conditional, Ask(fixed={"momentum": 0.5, "optimizer": "adam"}))
    fixed = {"layers": 2, "width": 20, "momentum": 0.5}
    trials = suggest(running, conditional, Ask(3, fixed=fixed)).view.trials
    held = {"optimizer": "sgd", **fixed}
    assert all(held.items() <= trial.parameters.items() and is_right(trial.parameters) for trial in trials)


A = {"name": "a", "kind": "bool"}
B = {"name": "b", "kind": "int", "low": 1, "high": 3, "when": {"a": [True]}}
X = {"name": "x", "kind": "float", "low": 0, "high": 1}
F = {"name": "f", "kind": "fixed", "value": "on"}


REFUSED: list[tuple[list[dict[str, Any]], tuple[Any, ...], str]] = [
    ([A, {**X, "when": {"c": [1]}}], ("parameters", 1, "float", "when", "c"), "known: a, x"),
    ([A, {**X, "when": {"x": [1]}}], ("parameters", 1, "float", "when", "x"), "itself"),
    ([X, {**A, "when": {"x": [0.5]}}], ("parameters", 1, "bool", "when", "x"), "float with a step"),
    ([A, {**X, "when": {"a": [1]}}], ("parameters", 1, "float", "when", "a", 0), "list values that a takes"),
    ([A, B, {**X, "when": {"b": [2, 4]}}], ("parameters", 2, "float", "when", "b", 1), "outside [1, 3]"),
    ([F, {**X, "when": {"f": ["off"]}}], ("parameters", 1, "float", "when", "f", 0), "is fixed at 'on'"),
    ([{**A, "when": {"b": [1]}}, B, X], ("parameters", 0, "when"), "a needs b needs a"),
    ([A, B, {**X, "when": {"b": [1], "a": [False]}}], ("parameters", 2, "when"), "leaves a no value"),
    ([A, {**X, "when": {}}], ("parameters", 1, "float", "when"), "at least 1 item"),
    ([A, {**X, "when": {"a": []}}], ("parameters", 1, "float", "when", "a"), "at least 1 item"),
    ([A, {**X, "when": {"a": True}}], ("parameters", 1, "float", "when", "a"), "valid list"),
]


@pytest.mark.parametrize(("parameters", "at", "sentence"), REFUSED)
def test_invalid_conditions_are_rejected_with_their_field(
    parameters: list[dict[str, Any]], at: tuple[Any, ...], sentence: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        definition(parameters=parameters)
    (fault,) = refused.value.errors()
    assert tuple(step for step in fault["loc"] if step not in ("float", "bool")) == tuple(
        step for step in at if step not in ("float", "bool")
    )
    assert sentence in fault["msg"]


@pytest.mark.parametrize("system", OF_THE_PAPER)
def test_other_systems_reject_conditions(system: str) -> None:
    with pytest.raises(ValidationError, match="auto"):
        definition(parameters=[A, X, {**X, "name": "y", "when": {"a": [True]}}], algorithm=SYSTEMS[system])


@pytest.mark.long
def test_constraint_applies_where_all_its_parameters_are_active(running: Service) -> None:
    """The first constraint concerns some layers, the second one branch, and the third a fixed parameter of another
    branch.
    """
    constraints = ["lr * width <= 2", "momentum + lr <= 1", "lr >= eps * 1e6"]
    create(running, definition(parameters=PARAMETERS, constraints=constraints))
    observe(running, "s", Value(0.5, parameters={**SGD, "lr": 0.001}))
    observe(running, "s", Value(0.6, parameters={**ADAM, "lr": 1.0}))
    for point, number in (({**SGD, "lr": 0.15}, 0), ({**SGD, "momentum": 1.0}, 1), ({**ADAM, "lr": 0.001}, 2)):
        with pytest.raises(Invalid, match=re.escape(f"{constraints[number]}, which holds for results, too;")):
            observe(running, "s", Value(0.5, parameters=point))
    for number in range(8):
        fixed = {"optimizer": "sgd", "layers": 3} if number % 2 else None
        (trial,) = suggest(running, "s", Ask(fixed=fixed)).view.trials
        found: dict[str, Any] = dict(trial.parameters)
        assert is_right(found)
        assert found["lr"] * found.get("width", 0) <= 2
        assert found["lr"] + found.get("momentum", 0) <= 1
        assert found["lr"] >= found.get("eps", 0) * 1e6
        observe(running, "s", Value(1 / (1 + number), trial.number))
    with pytest.raises(Invalid, match="leaves no point that satisfies the study's constraint"):
        suggest(running, "s", Ask(fixed={"optimizer": "sgd", "momentum": 1.0, "lr": 0.5}))
    forbidden = Overview(running).forbidden("s", ["optimizer", "lr"])
    along = analysis.slice_through(running, "s", ["optimizer", "lr"], None, {})
    rates: list[Any] = list(along.axes[1].values)
    width: Any = along.at.get("width", 0)
    assert forbidden[len(rates) :] == [rate < 0.01 or rate * width > 2 for rate in rates]
    assert 0 < sum(forbidden[: len(rates)]) < len(rates)


def test_condition_on_a_fixed_parameter_or_all_values_always_holds() -> None:
    space = definition(parameters=[F, A, {**X, "when": {"f": ["on"], "a": [True, False]}}]).space()
    assert space.conditions == (Condition("x", "f", ("on",)), Condition("x", "a", (True, False)))
    assert dict(space.activity.needs) == {}
