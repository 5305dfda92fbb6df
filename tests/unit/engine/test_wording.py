"""Suggestions for misspelled names."""

from __future__ import annotations

import pytest

from adabkb_service.engine.wording import MAX_COMPARED_LENGTH, nearest


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("no_gain", ["min_gain", "no_gain_for"], "no_gain_for"),
        ("no_gain", ["no_gain_for", "min_gain"], "no_gain_for"),
        ("budgte", ["tolerance", "Budget"], "Budget"),
        ("x", ["xylophone"], None),
        ("x", [], None),
        ("a" * MAX_COMPARED_LENGTH + "a", ["a" * MAX_COMPARED_LENGTH], None),
    ],
)
def test_the_nearest_name_is_one_that_begins_so_or_else_the_most_similar(
    name: str, known: list[str], found: str | None
) -> None:
    assert nearest(name, known) == found
