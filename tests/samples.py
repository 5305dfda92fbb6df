"""Generated attacks. ``make test`` sends a sample that meets every route and every kind; ``make attack`` sends all."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")

OF_ATTACKS = pytest.mark.parametrize(
    "is_sample", [pytest.param(True, id="sample"), pytest.param(False, id="all", marks=pytest.mark.long)]
)
"""Runs a test with a sample of its attacks, and in ``make attack`` with all."""


def rotated(kinds: Sequence[T], seed: object) -> list[T]:
    """The kinds in an order of their own for each seed: whoever takes the next ones in turn meets all of them."""
    return random.Random(str(seed)).sample(kinds, len(kinds))
