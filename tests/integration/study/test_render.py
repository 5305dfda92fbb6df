"""The figures of a study that its answers show: the gap, and the summary of its model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adabkb_service.contract.stored import definition_of, edited, first_stored
from adabkb_service.storage.event_payloads import Edited
from adabkb_service.study import render
from tests.integration.operations.conftest import definition
from tests.integration.operations.test_context import with_context
from tests.integration.study.test_best import row
from tests.integration.study.test_lifecycle import model, study

YIELD = definition(direction="maximize", quantities={"value": {"low": 0.0, "high": 100.0}})
LOSS = definition(quantities={"value": {"low": 0.0}})
OBJECTIVES = [{"metric": name, "direction": "maximize"} for name in ("a", "b")]


def best(value: float, **more: Any) -> dict[str, Any]:
    return {"parameters": {}, "value": value, "trial": None, **more}


@pytest.mark.parametrize(
    ("of", "shown", "gap"),
    [
        (YIELD, best(90.0), 10.0),
        (YIELD, best(30.0), 20.0),
        (YIELD, best(90.0, feasible=True), 10.0),
        (YIELD, best(90.0, feasible=False), 20.0),
        (YIELD, None, 20.0),
        (LOSS, best(5.0), 5.0),
        (LOSS, best(90.0), 20.0),
        (definition(), best(5.0), 20.0),
    ],
)
def test_gap_is_limited_by_the_natural_bounds(of: Any, shown: dict[str, Any] | None, gap: float) -> None:
    """The model's gap is 20. A best result that is not feasible does not limit it."""
    assert render.gap(study(of, best=shown), 20.0) == gap
    assert render.gap(study(of, best=shown), None) is None


REASONS: dict[str, tuple[Any, dict[str, Any], str | None]] = {
    "known": (definition(), {"model": model(gap=1.0)}, None),
    "several objectives": (definition(objectives=OBJECTIVES, direction=None), {}, "several_objectives"),
    "a context": (with_context(), {"observations": 9, "model": model()}, "depends_on_context"),
    "no results": (definition(), {"model": model()}, "no_results"),
    "no results and an error": (definition(), {"model_error": "overflow"}, "no_results"),
    "an error": (definition(), {"observations": 9, "model_error": "overflow"}, "model_failed"),
    "nothing feasible": (definition(), {"observations": 9, "best": best(1.0, feasible=False)}, "nothing_feasible"),
    "a feasible best": (definition(), {"observations": 9, "best": best(1.0, feasible=True)}, "model_pending"),
    "no model yet": (definition(), {"observations": 9}, "model_pending"),
    "few results": (definition(), {"observations": 2, "model": model()}, "not_known_yet"),
}


@pytest.mark.parametrize(("of", "columns", "reason"), REASONS.values(), ids=REASONS)
def test_missing_gap_has_a_reason(of: Any, columns: dict[str, Any], reason: str | None) -> None:
    assert render.model_summary(study(of, **columns)).reason == reason


def test_model_without_statistics_is_shown_as_an_empty_tree() -> None:
    """Just as one that has statistics, but no results."""
    empty, new = render.model_summary(study()), render.model_summary(study(model=model()))
    assert (empty.status, new.status) == ("empty", "ok")
    assert (empty.rests_on, new.rests_on) == (None, model()["rests_on"])
    names = ("leaves", "depth", "dictionary", "effective_dimension")
    for shown in (empty, new):
        assert {name: getattr(shown, name) for name in names} == {name: model()[name] for name in names}
    failed = render.model_summary(study(model=model(leaves=5, depth=2), model_error="overflow"))
    assert (failed.status, failed.error, failed.leaves, failed.depth) == ("degraded", "overflow", 5, 2)


@pytest.mark.parametrize(
    ("value", "x", "marks"),
    [
        (50.0, 0.5, set()),
        (101.0, 0.5, {"beyond_natural_bounds"}),
        (50.0, 5.0, {"outside"}),
        (None, 0.5, {"missing"}),
    ],
)
def test_result_is_marked_if_it_is_incomplete_improbable_or_outside(
    value: float | None, x: float, marks: set[str]
) -> None:
    """A result can be outside of a space that was edited."""
    stored = first_stored(YIELD.model_dump(mode="json"))
    edit: Edited = {"parameters": stored["parameters"], "defaults": {}, "version": 2}
    of = definition_of(edited(stored, edit))
    shown = render.observation(replace(row(1, value), parameters={"x": x, "y": 1.0}), of, of.space())
    names = ("missing", "beyond_natural_bounds", "outside")
    assert {name for name in names if getattr(shown, name)} == marks
