"""The verdict on a model follows from predictions of results that it did not know."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adabkb_service.contract.analysis import ValidationItem
from adabkb_service.contract.quantities import Quantity
from adabkb_service.operations.model.analysis import validation
from adabkb_service.operations.model.assessment import assessment
from adabkb_service.operations.model.verdict import Errors, JudgedResults, Suggested, verdict
from adabkb_service.operations.reports.overview import Overview
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from tests.integration.operations.conftest import ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, observe, observe_batch, suggest

PERCENT = Quantity(unit="%", low=0.0, high=100.0)
GOOD = Errors(1.0, 20.0)


def items(inside: int, outside: int, half: float = 4.0) -> list[ValidationItem]:
    """Results from 10 to 90, each with an interval that is ``2 * half`` wide."""
    values = np.linspace(10.0, 90.0, inside + outside).tolist()
    means = [value + (0.5 if row < inside else 1.5) * half for row, value in enumerate(values)]
    return [
        ValidationItem(observation=row, value=value, mean=mean, std=1.0, lcb=mean - half, ucb=mean + half, tail=0.5)
        for row, (value, mean) in enumerate(zip(values, means, strict=True), start=1)
    ]


@pytest.mark.parametrize(
    ("inside", "outside", "half", "errors", "suggested", "found"),
    [
        (18, 2, 4.0, GOOD, (9, 1), ("reliable", "high", "You can mostly trust the model. ")),
        (
            18,
            2,
            4.0,
            Errors(17.0, 20.0),
            (9, 1),
            ("poor_predictions", "low", "Do not rely on the model yet: "),
        ),
        (20, 0, 40.0, GOOD, (9, 1), ("wide_intervals", "low", "You can hardly trust the model. ")),
        (12, 8, 4.0, GOOD, (9, 1), ("too_sure", "medium", "You can partly trust the model: its intervals are ")),
        (18, 2, 4.0, GOOD, (5, 5), ("too_sure", "medium", "You can partly trust the model: its intervals are ")),
        (7, 1, 4.0, GOOD, (0, 0), ("too_few_results", "unknown", "It is too early to say whether you can trust ")),
    ],
)
def test_verdict_is_the_first_reason_that_applies(
    inside: int,
    outside: int,
    half: float,
    errors: Errors,
    suggested: tuple[int, int],
    found: tuple[str, str, str],
) -> None:
    all_ = items(inside, outside, half)
    known = [Suggested(1.0, 0.0, 2.0)] * suggested[0] + [Suggested(3.0, 0.0, 2.0)] * suggested[1]
    judged = verdict(JudgedResults(len(all_), all_, all_, known, errors), 9, PERCENT)
    assert (judged.code, judged.level) == found[:2]
    assert judged.text.startswith(found[2])
    if judged.level == "unknown":
        assert (judged.suggested, judged.suggested_inside) == (0, 0)
        return
    assert (judged.suggested, judged.suggested_inside) == (sum(suggested), suggested[0])
    assert f"it predicts {inside} of 20 (18 expected) in its 90% intervals." in judged.text
    assert f"it predicted {suggested[0]} of 10 (9 expected)." in judged.text
    assert f"Its mean error is {errors.of_model or 0:.2g}" in judged.text
    assert ("This proves little" in judged.text) == (judged.code == "wide_intervals")


def test_verdict_names_what_does_not_count_and_which_model_is_meant() -> None:
    all_ = items(20, 0)
    judged = verdict(JudgedResults(900, all_, all_[:16], [], GOOD), 9, PERCENT, " of the cost").text
    assert judged.startswith("You can mostly trust the model of the cost. ")
    assert "16 of 16 (14 expected) in its 90% intervals (of 900, only 20 are judged)." in judged
    assert "With the suggestions" not in judged
    assert judged.endswith("4 results at repeated points do not count, since they predict each other.")


@pytest.mark.parametrize(
    ("counted", "repeated", "fewest", "points", "text"),
    [
        (5, 0, 6, math.inf, "It is too early to say whether you can trust the model: it needs 3 more results."),
        (7, 0, 6, math.inf, "It is too early to say whether you can trust the model: it needs 1 more result."),
        (5, 2, 12, math.inf, "It is too early to say whether you can trust the model: it needs 5 more results."),
        (
            7,
            5,
            9,
            math.inf,
            "It is too early to say whether you can trust the model: it needs results at 8 points that ",
        ),
        (6, 0, 6, 6.0, "The model cannot be checked: the space has only 6 points, and a check needs results at 8 "),
    ],
)
def test_without_a_verdict_the_results_that_are_missing_are_counted(
    counted: int, repeated: int, fewest: int, points: float, text: str
) -> None:
    all_ = items(counted + repeated, 0)
    found = verdict(JudgedResults(len(all_), all_, all_[:counted], [], GOOD), fewest, PERCENT, points=points)
    assert (found.code, found.level) == ("too_few_results", "unknown")
    assert found.text.startswith(text)


@pytest.mark.parametrize("migrated_url", ["sqlite"], indirect=True)
def test_predictions_from_too_few_results_are_not_judged(running: Service, clock: ManualClock) -> None:
    """Eight workers have suggestions that rest on five results; those of later suggestions count."""
    create(running, definition(direction="maximize", noise_std=0.05))
    rng = np.random.default_rng(2)
    points = [{"x": float(rng.uniform(-1, 2)), "y": float(rng.uniform(0.1, 9))} for _ in range(5)]
    observe_batch(running, "s", [Value(round(-(each["x"] ** 2), 3), parameters=each) for each in points])
    for trials in (range(1, 9), range(9, 11)):
        clock.advance(1)
        for _ in trials:
            suggest(running, "s", Ask())
        clock.advance(1)
        for trial in trials:
            observe(running, "s", Value(-0.1 * trial, trial))
    assert validation(running, "s").verdict.suggested == 2
    known = [each["seq"] for each in Overview(running).history("s")["results"] if each["expected"] is not None]
    assert known == [14, 15]


@pytest.mark.parametrize("migrated_url", ["sqlite"], indirect=True)
def test_intervals_of_suggestions_are_judged_by_results_at_these_points(running: Service) -> None:
    """The model is asked for twelve points; the last two are evaluated elsewhere, or far from what it expected."""
    create(running, definition(direction="maximize", noise_std=0.05))
    rng = np.random.default_rng(2)
    points = [{"x": float(rng.uniform(-1, 2)), "y": float(rng.uniform(0.1, 9))} for _ in range(9)]
    observe_batch(running, "s", [Value(round(-(each["x"] ** 2), 3), parameters=each) for each in points])
    assert validation(running, "s").verdict.suggested == 0
    for number in range(1, 11):
        (trial,) = suggest(running, "s", Ask()).view.trials
        expected = trial.expected
        assert expected is not None
        assert expected.mean is not None
        assert expected.ucb is not None
        if number == 9:
            observe(running, "s", Value(expected.mean, trial.number, parameters={**trial.parameters, "x": 0.123}))
        elif number == 10:
            observe(running, "s", Value(expected.ucb + 1.0, trial.number))
        else:
            observe(running, "s", Value(expected.mean, trial.number))
    found = assessment(running, "s").verdicts[""]
    assert (found.suggested, found.suggested_inside) == (9, 8)
    assert "With the suggestions, before the results were known, it predicted 8 of 9 (8 expected)." in found.text
