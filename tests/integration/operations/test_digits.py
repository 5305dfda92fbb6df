"""Numbers with their significant digits."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabkb_service.contract.analysis import ParameterImportance
from adabkb_service.contract.assessment import Outlook
from adabkb_service.contract.quantities import Quantity
from adabkb_service.operations.model import assessment_in_words as words
from adabkb_service.operations.words.digits import Digits, difference
from adabkb_service.operations.words.labels import Labels
from adabkb_service.operations.words.values_in_words import as_typed

YIELD = Quantity(unit="%", low=0, high=100)
FLOATS = st.floats(-1e308, 1e308)


@pytest.mark.parametrize(
    ("low", "high", "decimals", "value", "shown"),
    [
        (12.5, 82.4, 1, 82.4, "82.4"),
        (12.5, 82.4, 1, 80.0, "80.0"),
        (0.1, 0.9, 16, 0.9123456789, "0.9123"),
        (0.1, 0.9, 16, 0.00012345, "0.000123"),
        (1e5, 3e6, 0, 1234567.0, "1.235×10⁶"),
        (3.0, 3.0, 1, 3.0, "3.0"),
        (1e-9, 9e-9, 12, 2.345678e-9, "2.35×10⁻⁹"),
        (-1e300, 1e300, 0, 1e300, "1×10³⁰⁰"),
        (0.0, 5.0, 3, -0.0, "0.000"),
    ],
)
def test_results_are_rounded_by_their_decimals_and_range(
    low: float, high: float, decimals: int, value: float, shown: str
) -> None:
    assert Digits(low, high, decimals).result(value) == shown


@pytest.mark.parametrize(
    ("decimals", "mean", "std", "shown"),
    [
        (1, 81.9234, 1.4567, "81.9\xa0±\xa01.5"),
        (1, 81.9234, 0.0345, "81.92\xa0±\xa00.03"),
        (16, 0.91234, 0.00456, "0.9123\xa0±\xa00.0046"),
        (0, 1234.5, 210.0, "1\N{NARROW NO-BREAK SPACE}230\xa0±\xa0210"),
        (16, -1.6e-5, 0.00049, "\N{MINUS SIGN}0.00002\xa0±\xa00.00049"),
    ],
)
def test_estimates_have_two_digits_of_their_deviation(decimals: int, mean: float, std: float, shown: str) -> None:
    assert Digits(0.0, 100.0, decimals).estimate(mean, std) == shown


@given(FLOATS, FLOATS, FLOATS, FLOATS.map(abs), st.integers(0, 20))
def test_all_numbers_are_short(one: float, other: float, value: float, std: float, decimals: int) -> None:
    """The rounding error is at most a thousandth of the range or of the number."""
    digits = Digits(min(one, other), max(one, other), decimals)
    shown = digits.result(value)
    assert len(shown) <= 24
    assert len(digits.estimate(value, std)) <= 60
    assert len(difference(std)) <= 24
    finest = max(abs(value) / 200, 0.5 * 10.0**-decimals, abs(one / 1000 - other / 1000))
    assert math.isclose(float(as_typed(shown)), value, rel_tol=0.01, abs_tol=finest)


@pytest.mark.parametrize(
    ("gap", "noise", "room", "answer"),
    [
        (0.5, 1.0, None, "You can probably stop. According to the model, "),
        (0.5, 0.1, 60.0, "It is probably too early to stop. According to the model, "),
        (15.0, None, None, "It is probably too early to stop. According to the model, "),
        (
            5.0,
            None,
            None,
            "You can stop unless a gain of 5.0\xa0percentage points is worth more trials. According to the model, ",
        ),
        (0.5, None, None, "You can probably stop. According to the model, "),
        (
            6.3,
            1.0,
            6.3,
            "It is probably too early to stop. The model cannot rule out the best possible result, 100\xa0%: a gain ",
        ),
        (
            6.3,
            7.0,
            6.3,
            "You can stop: at most 6.3\xa0percentage points can be gained, up to the best possible result, 100\xa0%. ",
        ),
        (
            1.7,
            None,
            1.7,
            "You can stop unless a gain of 1.7\xa0percentage points is worth more trials. The model cannot rule out ",
        ),
        (
            None,
            1.0,
            1.7,
            "You can stop unless a gain of 1.7\xa0percentage points is worth more trials. The model cannot rule out ",
        ),
        (
            None,
            7.0,
            0.2,
            "You can stop: at most 0.20\xa0percentage points can be gained, up to the best possible result, 100\xa0%. ",
        ),
        (
            None,
            None,
            0.2,
            "You can stop: at most 0.20\xa0percentage points can be gained, up to the best possible result, 100\xa0%. ",
        ),
        (0.0, 1.0, 0.0, "You can stop: the best result equals the natural bound of the objective."),
        (
            None,
            1.0,
            6.3,
            "It is probably too early to stop. The model cannot rule out the best possible result, 100\xa0%: a gain ",
        ),
        (None, 1.0, None, "It is probably too early to stop. According to the model, the remaining gain may exceed "),
    ],
)
def test_advice_to_stop_follows_from_the_gap_and_the_noise(
    gap: float | None, noise: float | None, room: float | None, answer: str
) -> None:
    """The natural bound of a result is an answer, too, if it is close. The range of all results is 90."""
    reason = "not_known_yet" if gap is None else None
    found = Outlook(text="", gap=gap, probability=0.9, reason=reason, fewest=9, noise=noise, results_since_best=0)
    possible = words.PossibleGain(gap, room, tolerance=None, extent=90.0, quantity=YIELD)
    assert words.outlook(found, 20, "", possible).startswith(answer)


def test_what_is_possible_counts_from_what_the_model_expects_at_the_recommended_point() -> None:
    found = Outlook(text="", gap=0.0056, probability=0.9, reason=None, fewest=9, noise=0.01, results_since_best=0)
    possible = words.PossibleGain(0.0056, None, tolerance=None, extent=0.2, sign=-1.0, expected=0.0802)
    told = words.outlook(found, 60, "", possible)
    assert (
        "it is 90% certain that no point is better than 0.0746 on average. The recommended point has 0.0802, so at "
        "most 0.0056 can be gained." in told
    )
    yields = replace(possible, gap=18.0, quantity=YIELD, sign=1.0, expected=78.4, extent=90.0)
    assert "no point is better than 96\xa0% on average. The recommended point has 78\xa0%, so" in words.outlook(
        found, 60, "", yields
    )
    assert words.outlook(found, 60, "", possible, is_over=True).startswith("The study issues no new trials.")


@pytest.mark.parametrize("is_over", [False, True])
def test_a_best_result_beyond_the_natural_bound_is_to_be_checked_before_a_gain_is_named(is_over: bool) -> None:
    found = Outlook(text="", gap=0.0, probability=0.9, reason=None, fewest=9, noise=None, results_since_best=0)
    possible = words.PossibleGain(2.3, 0.0, tolerance=None, extent=35.0, quantity=YIELD, expected=100.0)
    told = words.outlook(found, 20, "", possible, is_over=is_over, is_beyond=True)
    assert told == ("The study issues no new trials. " if is_over else "") + (
        "Check the best result first: it is beyond the natural bound of the objective. If "
        "repetitions confirm it, and the bound is right, you can stop: nothing more can be gained."
    )


def test_advice_to_stop_does_not_rest_on_a_model_that_predicts_poorly() -> None:
    found = Outlook(text="", gap=0.5, probability=0.9, reason=None, fewest=9, noise=1.0, results_since_best=0)
    possible = words.PossibleGain(0.5, 1.7, tolerance=None, extent=90.0, quantity=YIELD, expected=98.3)
    told = words.outlook(found, 20, "", possible, is_poor=True)
    assert told == (
        "It is too early to say. The model's predictions are hardly better than the median of the other results, so "
        "the remaining gain is unknown. At most 1.7\xa0percentage points can be gained, up to the best possible "
        "result, 100\xa0%."
    )
    small = replace(possible, room=0.5)
    assert words.outlook(found, 20, "", small, is_poor=True).startswith("You can stop: at most 0.50")


def test_an_ended_study_says_what_further_trials_could_have_gained() -> None:
    found = Outlook(
        text="", gap=None, probability=0.9, reason="not_known_yet", fewest=9, noise=1.0, results_since_best=0
    )
    possible = words.PossibleGain(None, 1.7, tolerance=None, extent=90.0, quantity=YIELD)
    assert words.outlook(found, 20, "", possible, is_over=True) == (
        "The study issues no new trials. At most 1.7\xa0percentage points can be gained, up to the best "
        "possible result, 100\xa0%."
    )


def test_a_gain_up_to_the_bound_says_from_where_it_counts() -> None:
    """A best result of 94.7 % by luck does not leave 5.7 percentage points up to 100 %."""
    found = Outlook(
        text="", gap=None, probability=0.9, reason="not_known_yet", fewest=9, noise=1.5, results_since_best=0
    )
    possible = words.PossibleGain(None, 5.7, tolerance=None, extent=90.0, quantity=YIELD, mean=94.3)
    told = "a gain of at most 5.7\xa0percentage points, from the 94.3\xa0% that the model expects at the best point."
    assert words.outlook(found, 32, "", possible).endswith(told)


def test_advice_to_stop_names_the_tolerance_and_the_missing_results() -> None:
    found = Outlook(text="", gap=3.0, probability=0.9, reason=None, fewest=9, noise=None, results_since_best=27)
    within = words.outlook(found, 20, "", words.PossibleGain(3.0, None, tolerance=4.0, extent=90.0, quantity=YIELD))
    assert "You can probably stop." in within
    assert "This is within the study's tolerance, 4.0\xa0percentage points." in within
    beyond = words.outlook(found, 20, "", words.PossibleGain(3.0, None, tolerance=2.0, extent=20.0, quantity=YIELD))
    assert beyond.endswith("The last 27 results brought no improvement, which alone is no reason to stop.")
    early = found.model_copy(update={"gap": None, "reason": "not_known_yet"})
    told = words.outlook(early, 8, "", words.PossibleGain(None, 15.0, tolerance=None, extent=90.0, quantity=YIELD))
    assert "with 9 or more results; there are 8, so 1 more is needed." in told


@pytest.mark.parametrize(
    ("idle", "sentence"),
    [
        ("a", "a hardly matters."),
        ("ab", "a and b hardly matter."),
        ("abc", "a, b and c hardly matter."),
        ("abcd", "4 parameters hardly matter."),
    ],
)
def test_parameters_that_hardly_matter_are_listed_or_counted(idle: str, sentence: str) -> None:
    shares = {"x": 0.9, **dict.fromkeys(idle, 0.01)}
    rows = [
        ParameterImportance(name=name, first_order=share, first_order_error=0.0, total=share, total_error=0.0)
        for name, share in shares.items()
    ]
    told = words.findings({"": rows}, {}, Labels(), idle)
    assert told == f"x matters most.\n{sentence}"
