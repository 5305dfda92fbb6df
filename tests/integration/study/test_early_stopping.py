"""The early-stopping rules: pure functions of a trial's curve and of the values of other trials."""

from __future__ import annotations

import math
import random

from adabkb_service.contract.early_stopping import AshaRule, MedianRule, PatienceRule, extended
from adabkb_service.storage.columns import Curve
from adabkb_service.study.curves import extrapolated


def curve_of(values: list[float], sign: float = 1.0, rule: PatienceRule | None = None) -> Curve:
    curve = None
    for step, value in enumerate(values, 1):
        curve = extended(curve, step, value, rule, sign)
    assert curve is not None
    return curve


def test_asha_compares_at_the_highest_rung_that_a_report_has_reached() -> None:
    rule = AshaRule(rule="asha", max_steps=81, min_steps=1, eta=3)
    assert {step: mark for step in range(100) if (mark := rule.mark(step - 1, step))} == {
        rung: rung for rung in (1, 3, 9, 27)
    }
    assert rule.mark(0, 12) == 9
    assert rule.mark(9, 12) is None


def test_asha_continues_about_one_in_eta_for_either_direction() -> None:
    """With trials in random order."""
    rule, draw = AshaRule(rule="asha", max_steps=81, eta=3), random.Random(1)
    for sign in (1.0, -1.0):
        others: list[float] = []
        kept = 0
        for _ in range(300):
            value = draw.random()
            kept += rule.verdict(curve_of([value]), others, sign) is None
            others.append(value)
        assert 80 <= kept <= 120
        assert rule.verdict(curve_of([sign * 2.0]), others, sign) is None
        reason = rule.verdict(curve_of([-sign * 2.0]), others, sign)
        assert reason == "At step 1 it has place 301 of 301 trials, of which the best 100 continue."


def test_asha_stops_no_trial_before_enough_others_have_reported() -> None:
    rule = AshaRule(rule="asha", max_steps=9, after_trials=4)
    assert rule.verdict(curve_of([9.0]), [1.0] * 3, -1.0) is None
    assert rule.verdict(curve_of([9.0]), [1.0] * 4, -1.0) is not None


def test_median_rule_compares_the_best_value_with_the_median_of_others() -> None:
    rule = MedianRule(rule="median", max_steps=10, min_steps=2, after_trials=3)
    assert [rule.mark(step - 1, step) for step in (1, 2, 9, 10)] == [None, 2, 9, None]
    others = [1.0, 2.0, 3.0]
    assert rule.verdict(curve_of([2.0, 9.0], -1.0), others, -1.0) is None
    assert rule.verdict(curve_of([2.5, 9.0], -1.0), others[:2], -1.0) is None
    reason = rule.verdict(curve_of([2.5, 9.0], -1.0), others, -1.0)
    assert reason == "Its best value up to step 2, 2.5, is worse than 2, the median of 3 other trials at that step."


def test_patience_ends_after_steps_without_a_sufficient_gain() -> None:
    rule = PatienceRule(rule="patience", max_steps=100, no_gain_for=3, min_gain=0.5)
    values = [5.0, 4.0, 3.75, 3.6]  # the improvement since step 2 is 0.4, which is too small
    assert rule.verdict(curve_of(values, -1.0, rule), [], -1.0) is None
    assert curve_of([*values, 3.45], -1.0, rule)["gain_step"] == 5  # the improvement since step 2 is 0.55
    reason = rule.verdict(curve_of([*values, 3.6], -1.0, rule), [], -1.0)
    assert reason == "Its value has not improved for 3 steps, since step 2."


def test_no_rule_applies_before_the_first_steps_and_at_the_last_one() -> None:
    rule = PatienceRule(rule="patience", max_steps=9, min_steps=4, no_gain_for=1)
    assert [step for step in range(12) if rule.may_stop(step)] == [4, 5, 6, 7, 8]


def test_stopped_trial_is_extrapolated_from_completed_ones() -> None:
    at_mark = {1: 4.0, 2: 3.0, 3: 6.0, 4: 5.0}
    found = extrapolated(6.0, at_mark, {1: 2.0, 2: 2.0, 4: 2.0, 9: 7.0})
    assert found["value"] == 6.0 - 2.0
    assert math.isclose(found["std_error"] ** 2, 1.0 * 4 / 3)  # the variance of the changes, and of their mean
    for results, expected in (({1: 2.0}, 4.0), ({}, 6.0)):  # too few results to estimate the variance
        vague = extrapolated(6.0, at_mark, results)
        assert vague["value"] == expected
        assert math.isclose(vague["std_error"] ** 2, 1.25)


def test_estimate_of_extreme_values_is_finite() -> None:
    huge = 1.7e308
    for at_mark, results in (({1: huge, 2: -huge, 3: huge}, {1: -huge, 2: huge}), ({1: huge, 3: -huge}, {})):
        found = extrapolated(huge, at_mark, results)
        assert math.isfinite(found["value"])
        assert math.isfinite(found["std_error"])
