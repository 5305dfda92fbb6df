"""The sentences about a study and its checks are correct in every situation."""

from __future__ import annotations

import math
import re
from types import FrameType
from typing import Any

import numpy as np
import pytest

from adabkb_service.contract.answers import Prediction
from adabkb_service.contract.requests import PointValueBody, TrialValueBody
from adabkb_service.errors import Invalid, Unavailable
from adabkb_service.operations.model.analysis import importance, validation
from adabkb_service.operations.model.assessment import assessment
from adabkb_service.operations.model.predict import recommendation
from adabkb_service.operations.model.unusual import Stored, stored, warnings
from adabkb_service.operations.reports.overview import Overview
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.words import wording
from adabkb_service.study import lifecycle
from tests.calls import watching
from tests.integration.operations.conftest import SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import (
    Ask,
    Failure,
    Value,
    change,
    correct,
    edit,
    get,
    observe,
    observe_batch,
    queue,
    suggest,
)
from tests.samples import some

pytestmark = pytest.mark.parametrize("migrated_url", ["sqlite"], indirect=True)

LAB: list[dict[str, Any]] = [
    {"name": "temperature", "kind": "float", "low": 20, "high": 100},
    {"name": "catalyst", "kind": "categorical", "choices": ["XPhos", "SPhos", "PPh3"]},
    {"name": "dye", "kind": "float", "low": 0.01, "high": 1, "scale": "log"},
]


def grown(running: Service, results: int, seed: int = 0) -> None:
    """Yields with one decimal that increase with the temperature, at random points with two of the three catalysts."""
    rng = np.random.default_rng(seed)
    batch = []
    for _ in range(results):
        temperature, catalyst = round(rng.uniform(20, 100)), ["XPhos", "SPhos"][rng.integers(2)]
        value = 0.6 * temperature + 9.0 * (catalyst == "XPhos") + 0.5 * rng.normal()
        point = {"temperature": temperature, "catalyst": catalyst, "dye": 10.0 ** rng.uniform(-2, 0)}
        batch.append(Value(round(value, 1), parameters=point))
    observe_batch(running, "s", batch)


def checks(running: Service) -> list[str]:
    return [each.check for each in assessment(running, "s").checks]


def test_assessment_of_an_empty_study(running: Service) -> None:
    create(running, definition())
    found = assessment(running, "s")
    assert (found.results, found.standing) == (0, "No trial has been issued yet.")
    assert found.progress.text == "No results yet."
    assert (found.latest, found.findings, found.checks, found.verdicts) == (None, None, [], {})
    assert found.outlook.text == "It is too early to say. The remaining gain is known only with 9 or more results."
    assert (found.outlook.gap, found.outlook.probability, found.outlook.reason) == (None, None, "no_results")


def test_single_result_is_shown_with_its_own_digits(running: Service) -> None:
    create(running, definition(parameters=LAB, direction="maximize"))
    grown(running, 1)
    found = assessment(running, "s")
    assert found.progress.best is not None
    assert found.progress.text == f"The only result is {found.progress.best.value:.1f}."
    assert (
        found.outlook.text
        == "It is too early to say. The remaining gain is known only with 12 or more results; there is 1, so 11 more "
        "are needed."
    )
    assert [each.check for each in found.checks] == ["few_results"]


def test_five_results_are_too_few_for_importances(running: Service) -> None:
    create(running, definition(parameters=LAB, direction="maximize"))
    grown(running, 5)
    found = assessment(running, "s")
    best = found.progress.best
    assert best is not None
    assert found.progress.text == (
        f"The best of 5 results is {best.value:.1f}. There are too few results to estimate how much a "
        "repetition would differ."
    )
    assert found.findings is not None
    assert (found.findings.importances, found.findings.text) == ({}, "Never tried: catalyst PPh3.")
    assert found.checks[0].text == (
        "Few results: 5, for 3 parameters that vary. The model needs 7 more results to compare parameters and to bound "
        "the remaining gain."
    )


@pytest.mark.parametrize("direction", some(["minimize", "maximize"], ["minimize"]))
def test_assessment_reports_importances_and_the_remaining_gain(running: Service, direction: str) -> None:
    create(running, definition(parameters=LAB, direction=direction))
    grown(running, 24)
    found = assessment(running, "s")
    best, expected = found.progress.best, found.progress.expected
    assert best is not None
    assert expected is not None
    start = f"The best of 24 results is {best.value:.1f}. The model expects "
    assert found.progress.text.startswith(start)
    assert re.search(
        r" expects \d[\d.]* \(90%: \d[\d.]* to \d[\d.]*\) there on average, and one more ", found.progress.text
    )
    assert found.progress.repeat_std is not None
    assert found.progress.repetition is not None
    assert found.progress.repetition.low < expected.lcb < expected.mean < expected.ucb < found.progress.repetition.high
    assert found.progress.repeat_std > expected.std
    suggest(running, "s", Ask())
    latest = assessment(running, "s").latest
    assert latest is not None
    assert "The model expected " in latest.text
    assert best.value == pytest.approx(expected.mean, abs=4.0)
    assert found.findings is not None
    assert found.findings.untried == {"catalyst": ["PPh3"]}
    assert found.findings.text.startswith("temperature matters most.")
    assert "dye hardly matters" in found.findings.text
    study = get(running, "s")
    assert (found.outlook.gap, found.outlook.probability) == (study.gap, 0.9)
    if study.gap is not None:
        assert "According to the model, it is 90% certain that no point is better than " in found.outlook.text
    assert "poor_predictions" not in checks(running)
    verdict = assessment(running, "s").verdicts[""]
    assert (verdict.code, verdict.level) == ("reliable", "high")
    assert verdict == validation(running, "s").verdict


