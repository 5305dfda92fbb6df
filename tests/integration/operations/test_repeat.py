"""Repeating a point: several trials at the evaluated point, all or none."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.contract.requests import RepeatBody
from adabkb_service.errors import Invalid, StudyComplete, TrialNotFound
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.study.request import Key
from tests.integration.operations.conftest import definition
from tests.integration.operations.verbs import Ask, Value, get, observe, repeat, suggest


def test_repeat_uses_the_evaluated_point(running: Service) -> None:
    create(running, definition())
    suggest(running, "s", Ask())
    evaluated = {"x": 0.125, "y": 1.5}
    observe(running, "s", Value(1.0, 1, parameters=evaluated))
    answer = repeat(running, "s", trial=1, times=3).view
    assert [each.number for each in answer.trials] == [2, 3, 4]
    assert [(each.parameters, each.state, each.origin) for each in answer.trials] == 3 * [
        (evaluated, "queued", "queued")
    ]
    issued = suggest(running, "s", Ask(4)).view.trials
    assert [each.parameters == evaluated for each in issued] == [True, True, True, False]


def test_repeat_without_a_result_uses_the_issued_point(running: Service) -> None:
    create(running, definition())
    (trial,) = suggest(running, "s", Ask()).view.trials
    assert repeat(running, "s", trial=1).view.trials[0].parameters == trial.parameters


def test_retried_request_repeats_nothing_more(running: Service) -> None:
    create(running, definition())
    key = Key("s", "again", "fingerprint")
    first = repeat(running, "s", key, parameters={"x": 0.5, "y": 1.0}, times=2).view
    assert repeat(running, "s", key, parameters={"x": 0.5, "y": 1.0}, times=2).view == first
    assert get(running, "s").counts.queued == 2


def test_all_or_no_repetitions_are_queued_within_the_budget(running: Service) -> None:
    create(running, definition(budget=3))
    suggest(running, "s", Ask())
    with pytest.raises(StudyComplete, match="room for 2 more"):
        repeat(running, "s", trial=1, times=3)
    assert get(running, "s").counts.queued == 0
    repeat(running, "s", trial=1, times=2)
    with pytest.raises(StudyComplete, match="budget"):
        repeat(running, "s", trial=1)


def test_invalid_repetitions_are_rejected(running: Service) -> None:
    create(running, definition())
    with pytest.raises(TrialNotFound):
        repeat(running, "s", trial=7)
    with pytest.raises(Invalid):
        repeat(running, "s", parameters={"x": 99.0, "y": 1.0})
    assert get(running, "s").counts.queued == 0


@pytest.mark.parametrize(
    "body", [{}, {"trial": 1, "parameters": {"x": 0.5}}, {"trial": 1, "times": 0}, {"trial": 1, "times": 101}]
)
def test_repeat_needs_one_point_and_a_valid_count(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RepeatBody(**body)
