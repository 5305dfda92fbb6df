"""Points of requests: how they are stored, what a request may fix, and the errors of each parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from adabkb_service.contract.stored import definition_of, first_stored
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space
from adabkb_service.errors import MAX_ERRORS, Invalid
from adabkb_service.study import point_checks
from tests.integration.operations import test_conditions, test_context, test_mixtures
from tests.integration.operations.conftest import definition


def space(parameters: Sequence[object], **more: Any) -> Space:
    stored = first_stored(definition(parameters=parameters, **more).model_dump(mode="json"))
    return definition_of(stored).space()


PLAIN = definition_of(first_stored(definition().model_dump(mode="json"))).space()
CONDITIONAL = space(test_conditions.PARAMETERS)
MIXED = space(test_mixtures.PARAMETERS, mixtures=test_mixtures.MIXTURES)
WITH_CONTEXT = space(test_context.PARAMETERS)

Check = Callable[[], object]


def refusal(check: Check) -> Invalid:
    with pytest.raises(Invalid) as raised:
        check()
    return raised.value


def faults(check: Check) -> list[tuple[str, str]]:
    return [(error.pointer, error.code) for error in refusal(check).errors]


def checked(of: Space, point: dict[str, Any]) -> dict[str, Any]:
    return point_checks.feasible_point(of, point, "/p", is_measured=False)


def fixed(of: Space, values: dict[str, Any]) -> dict[str, Any]:
    return point_checks.checked_fixed(of, values, "/fixed")


def test_point_is_stored_in_the_order_of_the_space_with_the_types_of_its_parameters() -> None:
    """Without inactive parameters, and with those that never vary."""
    found = checked(CONDITIONAL, {"layers": 1.0, "optimizer": "adam", "lr": 1})
    assert list(found.items()) == [("lr", 1.0), ("optimizer", "adam"), ("tuned", True), ("layers", 1), ("eps", 1e-8)]
    assert [type(value) for value in found.values()] == [float, str, bool, int, float]


def test_each_parameter_of_an_invalid_point_has_its_error() -> None:
    wrong = {"x": 5, "y": 1, "~z": 0}
    assert faults(lambda: checked(PLAIN, wrong)) == [("/p/x", "invalid_point"), ("/p/~0z", "invalid_point")]
    assert faults(lambda: checked(PLAIN, {"x": 0})) == [("/p/y", "invalid_point")]


def test_the_first_errors_are_listed_and_the_others_counted() -> None:
    refused = refusal(lambda: checked(PLAIN, {"x": 0, "y": 1, **dict.fromkeys(map(str, range(MAX_ERRORS + 20)), 0)}))
    assert len(refused.errors) == MAX_ERRORS
    assert "20 more not listed" in str(refused)


def test_each_mixture_of_an_invalid_point_has_its_error() -> None:
    wrong = {**test_mixtures.POINT, "water": 0.5, "olive": 50.0}
    assert faults(lambda: checked(MIXED, wrong)) == [("/p", "mixture_violated")] * 2
    assert checked(MIXED, test_mixtures.POINT) == test_mixtures.POINT


@pytest.mark.parametrize(
    ("values", "follows"),
    [
        ({}, {}),
        ({"lr": 0.1}, {}),
        ({"momentum": 0.9}, {"optimizer": "sgd"}),
        ({"width": 16, "layers": 3}, {}),
        ({"momentum": 0.9, "optimizer": "sgd"}, {}),
    ],
)
def test_fixed_parameter_fixes_the_parents_that_can_have_only_one_value(
    values: dict[str, Any], follows: dict[str, Any]
) -> None:
    assert fixed(CONDITIONAL, values) == {**values, **follows}


def test_fixed_parameter_needs_the_parents_that_can_have_several_values() -> None:
    assert faults(lambda: fixed(CONDITIONAL, {"width": 16})) == [("/fixed/width", "invalid_point")]


@pytest.mark.parametrize(
    ("values", "follows"),
    [
        ({"olive": 12.5}, {"palm": 87.5}),
        ({"palm": 12.5}, {"olive": 87.5}),
        ({"water": 0.25}, {}),
        ({"water": 0.25, "glycerol": 0.0}, {"ethanol": 0.75}),
        ({"water": 0.25, "olive": 0.0}, {"palm": 100.0}),
        ({"water": 0.25, "ethanol": 0.75, "olive": 30.0}, {"glycerol": 0.0, "palm": 70.0}),
    ],
)
def test_last_share_of_a_mixture_follows_from_the_fixed_ones(values: dict[str, Any], follows: dict[str, Any]) -> None:
    assert fixed(MIXED, values) == {**values, **follows}


@pytest.mark.parametrize(
    "values",
    [
        {"water": 0.95, "ethanol": 0.0},
        {"water": 0.5, "ethanol": 0.6, "olive": 30.0},
        {"water": 0.25, "ethanol": 0.5},  # a third share above 0
    ],
)
def test_fixed_shares_that_no_last_share_completes_are_refused(values: dict[str, Any]) -> None:
    assert faults(lambda: fixed(MIXED, values)) == [("/fixed", "mixture_violated")]


def test_each_wrong_context_value_has_its_error() -> None:
    """A chosen parameter, one out of range, an unknown one, and a missing one."""

    def check(context: dict[str, Any], **options: Any) -> dict[str, Any]:
        return point_checks.checked_context(WITH_CONTEXT, context, "/context", **options)

    assert list(check({"machine": "A", "humidity": 0}).items()) == [("humidity", 0.0), ("machine", "A")]
    assert check({"machine": "A"}, optional=["humidity"]) == {"machine": "A"}
    refused = refusal(lambda: check({"speed": 99, "humidity": 2, "z": 0}))
    found = {error.pointer.removeprefix("/context/"): error.detail for error in refused.errors}
    assert found.keys() == {"speed", "humidity", "z", "machine"}
    assert (found["speed"], found["machine"]) == (point_checks.NOT_CONTEXT, point_checks.CONTEXT_MISSING)
    assert faults(lambda: check({"machine": "A"})) == [("/context/humidity", "invalid_point")]


def test_context_parameters_cannot_be_fixed() -> None:
    given = {"speed": 1.0, "humidity": 0.1, "machine": "A"}
    found = faults(lambda: point_checks.check_not_context(WITH_CONTEXT, given, "/fixed"))
    assert found == [("/fixed/humidity", "invalid_point"), ("/fixed/machine", "invalid_point")]
    point_checks.check_not_context(WITH_CONTEXT, {"speed": 1.0}, "/fixed")


CONSTRAINED = space(definition().model_dump(mode="json")["parameters"], constraints=["x + y <= 1"])


@pytest.mark.parametrize(
    ("of", "values", "code"),
    [
        (MIXED, {"water": 0.5, "ethanol": 0.6}, "mixture_violated"),
        (MIXED, {"water": 0.25}, None),
        (CONSTRAINED, {"x": 1.5}, "constraint_violated"),
        (CONSTRAINED, {"x": 0.5}, None),
        (PLAIN, {"x": 1.5}, None),
    ],
)
def test_fixed_values_without_a_feasible_point_are_refused(of: Space, values: dict[str, Any], code: str | None) -> None:
    within = Slice(of, values)
    if code is None:
        point_checks.check_slice(within, "/fixed")
    else:
        assert faults(lambda: point_checks.check_slice(within, "/fixed")) == [("/fixed", code)]