@pytest.mark.long
@pytest.mark.parametrize("direction", some(["minimize", "maximize"], ["maximize"]))
def test_repeated_best_point_has_a_mean(running: Service, direction: str) -> None:
    """The largest of several results is partly luck; excluded results do not count."""
    create(running, definition(parameters=LAB, direction=direction, quantities={"value": {"low": 0, "high": 100}}))
    grown(running, 14)
    best = get(running, "s").best
    assert best is not None
    assert assessment(running, "s").progress.measured is None
    off = 1.0 if direction == "maximize" else -1.0
    values = [best.value - 2.0 * off, best.value + 1.0 * off, best.value - 40.0 * off]
    observe_batch(running, "s", [Value(value, parameters=best.parameters) for value in values])
    correct(running, "s", 17, {"excluded": True})
    found = assessment(running, "s").progress
    assert found.measured is not None
    assert found.measured.count == 3
    assert found.measured.mean == pytest.approx(best.value - off / 3.0)
    assert f". The mean of the 3 results at its point is {best.value - off / 3.0:.4g}." in found.text
    assert found.repetition is not None
    assert 0.0 <= found.repetition.low < found.repetition.high <= 100.0


def test_a_doubted_result_does_not_widen_the_range_of_a_repetition(running: Service) -> None:
    """It is explained by additional noise, which other results do not have."""
    create(running, definition(parameters=LAB[:1], direction="maximize", robust=True))
    rng = np.random.default_rng(1)

    def value(temperature: float) -> float:
        return round(70.0 - (temperature - 60.0) ** 2 / 40.0 + 0.5 * rng.normal(), 1)

    batch = [Value(value(each), parameters={"temperature": each}) for each in range(20, 100, 6)]
    observe_batch(running, "s", [*batch, Value(140.0, parameters={"temperature": 31.0})])
    wrong = assessment(running, "s")
    observe(running, "s", Value(value(31.0), parameters={"temperature": 31.0}))
    for found in (wrong, assessment(running, "s")):
        assert [each.observation for each in validation(running, "s").items if each.doubted] == [15]
        assert found.progress.best is not None
        assert found.progress.best.value == 140.0
        assert found.progress.repetition is not None
        assert 40.0 < found.progress.repetition.low < 49.0 < found.progress.repetition.high < 58.0


def test_a_stated_noise_is_the_noise_of_a_repetition(running: Service) -> None:
    create(running, definition(parameters=LAB, direction="maximize", noise_std=2.0))
    grown(running, 24)
    found = assessment(running, "s")
    assert found.progress.expected is not None
    assert found.progress.repeat_std == pytest.approx(math.hypot(found.progress.expected.std, 2.0))
    assert found.outlook.noise == 2.0


def test_tried_and_issued_choices_are_not_untried(running: Service) -> None:
    create(running, definition(parameters=LAB, direction="maximize"))
    grown(running, 4)
    findings = assessment(running, "s").findings
    assert findings is not None
    assert findings.untried == {"catalyst": ["PPh3"]}
    for number in range(1, 5):
        correct(running, "s", number, {"excluded": True})
    findings = assessment(running, "s").findings
    assert findings is not None
    assert findings.untried == {"catalyst": ["PPh3"]}, "an excluded choice was tried"
    queue(running, "s", {"temperature": 50, "catalyst": "PPh3", "dye": 0.1})
    found = assessment(running, "s")
    assert found.findings is None
    assert found.latest is not None
    assert (found.latest.text, found.latest.state) == ("Trial 1 was queued by a user.", "queued")


def test_latest_trial_has_its_purpose_and_outcome(running: Service) -> None:
    create(running, definition())
    for value in (3.25, 1.5, 2.0, 4.0):
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Value(value, trial.number))
    (trial,) = suggest(running, "s", Ask()).view.trials
    open_ = assessment(running, "s").latest
    assert open_ is not None
    assert (open_.trial, open_.state, open_.phase, open_.expected) == (5, "active", trial.phase, trial.expected)
    assert "expected" not in open_.text  # with so few results
    assert assessment(running, "s").standing == "1 trial is running."
    observe(running, "s", Failure(5))
    failed = assessment(running, "s").latest
    assert failed is not None
    assert failed.text == f"{open_.text} It failed."


@pytest.mark.long
def test_several_objectives_are_named(running: Service) -> None:
    objectives = [{"metric": "error", "direction": "minimize"}, {"metric": "size", "direction": "maximize"}]
    create(running, definition(direction=None, objectives=objectives))
    assert assessment(running, "s").progress.text == "No results yet."
    for number in range(14):
        (trial,) = suggest(running, "s", Ask()).view.trials
        x = trial.parameters["x"]
        observed(running, trial.number, None, {"error": (x - 1) ** 2, "size": 100 * x - number})
    found = assessment(running, "s")
    assert found.progress.text.startswith("14 results of error (minimized), size (maximized). Best error ")
    assert ", best size 1" in found.progress.text
    assert (found.progress.best, found.progress.expected, found.outlook.gap) == (None, None, None)
    assert found.outlook.text.startswith(
        ("It is probably too early to stop. The last 10 ", "You can perhaps stop. The last 10 ")
    )
    assert "better compromise" in found.outlook.text
    assert "hypervolume" not in found.outlook.text
    assert found.findings is not None
    assert set(found.findings.importances) <= {"error", "size"}


