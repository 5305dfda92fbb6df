"""Generated attacks. ``make test`` sends a sample with every route and every kind; ``make attack`` sends all."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

OF_ATTACKS = pytest.mark.parametrize(
    "is_sample", [pytest.param(True, id="sample"), pytest.param(False, id="all", marks=pytest.mark.long)]
)
"""Marks a test that runs with a sample of its attacks, and with all in ``make attack``."""


def some(values: Iterable[Any], short: Collection[Any]) -> list[Any]:
    """Parameters of a test, of which ``make test`` uses those in ``short``; the others are long tests."""
    values = list(values)
    several = [value if isinstance(value, tuple) else (value,) for value in values]
    marks = [[] if value in short else [pytest.mark.long] for value in values]
    return [pytest.param(*value, marks=mark) for value, mark in zip(several, marks, strict=True)]


def rotated(kinds: Sequence[T], seed: object) -> list[T]:
    """The kinds in a different order for each seed, so that samples that take the next ones in turn cover all of
    them."""
    return random.Random(str(seed)).sample(kinds, len(kinds))
