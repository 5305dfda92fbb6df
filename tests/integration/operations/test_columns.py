"""Columns of tables in words."""

from __future__ import annotations

import pytest

from adabkb_service.operations.words.columns_in_words import aligned


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