@pytest.mark.long
def test_what_an_edit_added_is_tried_before_one_stops(running: Service) -> None:
    objectives = [{"metric": "error", "direction": "minimize"}, {"metric": "size", "direction": "maximize"}]
    bounds = [{"metric": "cost", "upper": 3}]
    create(running, definition(direction=None, objectives=objectives, parameters=LAB, outcome_constraints=bounds))
    point = {"temperature": 50, "catalyst": "XPhos", "dye": 0.1}
    told = {"error": 1.0, "size": 1.0, "cost": 4.0}
    observe_batch(running, "s", [told_at(point, {**told, "cost": 1.0})])
    observe_batch(running, "s", [told_at(point, told) for _ in range(12)])
    found = assessment(running, "s")
    assert "12 results violate the bounds of cost." in found.progress.text
    assert "not tried yet" not in found.outlook.text
    wider = {**LAB[0], "high": 140}
    more = {**LAB[1], "choices": [*LAB[1]["choices"], "JackiePhos"]}
    edit(running, wider, more)
    assert assessment(running, "s").outlook.text.startswith(
        "It is too early to stop. Added to the space, and not tried yet: temperature above 100, catalyst JackiePhos."
    )
    tried = {"temperature": 120, "catalyst": "JackiePhos", "dye": 0.1}
    observe_batch(running, "s", [told_at(tried, told)])
    assert "not tried yet" not in assessment(running, "s").outlook.text


def told_at(point: dict[str, Any], metrics: dict[str, float]) -> Any:
    """A result of a study with several objectives at a user's point."""
    others: dict[str, Any] = {"value": None, "std_error": None, "std_errors": {}}
    return PointValueBody.model_construct(parameters=point, metrics=metrics, **others)


def observed(running: Service, trial: int, value: float | None, metrics: dict[str, float]) -> None:
    others: dict[str, Any] = {"attempt": None, "parameters": None, "std_error": None, "std_errors": {}}
    observe(running, "s", TrialValueBody.model_construct(trial=trial, value=value, metrics=metrics, **others))


def test_a_suggestion_that_probably_violates_a_bound_is_not_called_promising(running: Service) -> None:
    create(running, definition(outcome_constraints=[{"metric": "cost", "upper": 3}]))
    (trial,) = suggest(running, "s", Ask()).view.trials
    for probability, purpose in ((0.03, "tests a bound"), (0.9, "promising")):
        expected = Prediction(mean=1.0, std=0.1, lcb=0.8, ucb=1.2, feasible_probability=probability)
        told = trial.model_copy(update={"phase": "search", "expected": expected})
        assert wording.purpose(told) == purpose


def test_infeasible_results_are_not_called_best(running: Service) -> None:
    create(running, definition(outcome_constraints=[{"metric": "cost", "upper": 3}]))
    for number in range(5):
        (trial,) = suggest(running, "s", Ask()).view.trials
        observed(running, trial.number, 1.5 + number, {"cost": 4.0 + number})
        if number == 0:
            only = assessment(running, "s").progress.text
            assert only == "The only result, 1.5 (trial 1), violates the bounds of cost."
    found = assessment(running, "s")
    assert found.progress.text == (
        "No result satisfies all bounds yet. Of 5 results, 1.5 (trial 1) comes closest; it violates the bounds of cost."
    )
    assert found.outlook.text == "No result satisfies all bounds, so the remaining gain is unknown."
    observed(running, suggest(running, "s", Ask()).view.trials[0].number, 9.5, {"cost": 1.0})
    assert assessment(running, "s").progress.text.startswith("The best of 6 results is 9.5 (trial 6)")


def test_study_paused_by_failures_reports_the_cause(running: Service) -> None:
    create(running, definition(failure_limit=2))
    for _ in range(2):
        observe(running, "s", Failure(suggest(running, "s", Ask()).view.trials[0].number))
    found = assessment(running, "s")
    assert found.progress.text == "No results yet: all 2 trials that ended failed."
    assert found.standing.startswith("Paused, because too many trials in a row failed")
    assert found.latest is not None
    assert found.latest.text.endswith("It failed.")


@pytest.mark.parametrize("system", some(["paper", "gp-ucb", "random-bkb", "gp-threds", "ada-bbkb"], ["paper"]))
def test_other_systems_report_what_they_support(running: Service, system: str) -> None:
    parameters = [{"name": name, "kind": "float", "low": -1, "high": 2} for name in ("x", "y")]
    create(running, definition(parameters=parameters, algorithm=SYSTEMS[system]))
    for _ in range(9):
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Value(trial.parameters["x"] ** 2, trial.number))
    found = assessment(running, "s")
    assert found.progress.text.startswith("The best of 9 results is ")
    assert found.outlook.fewest is None
    assert (found.outlook.gap is None) == (found.outlook.probability is None)
    assert [each.check for each in found.checks] in ([], ["edge"])
    assert all(each.widened is None for each in found.checks), "such a study cannot be edited"
    judged = validation(running, "s")
    assert (judged.items, judged.inside, judged.reason) == ([], None, "not_this_algorithm")


