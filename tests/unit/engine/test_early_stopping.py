"""The early-stopping rules: pure functions of a trial's curve and of the values of other trials."""

from __future__ import annotations

import math
import random

from adabkb_service.engine.early_stopping import Curve, Rule, extended, extrapolated


def curve_of(values: list[float], sign: float = 1.0, min_gain: float = 0.0) -> Curve:
    curve = None
    for step, value in enumerate(values, 1):
        curve = extended(curve, step, value, sign, min_gain)
    assert curve is not None
    return curve


def test_asha_compares_at_the_highest_rung_that_a_report_has_reached() -> None:
    rule = Rule("asha", max_steps=81, sign=1.0, min_steps=1, eta=3)
    assert {step: mark for step in range(100) if (mark := rule.mark(step - 1, step))} == {
        rung: rung for rung in (1, 3, 9, 27)
    }
    assert rule.mark(0, 12) == 9
    assert rule.mark(9, 12) is None


def test_asha_continues_about_one_in_eta_for_either_direction() -> None:
    """With trials in random order."""
    draw = random.Random(1)
    for sign in (1.0, -1.0):
        rule = Rule("asha", max_steps=81, sign=sign, eta=3)
        others: list[float] = []
        kept = 0
        for _ in range(300):
            value = draw.random()
            kept += rule.verdict(curve_of([value]), others) is None
            others.append(value)
        assert 80 <= kept <= 120
        assert rule.verdict(curve_of([sign * 2.0]), others) is None
        reason = rule.verdict(curve_of([-sign * 2.0]), others)
        assert reason == "At step 1 it has place 301 of 301 trials, of which the best 100 continue."


def test_asha_stops_no_trial_before_enough_others_have_reported() -> None:
    rule = Rule("asha", max_steps=9, sign=-1.0, after_trials=4)
    assert rule.verdict(curve_of([9.0]), [1.0] * 3) is None
    assert rule.verdict(curve_of([9.0]), [1.0] * 4) is not None


def test_median_rule_compares_the_best_value_with_the_median_of_others() -> None:
    rule = Rule("median", max_steps=10, sign=-1.0, min_steps=2, after_trials=3)
    assert [rule.mark(step - 1, step) for step in (1, 2, 9, 10)] == [None, 2, 9, None]
    others = [1.0, 2.0, 3.0]
    assert rule.verdict(curve_of([2.0, 9.0], -1.0), others) is None
    assert rule.verdict(curve_of([2.5, 9.0], -1.0), others[:2]) is None
    reason = rule.verdict(curve_of([2.5, 9.0], -1.0), others)
    assert reason == "Its best value up to step 2, 2.5, is worse than 2, the median of 3 other trials at that step."


def test_patience_ends_after_steps_without_a_sufficient_gain() -> None:
    rule = Rule("patience", max_steps=100, sign=-1.0, no_gain_for=3, min_gain=0.5)
    values = [5.0, 4.0, 3.75, 3.6]  # the improvement since step 2 is 0.4, which is too small
    assert rule.verdict(curve_of(values, -1.0, 0.5), []) is None
    assert curve_of([*values, 3.45], -1.0, 0.5)["gain_step"] == 5  # the improvement since step 2 is 0.55
    reason = rule.verdict(curve_of([*values, 3.6], -1.0, 0.5), [])
    assert reason == "Its value has not improved for 3 steps, since step 2."
    assert [rule.mark(step - 1, step) for step in range(100)] == [None] * 100


def test_no_rule_applies_before_the_first_steps_and_at_the_last_one() -> None:
    rule = Rule("patience", max_steps=9, sign=1.0, min_steps=4)
    assert [step for step in range(12) if rule.may_stop(step)] == [4, 5, 6, 7, 8]


def test_stopped_trial_is_extrapolated_from_completed_ones() -> None:
    at_mark = {1: 4.0, 2: 3.0, 3: 6.0, 4: 5.0}
    value, std_error = extrapolated(6.0, at_mark, {1: 2.0, 2: 2.0, 4: 2.0, 9: 7.0})
    assert value == 6.0 - 2.0
    assert math.isclose(std_error**2, 1.0 * 4 / 3)  # the variance of the changes, and of their mean
    for results, expected in (({1: 2.0}, 4.0), ({}, 6.0)):  # too few results to estimate the variance
        value, std_error = extrapolated(6.0, at_mark, results)
        assert value == expected
        assert math.isclose(std_error**2, 1.25)


def test_estimate_of_extreme_values_is_finite() -> None:
    huge = 1.7e308
    for at_mark, results in (({1: huge, 2: -huge, 3: huge}, {1: -huge, 2: huge}), ({1: huge, 3: -huge}, {})):
        assert all(map(math.isfinite, extrapolated(huge, at_mark, results)))
