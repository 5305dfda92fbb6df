"""Importances, slices and the partition agree with the model, for every system and in the user's units."""

from __future__ import annotations

from typing import Any

import pytest

from adabkb_service.errors import Invalid
from adabkb_service.operations.model import predict
from adabkb_service.operations.model.analysis import importance, partition, slice_through
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from tests.integration.operations.conftest import SYSTEMS, definition
from tests.integration.operations.verbs import Ask, Value, observe, observe_batch, suggest
from tests.samples import some

FLOATS: list[dict[str, Any]] = [
    {"name": "seed", "kind": "fixed", "value": 7},
    {"name": "x", "kind": "float", "low": -1, "high": 2},
    {"name": "idle", "kind": "float", "low": 0.01, "high": 100, "scale": "log"},
]
MIXED: list[dict[str, Any]] = [*FLOATS, {"name": "kind", "kind": "categorical", "choices": ["a", None, [1, 2]]}]


def worked_on(running: Service, system: str, parameters: list[dict[str, Any]], direction: str = "minimize") -> None:
    """A study in which only x matters, after twelve results."""
    create(running, definition(parameters=parameters, algorithm=SYSTEMS[system], direction=direction))
    for _ in range(12):
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Value(trial.parameters["x"] ** 2, trial.number))


@pytest.mark.parametrize("migrated_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "system", some(["auto", "paper", "expected-improvement", "gp-ucb", "gp-threds"], ["auto", "paper"])
)
def test_every_system_reports_its_findings(running: Service, system: str) -> None:
    parameters = FLOATS if system == "gp-threds" else MIXED
    worked_on(running, system, parameters)
    found = importance(running, "s")
    by_name = {each.name: each for each in found.parameters}
    assert (found.results, found.reason, list(by_name)) == (12, None, [each["name"] for each in parameters])
    assert (by_name["seed"].first_order, by_name["seed"].total) == (0.0, 0.0)
    assert by_name["x"].total > 0.1
    assert importance(running, "s") == found

    line = slice_through(running, "s", ["x"], 5, {})
    assert line.axes[0].values == [-1.0, -0.25, 0.5, 1.25, 2.0]
    points = [{**line.at, "x": x} for x in line.axes[0].values]
    assert line.predictions == predict.predict(running, "s", points).predictions
    best = predict.recommendation(running, "s").model
    assert best is not None
    assert line.at == {name: value for name, value in best.parameters.items() if name != "x"}

    cells, _ = partition(running, "s", 0, 1000, None)
    tree, _ = predict.tree(running, "s", 0, 1000)
    assert [cell.model_dump(exclude={"mean", "std", "index"}) for cell in cells] == [cell.model_dump() for cell in tree]
    again = predict.predict(running, "s", [cell.centroid for cell in cells]).predictions
    assert [cell.mean for cell in cells] == pytest.approx([each.mean for each in again])
    bounded = [cell for cell in cells if cell.index is not None]
    assert bool(bounded) == (system in ("auto", "paper"))
    assert all(cell.index < cell.mean for cell in bounded), "the objective is minimized"  # type: ignore[operator]
    if system == "paper":
        assert {cell.status for cell in bounded} == {"leaf"}


def test_pages_of_the_partition_are_contiguous(running: Service) -> None:
    worked_on(running, "auto", FLOATS)
    whole, last = partition(running, "s", 0, 1000, None)
    assert last is None
    pages, after = [], 0
    while after is not None:
        page, after = partition(running, "s", after, 3, None)  # type: ignore[assignment]
        assert len(page) <= 3
        pages += page
    assert [cell.key for cell in pages] == [cell.key for cell in whole]
    leaves, _ = partition(running, "s", 0, 1000, "leaf")
    assert [cell.key for cell in leaves] == [cell.key for cell in whole if cell.status == "leaf"]
    assert 1 < len(leaves) < len(whole)


def test_unknown_results_have_a_reason(running: Service) -> None:
    create(running, definition(parameters=MIXED))
    assert importance(running, "s").model_dump() == {
        "results": 0,
        "std": None,
        "parameters": [],
        "reason": "too_few_results",
    }
    line = slice_through(running, "s", ["kind"], None, {})
    assert (line.results, line.at) == (0, {"seed": 7, "x": 0.5, "idle": 1.0})
    assert line.axes[0].values == ["a", None, [1, 2]]
    observe_batch(running, "s", [Value(3.0, parameters={"x": x / 4, "idle": 1.0, "kind": "a"}) for x in range(-4, 8)])
    assert importance(running, "s").reason == "constant"


def test_slice_uses_the_given_values(running: Service) -> None:
    worked_on(running, "auto", MIXED)
    found = slice_through(running, "s", ["kind", "x"], 4, {"idle": 10, "seed": 7})
    assert found.at == {"seed": 7, "idle": 10.0}
    assert [axis.name for axis in found.axes] == ["kind", "x"]
    points = [{"idle": 10.0, "kind": kind, "x": x} for kind in ("a", None, [1, 2]) for x in (-1, 0, 1, 2)]
    assert found.predictions == predict.predict(running, "s", points).predictions


REFUSED: dict[str, tuple[list[str], int | None, dict[str, Any]]] = {
    "?parameter: 'y' is not a parameter of this study (known: idle, kind, seed, x)": (["y"], None, {}),
    "?parameter: 'seed' is fixed, so it cannot vary": (["seed"], None, {}),
    "?parameter: 'x' is given twice; give one parameter or two different ones": (["x", "x"], None, {}),
    "?points: must be at most 31 for 2 parameters": (["x", "idle"], 32, {}),
    "?at/x: 'x' varies along the slice; leave it out": (["x"], None, {"x": 1}),
    "?at/idle: 'idle' is 0, outside [0.01, 100.0]": (["x"], None, {"idle": 0}),
    "?at/kind: 'kind' must be one of 'a', None, [1, 2]": (["x"], None, {"kind": "b"}),
    "?at/lr: 'lr' is not a parameter of this study (known: idle, kind, seed, x)": (["x"], None, {"lr": 1}),
}


@pytest.mark.parametrize("migrated_url", ["sqlite"], indirect=True)
def test_invalid_slices_are_rejected(running: Service) -> None:
    create(running, definition(parameters=MIXED))
    for message, (names, points, at) in REFUSED.items():
        with pytest.raises(Invalid) as refused:
            slice_through(running, "s", names, points, at)
        assert refused.value.detail == message