def test_complete_and_paused_studies_give_the_reason(running: Service) -> None:
    create(running, definition(budget=1))
    observe(running, "s", Value(1.0, suggest(running, "s", Ask()).view.trials[0].number))
    assert assessment(running, "s").standing.startswith("The budget is used up")
    change(running, "s", {"budget": 9})
    change(running, "s", {"state": "paused"})
    assert assessment(running, "s").standing.startswith("Paused: no new trials")


def test_a_study_that_a_user_ended_has_not_used_up_its_budget(running: Service) -> None:
    create(running, definition(budget=9))
    trial = suggest(running, "s", Ask()).view.trials[0].number
    observe(running, "s", Value(1.0, trial))
    change(running, "s", {"budget": 1})
    standing = assessment(running, "s").standing
    assert standing.startswith("Ended by a user on ")
    assert ", after 1 trial (the budget was 9)." in standing
    change(running, "s", {"budget": 2})
    trial = suggest(running, "s", Ask()).view.trials[0].number
    observe(running, "s", Value(1.0, trial))
    assert assessment(running, "s").standing.startswith("The budget is used up"), "its last trial was issued later"


def test_a_study_with_only_failures_has_issued_trials(running: Service) -> None:
    create(running, definition(failure_limit=5))
    for text in ("The only trial has failed", "All 2 trials have failed"):
        trial = suggest(running, "s", Ask()).view.trials[0].number
        observe(running, "s", Failure(trial))
        assert assessment(running, "s").standing == f"{text}. The study pauses after 5 failures in a row."


def test_larger_cost_budget_continues_the_study(running: Service) -> None:
    create(running, definition(budget={"cost": 1.0}, cost="told"))
    trial = suggest(running, "s", Ask()).view.trials[0].number
    observe(running, "s", TrialValueBody(trial=trial, value=1.0, cost=2.0))
    assert assessment(running, "s").standing == "The budget is used up. A larger budget continues the study."


def test_excluded_choice_is_not_reported_as_untried(running: Service) -> None:
    create(running, definition(parameters=LAB, direction="maximize", constraints=['catalyst != "PPh3"']))
    grown(running, 12)
    found = assessment(running, "s").findings
    assert found is None or not found.untried


def test_long_time_without_improvement_is_mentioned(running: Service) -> None:
    create(running, definition())
    values = [1.0, *(1.5 + number / 8 for number in range(11))]
    observe_batch(running, "s", [Value(v, parameters={"x": v / 4, "y": 1.0}) for v in values])
    found = assessment(running, "s").outlook
    assert found.results_since_best == 11
    assert "The last 11 results brought no improvement" in found.text


def test_failed_model_leaves_statements_about_results(running: Service) -> None:
    """Two results whose sum overflows."""
    create(running, definition(algorithm={"profile": "paper", "outputs": "raw"}))
    for _ in range(2):
        observe(running, "s", Value(-1.7e308, parameters={"x": 0, "y": 1}))
    suggest(running, "s", Ask())
    found = assessment(running, "s")
    (check,) = found.checks
    assert check.check == "model_failed"
    assert check.text.startswith("The model failed to process the results: ")
    value = "\N{MINUS SIGN}1.7×10³⁰⁸"
    assert (
        found.progress.text == f"The best of 2 results is {value}. The mean of the 2 results at its point is {value}."
    )
    assert (found.progress.expected, found.findings, found.outlook.gap) == (None, None, None)
    assert found.outlook.text == "The model has failed, so the remaining gain is unknown."
    assert found.latest is not None
    because = "because the model had failed or did not answer in time."
    assert found.latest.text.startswith(f"Trial 1 is quasi-random, {because}")


def test_model_that_becomes_busy_between_two_questions_is_reported(running: Service) -> None:
    """The best point is at the end of a range. This check needs both answers."""
    create(running, definition(parameters=LAB, direction="maximize"))
    grown(running, 30)
    observe(running, "s", Value(69.0, parameters={"temperature": 100, "catalyst": "XPhos", "dye": 0.1}))

    def refuse(_: FrameType, event: str) -> None:
        if event == "call":
            raise Unavailable("The model is busy.")

    with watching({validation: refuse}):
        assert checks(running) == ["model_busy"]
    assert "edge" in checks(running)


@pytest.mark.long
def test_results_after_the_answer_of_the_model_are_mentioned(running: Service) -> None:
    """The model answers as of a row of the study, and others may store results meanwhile."""
    create(running, definition(parameters=LAB, direction="maximize"))
    grown(running, 8)
    (trial,) = suggest(running, "s", Ask()).view.trials
    views = 0

    def store(_: FrameType, event: str) -> None:
        """Store a result when the study is rendered a second time, as the model has answered it."""
        nonlocal views
        views += event == "call"
        if event == "call" and views == 2:
            observe(running, "s", Value(30.0, trial.number))

    with watching({lifecycle.full_view: store}):
        told = assessment(running, "s").progress.text
    assert "best of 8 results" in told
    assert told.endswith("The newest result is not included yet.")
    assert "not included" not in assessment(running, "s").progress.text


