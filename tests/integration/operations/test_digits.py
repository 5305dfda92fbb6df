"""Numbers with their significant digits."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabkb_service.contract.assessment import Outlook
from adabkb_service.operations.model import assessment_in_words as words
from adabkb_service.operations.words.digits import Digits, difference

FLOATS = st.floats(-1e308, 1e308)


@pytest.mark.parametrize(
    ("low", "high", "decimals", "value", "shown"),
    [
        (12.5, 82.4, 1, 82.4, "82.4"),
        (12.5, 82.4, 1, 80.0, "80.0"),
        (0.1, 0.9, 16, 0.9123456789, "0.9123"),
        (0.1, 0.9, 16, 0.00012345, "0.000123"),
        (1e5, 3e6, 0, 1234567.0, "1235000"),
        (3.0, 3.0, 1, 3.0, "3.0"),
        (1e-9, 9e-9, 12, 2.345678e-9, "2.35e-9"),
        (-1e300, 1e300, 0, 1e300, "1e+300"),
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
        (0, 1234.5, 210.0, "1230\xa0±\xa0210"),
        (16, -1.6e-5, 0.00049, "-0.00002\xa0±\xa00.00049"),
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
    assert math.isclose(float(shown), value, rel_tol=0.01, abs_tol=finest)


@pytest.mark.parametrize(
    ("gap", "noise", "room", "answer"),
    [
        (0.5, 1.0, None, "You can probably stop. "),
        (0.5, 0.1, 60.0, "It is probably too early to stop. "),
        (0.5, None, None, "According to the model, "),
        (6.3, 1.0, 6.3, "This cannot be said yet: "),
        (0.0, 1.0, 0.0, "You can probably stop. "),
        (None, 1.0, 6.3, "The remaining gain is unknown so far: "),
    ],
)
def test_advice_to_stop_follows_from_the_gap_and_the_noise(
    gap: float | None, noise: float | None, room: float | None, answer: str
) -> None:
    reason = "not_known_yet" if gap is None else None
    found = Outlook(text="", gap=gap, probability=0.9, reason=reason, fewest=9, noise=noise, results_since_best=0)
    assert words.outlook(found, 20, "", "%", room).startswith(answer)
