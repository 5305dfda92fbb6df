"""Columns of tables in words."""

from __future__ import annotations

import pytest

from adabkb_service.operations.words.columns_in_words import aligned, errors, rounded


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["69", "36.4", "–", ""], ["69.0", "36.4", "–", ""]),
        (["85", "120"], ["85", "120"]),
        (["\N{MINUS SIGN}3", "4.25"], ["\N{MINUS SIGN}3.00", "4.25"]),
        (["1\N{NARROW NO-BREAK SPACE}500", "0.25"], ["1\N{NARROW NO-BREAK SPACE}500", "0.25"]),
        (["1e-5", "0.5", "2"], ["1e-5", "0.5", "2"]),
        (["36.4 ± 1.2", "4", "5.5"], ["36.4 ± 1.2", "4.0", "5.5"]),
    ],
)
def test_numbers_of_a_column_have_equally_many_decimals(texts: list[str], expected: list[str]) -> None:
    """Unless one of them would have more than five digits or has an exponent."""
    assert aligned(texts) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["82.457", "9.1234", "–", "100"], ["82.46", "9.12", "–", "100.00"]),
        (["69", "36.4", ""], ["69.0", "36.4", ""]),
        (["\N{MINUS SIGN}12345.6", "150"], ["\N{MINUS SIGN}12\N{NARROW NO-BREAK SPACE}346", "150"]),
        (["0.0012345", "12.346"], ["0.0012345", "12.346"]),
        (["1e-5", "0.123456"], ["1e-5", "0.123456"]),
    ],
)
def test_results_of_a_column_are_rounded_to_the_same_number_of_decimals(texts: list[str], expected: list[str]) -> None:
    """Unless a small one would have fewer than three digits, or one has an exponent."""
    assert rounded(texts) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, 1.254, None, 0.133], ["0.50", "1.25", "", "0.13"]),
        ([150.0, 12.0, 0.0], ["150", "12", "0"]),
        ([1e-7, 0.5], ["1×10⁻⁷", "0.5"]),
        ([], []),
    ],
)
def test_the_smallest_standard_error_of_a_column_has_two_digits(
    values: list[float | None], expected: list[str]
) -> None:
    assert errors(values) == expected