def test_outlier_is_reported_until_it_is_corrected(running: Service) -> None:
    create(running, definition(parameters=LAB, direction="maximize"))
    grown(running, 24)
    assert "outlier" not in checks(running)
    correct(running, "s", 7, {"value": 301.5})
    (found,) = (each for each in assessment(running, "s").checks if each.check == "outlier")
    assert found.observation == 7
    assert found.trial is None
    assert found.text.startswith("Own result R7 is 301.5, but given the others, the model expects ")
    correct(running, "s", 7, {"value": 30.2})
    assert "outlier" not in checks(running)
    (trial,) = suggest(running, "s", Ask()).view.trials
    observe(running, "s", Value(301.5, trial.number))
    (found,) = (each for each in assessment(running, "s").checks if each.check == "outlier")
    assert (found.trial, found.observation) == (trial.number, 25)
    assert found.text.startswith(f"The result of trial {trial.number} is 301.5")


def test_pure_noise_gives_no_findings(running: Service) -> None:
    create(running, definition(parameters=LAB, direction="maximize"))
    rng = np.random.default_rng(0)
    points = [{"temperature": t, "catalyst": "XPhos", "dye": 0.1} for t in rng.uniform(20, 100, 30).round(3).tolist()]
    observe_batch(running, "s", [Value(round(rng.normal(50, 3), 1), parameters=point) for point in points])
    found = assessment(running, "s")
    assert [each.check for each in found.checks] == ["poor_predictions"]
    assert found.findings is not None
    assert found.findings.importances == {}
    judged = validation(running, "s")
    assert judged.error is not None
    assert judged.error_of_median is not None
    assert judged.error > 0.85 * judged.error_of_median
    assert (judged.verdict.code, judged.verdict.level) == ("poor_predictions", "low")


def test_best_point_at_the_end_of_a_range_suggests_widening(running: Service) -> None:
    create(running, definition(parameters=LAB, direction="maximize"))
    grown(running, 30)
    observe(running, "s", Value(69.0, parameters={"temperature": 100, "catalyst": "XPhos", "dye": 0.1}))
    (found,) = (each for each in assessment(running, "s").checks if each.check == "edge")
    assert (found.parameter, found.text) == (
        "temperature",
        "The best point is at the upper end of temperature (100). Better points may lie beyond it.",
    )
    assert found.widened == {**LAB[0], "scale": "linear", "step": None, "high": 140.0}
    edit(running, found.widened)
    assert "edge" not in checks(running)


@pytest.mark.long
def test_context_and_periodic_parameters_have_no_edges_or_untried_choices(running: Service) -> None:
    angle = {"name": "angle", "kind": "float", "low": 0, "high": 360, "periodic": True}
    known = [
        {"name": "humidity", "kind": "float", "low": 0, "high": 1, "context": True},
        {"name": "machine", "kind": "categorical", "choices": ["A", "B"], "context": True},
    ]
    create(running, definition(parameters=[angle, *known], direction="maximize"))
    for turn in range(30):
        point = {"angle": 12.0 * turn, "humidity": turn % 2, "machine": "A"}
        observe(running, "s", Value(math.cos(math.radians(12.0 * turn)) + turn % 2, parameters=point))
    found = assessment(running, "s")
    assert found.outlook.text.startswith("The remaining gain depends on the context.")
    assert "edge" not in [each.check for each in found.checks]
    assert found.findings is None or not found.findings.untried


def test_left_out_results_are_listed_by_number(running: Service) -> None:
    create(running, definition(parameters=LAB, direction="minimize"))
    grown(running, 20)
    correct(running, "s", 3, {"excluded": True})
    found = validation(running, "s")
    assert (found.results, found.reason) == (19, None)
    assert [each.observation for each in found.items] == [1, 2, *range(4, 21)]
    assert all(each.lcb <= each.mean <= each.ucb for each in found.items)
    inside = [each.lcb <= each.value <= each.ucb for each in found.items]
    assert found.inside == pytest.approx(np.mean(inside))
    values = [each.value for each in found.items]
    others = [np.median([*values[:row], *values[row + 1 :]]) for row in range(19)]
    assert found.error_of_median == pytest.approx(np.mean(np.abs(np.array(values) - others)))
    assert found.error == pytest.approx(np.mean([abs(each.value - each.mean) for each in found.items]))


def test_repetitions_do_not_show_that_the_model_predicts_well(running: Service) -> None:
    """A result is predicted by its repetition, however little the model knows elsewhere."""
    create(running, definition(parameters=LAB, direction="minimize"))
    grown(running, 20)
    point = {"temperature": 61.0, "catalyst": "XPhos", "dye": 0.1}
    observe_batch(running, "s", [Value(value, parameters=point) for value in (45.5, 45.6, 45.7)])
    found = validation(running, "s")
    assert [each.observation for each in found.items if each.repeated] == [21, 22, 23]
    counted = [each for each in found.items if not each.repeated]
    assert found.counted == len(counted) == 20
    assert found.error == pytest.approx(np.mean([abs(each.value - each.mean) for each in counted]))
    assert found.inside == pytest.approx(np.mean([each.lcb <= each.value <= each.ucb for each in counted]))


def test_missing_validation_has_a_reason(running: Service) -> None:
    create(running, definition())
    assert validation(running, "s").reason == "too_few_results"
    observe_batch(running, "s", [Value(3.0, parameters={"x": x, "y": 1.0}) for x in (-1, 0, 1, 2)])
    assert validation(running, "s").reason == validation(running, "s").verdict.code == "constant"
    with pytest.raises(Invalid, match="left out"):
        validation(running, "s", "cost")


