"""The table of results: its rows, in every order, for any names of parameters."""

from __future__ import annotations

from typing import Any

import pytest

from adabkb_service.contract.requests import PointValueBody
from adabkb_service.operations.reports.overview import Overview
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.result_table import RowKind, Sort
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Failure, Value, correct, edit, observe, suggest
from tests.samples import some

STRANGE = ("a.b", "a'b", "a\\b", "a b[0]", "$x", "100%s", "ä:ö", "parameters", "; --")
"""Names with special characters of paths, SQL or formats."""


def listed(running: Service, sort: Sort, kind: RowKind | None = None, offset: int = 0, limit: int = 50) -> list[Any]:
    """Return a row as the number of its result, or as the negative number of its trial."""
    found = Overview(running).table("s", kind, "", sort, offset, limit)
    return [line.result.seq if line.result else -(line.trial.number if line.trial else 0) for line in found.lines]


@pytest.mark.parametrize("name", some(STRANGE, STRANGE[:3]))
def test_rows_are_sorted_by_parameters_of_any_name(running: Service, name: str) -> None:
    create(running, definition(parameters=[{"name": name, "kind": "float", "low": 0, "high": 99}]))
    for value in (7.0, 30.0, 4.5):
        observe(running, "s", Value(1.0, parameters={name: value}))
    assert listed(running, Sort("parameter", name)) == [2, 1, 3]
    assert listed(running, Sort("parameter", name, is_descending=False)) == [3, 1, 2]


def test_values_from_before_a_parameter_became_a_number_come_last(running: Service) -> None:
    x = definition().model_dump(mode="json")["parameters"][0]
    act = {"name": "act", "kind": "categorical", "choices": ["relu", "1e3"]}
    create(running, definition(parameters=[x, act]))
    for choice in ("relu", "1e3"):
        observe(running, "s", Value(1.0, parameters={"x": 0.5, "act": choice}))
    edit(running, {"name": "act", "kind": "float", "low": 0, "high": 99})
    for value in (7.0, 30.0, 4.5):
        observe(running, "s", Value(1.0, parameters={"x": 0.5, "act": value}))
    assert listed(running, Sort("parameter", "act")) == [4, 3, 5, 2, 1]
    assert listed(running, Sort("parameter", "act", is_descending=False)) == [5, 3, 4, 1, 2]


def filled(running: Service, clock: ManualClock) -> None:
    """Results 1 to 4: of trials 1 and 2 (excluded and corrected), and two at one user-supplied point. Trial 3 has
    failed, and trial 4 is active.
    """
    kind = {"name": "kind", "kind": "categorical", "choices": ["a", "b"]}
    create(running, definition(parameters=[*definition().model_dump(mode="json")["parameters"], kind], metrics=["m"]))
    for number in (1, 2, 3, 4):
        clock.advance(1)
        suggest(running, "s", Ask(worker=f"w{number}", fixed={"kind": "ab"[number % 2]}))
    for number, value in ((1, 5.0), (2, 9.0)):
        clock.advance(1)
        observe(running, "s", Value(value, number, metrics={"m": -value}))
    clock.advance(1)
    observe(running, "s", Failure(3))
    for value in (7.0, 6.0):
        clock.advance(1)
        observe(running, "s", Value(value, parameters={"x": 0.5, "y": 1.0, "kind": "a"}, metrics={"m": 0.0}))
    correct(running, "s", 1, {"excluded": True})
    correct(running, "s", 2, {"value": 8.0})


def test_each_result_and_each_trial_without_one_is_a_row(running: Service, clock: ManualClock) -> None:
    filled(running, clock)
    assert listed(running, Sort("when")) == [4, 3, -3, 2, 1, -4]
    assert listed(running, Sort("when", is_descending=False)) == [-4, 1, 2, -3, 3, 4]
    assert listed(running, Sort("trial")) == [-4, -3, 2, 1, 4, 3]
    assert listed(running, Sort("value")) == [2, 3, 4, -4, -3, 1], "excluded ones last"
    assert listed(running, Sort("metric", "m", is_descending=False)) == [2, 3, 4, -3, -4, 1]
    kinds = listed(running, Sort("parameter", "kind", is_text=True, is_descending=False))
    assert (set(kinds[:4]), set(kinds[4:])) == ({2, 3, 4, -4}, {1, -3})
    by_kind: dict[RowKind, list[int]] = {
        "counting": [4, 3, 2],
        "own": [4, 3],
        "excluded": [1],
        "corrected": [2],
        "repeated": [4, 3],
        "open": [-4],
        "failed": [-3],
        "stopped": [],
    }
    for kind, rows in by_kind.items():
        assert listed(running, Sort("when"), kind) == rows, kind
    found = Overview(running).table("s", None, "W", Sort("worker"), 0, 50)
    assert [line.trial.worker for line in found.lines if line.trial] == ["w4", "w3", "w2", "w1"]
    repeated = [line.repeats for line in Overview(running).table("s", "own", "", Sort("when"), 0, 50).lines]
    assert [(each.count, each.mean) for each in repeated if each] == [(2, 6.5), (2, 6.5)]


def test_result_is_marked_as_corrected_while_its_numbers_differ_from_the_first_ones(running: Service) -> None:
    create(running, definition(metrics=["m", "n"]))

    def marks_after(changes: dict[str, Any]) -> bool:
        correct(running, "s", 1, changes)
        (line,) = Overview(running).table("s", None, "", Sort("when"), 0, 50).lines
        assert listed(running, Sort("when"), "corrected") == [1] * line.is_corrected
        return line.is_corrected

    point = {"x": 0.5, "y": 1.0}
    observe(running, "s", PointValueBody(value=5.0, parameters=point, metrics={"m": 2.0}, partial=True))
    assert not marks_after({"excluded": True})
    assert marks_after({"value": 6.0, "std_error": 0.5})
    assert marks_after({"value": 7.0, "excluded": False})
    assert marks_after({"value": 5.0})
    assert not marks_after({"std_error": None})
    assert marks_after({"metrics": {"m": 3.0}})
    assert marks_after({"metrics": {"n": 1.0}})
    assert not marks_after({"metrics": {"m": 2.0}}), "a number that the result lacked is added, not corrected"
    assert marks_after({"metrics": {"n": 4.0}})


@pytest.mark.long
@pytest.mark.parametrize(
    "sort", [Sort("when"), Sort("value"), Sort("worker", is_descending=False), Sort("parameter", "x")]
)
def test_pages_in_any_order_have_each_row_once(running: Service, clock: ManualClock, sort: Sort) -> None:
    filled(running, clock)
    whole = listed(running, sort)
    assert [row for offset in range(0, 8, 2) for row in listed(running, sort, offset=offset, limit=2)] == whole
    assert len(set(whole)) == 6
