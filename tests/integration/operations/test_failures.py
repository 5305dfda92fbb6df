"""Where all failures lie."""

from __future__ import annotations

from typing import Any

import pytest

from adabkb_service.contract.study import StudyDefinition
from adabkb_service.operations.model.failures import where_failed

PARAMETERS: list[dict[str, Any]] = [
    {"name": "pressure", "kind": "float", "low": 0, "high": 100, "label": "Pressure", "unit": "bar"},
    {"name": "metal", "kind": "categorical", "choices": ["Pd", "Ni"]},
]


def told(failed: list[dict[str, Any]], succeeded: list[dict[str, Any]]) -> str:
    body = {"id": "s", "direction": "maximize", "parameters": PARAMETERS}
    return where_failed(StudyDefinition.model_validate(body).parameters, failed, succeeded)


def at(metal: str, *pressures: float) -> list[dict[str, Any]]:
    return [{"pressure": pressure, "metal": metal} for pressure in pressures]


def test_failures_at_one_end_are_named_with_the_probability_of_chance() -> None:
    good = [*at("Pd", 5, 10, 20, 30), *at("Ni", 12, 18, 25, 35, 40)]
    bad = [*at("Pd", 50.5, 70), *at("Ni", 60)]
    # 3 of 12: 220 sets; two ends of a number and two choices are 4 parts
    assert told(bad, good) == "", "4 / 220 is more than 1%"
    bad += at("Pd", 90)
    assert told(bad, good) == (
        "4 of 13 trials failed, all with Pressure of at least 50.5\xa0bar; none succeeded there "
        "(by chance: at most 0.56%)."
    )
    assert told(good[:4], bad + good[4:]) == ""
    assert "of at most 4\xa0bar" in told(at("Pd", 1, 2, 3, 4), good)
    assert "with metal Ni;" in told(at("Ni", 1, 30, 50, 99), at("Pd", *range(2, 90, 9)))


@pytest.mark.parametrize("success", [50.5, 99.0])
def test_a_success_among_the_failures_says_that_the_part_is_not_the_cause(success: float) -> None:
    bad = at("Pd", 50.5, 60, 70, 80, 90)
    assert told([*bad, *at("Ni", 55)], [*at("Ni", 5, 10, 20, 30, 40, 45), *at("Pd", success)]) == ""


def test_no_failures_and_no_successes_have_no_sentence() -> None:
    assert told([], at("Pd", 1, 2)) == told(at("Pd", 1, 2), []) == ""