def test_predictions_are_finite_for_extreme_results(running: Service) -> None:
    create(running, definition())
    values = [1e300, -1e300, 1e-300, 0.0, 5.0, 1e8, -3.0, 2.0, 7.5]
    observe_batch(running, "s", [Value(v, parameters={"x": n / 9, "y": 1.0}) for n, v in enumerate(values)])
    found = validation(running, "s")
    numbers = [number for each in found.items for number in (each.mean, each.std, each.lcb, each.ucb, each.tail)]
    assert all(map(math.isfinite, numbers))
    assert assessment(running, "s").results == 9


def test_a_best_result_beyond_its_natural_bound_is_a_warning_and_no_reason_to_stop(running: Service) -> None:
    """A typing error is accepted up to the range beyond a bound, since results are noisy."""
    bounds = {"value": {"low": 0.0, "high": 100.0, "unit": "%"}}
    create(running, definition(parameters=LAB, direction="maximize", quantities=bounds))
    grown(running, 12)
    observe(running, "s", Value(150.0, parameters={"temperature": 80.0, "catalyst": "XPhos", "dye": 0.1}))
    found = assessment(running, "s")
    assert found.checks[0].check == "beyond_bounds"
    assert "The best result is 150\xa0%, beyond the natural bound of 100\xa0%." in found.checks[0].text
    assert found.outlook.text.startswith(
        "Check the best result first: it is beyond the natural bound of the objective."
    )
    assert "gain of" not in found.outlook.text


def test_nothing_that_the_model_has_learned_is_shown_before_there_are_enough_results(running: Service) -> None:
    """It may change with each of the first results."""
    create(running, definition(parameters=LAB))
    grown(running, 11)
    early, point = assessment(running, "s"), recommendation(running, "s")
    assert [each.text for each in early.checks] == [
        "Few results: 11, for 3 parameters that vary. The model needs 1 more result to compare parameters and to bound "
        "the remaining gain."
    ]
    assert early.outlook.fewest == 12
    assert early.progress.best == point.observed is not None
    assert (early.progress.expected, early.progress.repeat_std, early.progress.repetition) == (None, None, None)
    assert (point.model is None, point.reason, point.gap) == (False, "too_few_results", None)
    assert (importance(running, "s").parameters, importance(running, "s").reason) == ([], "too_few_results")
    assert early.verdicts[""].text.endswith(" trust the model: it needs 1 more result.")
    assert early.findings is not None
    assert (early.findings.importances, early.findings.text) == ({}, "Never tried: catalyst PPh3.")
    assert Overview(running).history("s")["results"][0]["expected"] is None
    grown(running, 1)
    later, point = assessment(running, "s"), recommendation(running, "s")
    assert later.findings is not None
    assert re.match(r"\w+ matters most\.", later.findings.text)
    assert later.progress.expected is not None
    assert later.progress.repetition is not None
    assert point.model is not None
    assert point.reason is None
    assert importance(running, "s").reason is None


def test_unusual_result_is_named_by_what_the_model_expected(running: Service) -> None:
    """The stored prediction of the trial decides; a result that is not surprising has no warning."""
    create(running, definition(parameters=LAB, direction="maximize", quantities={"value": {"unit": "%"}}))
    grown(running, 24)
    (trial,) = suggest(running, "s", Ask()).view.trials
    assert trial.expected is not None
    assert trial.expected.mean is not None
    usual = round(trial.expected.mean, 1)
    observe(running, "s", Value(usual, trial.number))
    assert stored(running, "s", 25) == Stored(f"{usual:g}\xa0%", "")
    (trial,) = suggest(running, "s", Ask()).view.trials
    observe(running, "s", Value(usual / 10.0, trial.number))
    found = stored(running, "s", 26)
    assert found.numbers.endswith("\xa0%")
    assert re.fullmatch(
        r"This is unusual: the model expected a result between \d[\d.]* and \d[\d.]*\s% \(99%\)\. "
        r"Check the number and its decimal point\.",
        found.warning,
    )


def test_a_prediction_from_too_few_results_accuses_no_result(running: Service, clock: ManualClock) -> None:
    """The first trials of a study rest on one or two results, which say little about other points."""
    create(running, definition(parameters=LAB, direction="maximize", quantities={"value": {"unit": "%"}}))
    point = {"temperature": 90.0, "catalyst": "XPhos", "dye": 0.1}
    observe_batch(running, "s", [Value(value, parameters=point) for value in (58.0, 58.1, 57.9)])
    (trial,) = suggest(running, "s", Ask()).view.trials
    assert trial.expected is not None
    assert trial.expected.lcb is not None
    assert trial.expected.lcb > 45.0
    observe(running, "s", Value(35.0, trial.number))
    clock.advance(1)
    grown(running, 10, seed=1)
    assert stored(running, "s", 4).warning == ""


def test_own_result_is_unusual_far_outside_the_range_of_all_others(running: Service) -> None:
    create(running, definition(parameters=LAB, direction="maximize", quantities={"value": {"low": 0}}))
    grown(running, 12)
    values = [each.value for each in validation(running, "s").items]
    point = {"temperature": 50.0, "catalyst": "PPh3", "dye": 0.1}
    observe(running, "s", Value(max(values) + 2.0, parameters=point))
    assert stored(running, "s", 13).warning == ""
    observe(running, "s", Value(10.0 * max(values), parameters={**point, "dye": 0.2}))
    found = stored(running, "s", 14)
    assert found.warning.startswith("This is unusual: all other results are between ")
    assert found.warning.endswith("decimal point.")


def test_one_result_does_not_change_the_digits_of_all(running: Service) -> None:
    """Its own decimals remain, and a mean has those of most results."""
    create(running, definition(parameters=LAB, direction="maximize"))
    grown(running, 12)
    correct(running, "s", 4, {"value": 8.53})
    best = get(running, "s").best
    assert best is not None
    found = assessment(running, "s").progress.text
    assert found.startswith(f"The best of 12 results is {best.value:.1f}.")
    correct(running, "s", 4, {"value": 98.53})
    assert assessment(running, "s").progress.text.startswith("The best of 12 results is 98.53.")


def test_repetition_is_unusual_far_from_the_first_result(running: Service) -> None:
    create(running, definition(parameters=LAB, direction="maximize"))
    grown(running, 12)
    best = get(running, "s").best
    assert best is not None
    observe(running, "s", Value(best.value - 1.0, parameters=best.parameters))
    assert stored(running, "s", 13).warning == ""
    observe(running, "s", Value(best.value / 10.0, parameters=best.parameters))
    first = next(each.observation for each in validation(running, "s").items if each.value == best.value)
    assert stored(running, "s", 14).warning == (
        f"This is unusual: at the same point, own result R{first} and own result R13 gave {best.value - 0.5:.4g} on "
        "average. Check the number and its decimal point."
    )


def test_only_the_one_of_two_results_is_accused_that_the_model_did_not_expect(
    running: Service, clock: ManualClock
) -> None:
    create(running, definition(parameters=LAB, direction="maximize"))
    grown(running, 24)
    clock.advance(1)
    (trial,) = suggest(running, "s", Ask()).view.trials
    assert trial.expected is not None
    assert trial.expected.mean is not None
    right = round(trial.expected.mean, 1)
    observe(running, "s", Value(right / 10.0, trial.number))
    queue(running, "s", trial.parameters)
    (again,) = suggest(running, "s", Ask()).view.trials
    observe(running, "s", Value(right, again.number))
    assert warnings(running, "s", [25, 26]) == {
        25: f"This is unusual: at the same point, trial {again.number} gave {right:.4g}. "
        "Check the number and its decimal point."
    }


def test_a_doubted_result_is_named_beside_the_repetition_that_contradicts_it(running: Service) -> None:
    create(running, definition(parameters=LAB[:1], direction="maximize", robust=True))
    batch = [
        Value(round(70.0 - (each - 60.0) ** 2 / 40.0, 1), parameters={"temperature": each})
        for each in range(20, 100, 6)
    ]
    observe_batch(running, "s", batch)
    (trial,) = suggest(running, "s", Ask(fixed={"temperature": 31.0})).view.trials
    observe(running, "s", Value(140.0, trial.number))
    queue(running, "s", trial.parameters)
    (again,) = suggest(running, "s", Ask()).view.trials
    observe(running, "s", Value(49.0, again.number))
    (told,) = (each.text for each in assessment(running, "s").checks if each.check == "outlier")
    assert told == (
        "The result of trial 1 is 140.0, but at the same point, trial 2 gave 49, and the model expects 49 given the "
        "others. The model gives this result less weight. If it is wrong, correct or exclude it."
    )
    assert list(warnings(running, "s", [15, 16])) == [15]
    assert assessment(running, "s").progress.is_doubted
    correct(running, "s", 15, {"excluded": True})
    assert not assessment(running, "s").progress.is_doubted


@pytest.mark.parametrize("direction", some(["minimize", "maximize"], ["minimize"]))
def test_choices_are_compared_by_what_the_results_show(running: Service, direction: str) -> None:
    """A choice with many bad results is worse, one with many good results is about as good, and of one without results
    nothing is known."""
    sign = 1.0 if direction == "maximize" else -1.0
    ligands = {"XPhos": 80.0, "SPhos": 79.5, "PPh3": 40.0, "dppf": 30.0}
    parameters = [LAB[0], {"name": "ligand", "kind": "categorical", "choices": [*ligands, "untried"]}]
    create(running, definition(parameters=parameters, direction=direction))
    rng = np.random.default_rng(0)
    batch = []
    for number in range(40):
        ligand = list(ligands)[number % 4]
        temperature = round(rng.uniform(20, 100))
        value = sign * (ligands[ligand] - 0.01 * (temperature - 60) ** 2 + 0.3 * rng.normal())
        batch.append(Value(round(value, 1), parameters={"temperature": temperature, "ligand": ligand}))
    observe_batch(running, "s", batch)
    found = assessment(running, "s").findings
    assert found is not None
    first, *rest = found.text.splitlines()
    good = "Best: [XS]Phos. About as good: [XS]Phos. Worse: PPh3, dppf. Not ruled out: untried"
    assert re.fullmatch(rf"ligand matters most. {good}.", first)
    assert rest[-1] == "Never tried: ligand untried."


@pytest.mark.long
def test_a_choice_is_called_worse_only_with_comparable_results(running: Service) -> None:
    """DMAc is bad with the bad ligand, which says little about DMAc with the good one."""
    with_bad = {"toluene": 30.0, "dioxane": 30.0, "water": 10.0, "DMAc": 5.0}
    with_good = {"toluene": 60.0, "dioxane": 59.5, "water": 40.0}
    parameters = [
        {"name": "solvent", "kind": "categorical", "choices": [*with_bad]},
        {"name": "ligand", "kind": "categorical", "choices": ["XPhos", "PPh3"]},
        LAB[0],
    ]
    create(running, definition(parameters=parameters, direction="maximize"))
    rng = np.random.default_rng(0)
    batch = []
    for _ in range(8):
        for ligand, values in (("PPh3", with_bad), ("XPhos", with_good)):
            for solvent, value in values.items():
                point = {"solvent": solvent, "ligand": ligand, "temperature": round(rng.uniform(20, 100))}
                batch.append(Value(round(value + 0.5 * rng.normal(), 1), parameters=point))
    observe_batch(running, "s", batch)

    def told() -> str:
        found = assessment(running, "s").findings
        assert found is not None
        return next(line for line in found.text.splitlines() if line.startswith("solvent"))

    assert told().endswith(
        " Worse: water. Predicted to be worse, but not yet tried with the best values of the other parameters: DMAc."
    )
    point = {"solvent": "DMAc", "ligand": "XPhos", "temperature": 60}
    observe_batch(running, "s", [Value(value, parameters=point) for value in (35.0, 35.5, 34.5)])
    assert told().endswith(" Worse: water, DMAc.")


@pytest.mark.parametrize(
    ("direction", "seed"), some([("minimize", 0), ("maximize", 1), ("minimize", 2)], [("maximize", 1)])
)
def test_where_a_number_is_good_follows_from_the_results(running: Service, direction: str, seed: int) -> None:
    """Of a function with a known optimum: the best value is near it, and at the named ends it is indeed worse."""
    rng = np.random.default_rng(seed)
    optimum, sign = rng.uniform(-3.4, -1.6), 1.0 if direction == "maximize" else -1.0
    rate = {"name": "rate", "kind": "float", "low": 1e-5, "high": 1, "scale": "log", "unit": "1/s"}

    def loss(exponent: float) -> float:
        return float((exponent - optimum) ** 2)

    create(running, definition(parameters=[rate, LAB[0]], direction=direction))
    exponents = rng.uniform(-5, 0, 40)
    points = [{"rate": 10.0**each, "temperature": round(rng.uniform(20, 100))} for each in exponents]
    values = [-sign * (loss(each) + 0.05 * rng.normal()) for each in exponents]
    observe_batch(running, "s", [Value(value, parameters=at) for value, at in zip(values, points, strict=True)])
    found = assessment(running, "s").findings
    assert found is not None
    number = r"([\d.]+)\N{NO-BREAK SPACE}1/s"
    told = re.search(
        rf"^rate matters most\. Best near {number}; worse below {number} and above {number}.$", found.text, re.M
    )
    assert told, found.text
    best, low, high = (math.log10(float(each)) for each in told.groups())
    assert abs(best - optimum) < 0.3
    assert low < optimum < high
    extent = max(values) - min(values)
    assert min(loss(low), loss(high)) > 0.07 * extent, "worse by a tenth of the range of all results, or nearly"
    assert max(loss(low), loss(high)) < 0.3 * extent, "not only far from the optimum"


def test_where_a_number_is_worse_is_said_only_where_it_is_so(running: Service) -> None:
    """Above 60 °C, nothing changes, and of ordered values, the good and the worse ones are named."""
    pressure = {"name": "pressure", "kind": "ordinal", "values": [1, 5, 10], "unit": "bar"}
    create(running, definition(parameters=[LAB[0] | {"unit": "°C"}, pressure], direction="maximize"))
    rng = np.random.default_rng(3)
    batch = []
    for number in range(36):
        temperature, bar = round(rng.uniform(20, 100)), (1, 5, 10)[number % 3]
        value = min(temperature, 60) - 20.0 * (bar == 1) + 0.3 * rng.normal()
        batch.append(Value(round(value, 1), parameters={"temperature": temperature, "pressure": bar}))
    observe_batch(running, "s", batch)
    found = assessment(running, "s").findings
    assert found is not None
    told = re.search(r"temperature matters \w+\. Best near (\d+)\W°C; worse below (\d+)\W°C\.", found.text)
    assert told, found.text
    assert float(told[1]) > 55
    assert 40 < float(told[2]) < 60
    assert re.search(
        r"pressure matters [\w ]+\. Best: (5|10)\Wbar\. About as good: (5|10)\Wbar\. Worse: 1\Wbar\.", found.text
    )


@pytest.mark.long
def test_parameter_that_matters_at_the_best_point_is_not_called_idle(running: Service) -> None:
    """A solvent that matters only together with the best ligand explains little of the variance of the whole space."""
    ligands = [f"ligand {number}" for number in range(24)]
    parameters = [
        {"name": "ligand", "kind": "categorical", "choices": ligands},
        {"name": "solvent", "kind": "categorical", "choices": ["DMAc", "water"]},
        LAB[0],
    ]
    create(running, definition(parameters=parameters, direction="maximize"))
    batch = []
    for number in range(96):
        solvent = ["DMAc", "water"][number // 24 % 2]
        point = {"ligand": ligands[number % 24], "solvent": solvent, "temperature": 20 + number % 80}
        value = 3.0 * (number % 24) + (30.0 if number % 24 == 23 and solvent == "DMAc" else 0.0)
        batch.append(Value(value, parameters=point))
    observe_batch(running, "s", batch)
    found = assessment(running, "s").findings
    assert found is not None
    (solvent_share,) = (each.total for each in found.importances[""] if each.name == "solvent")
    assert solvent_share < 0.05
    assert "temperature hardly matters" in found.text
