"""Fronts and hypervolumes agree with their definitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from adabkb_service.engine.auto.acquisition import pareto

Array = NDArray[np.float64]


@st.composite
def points(draw: st.DrawFn) -> Array:
    """A few points with 2 to 4 objectives and many ties, some worse than the reference 0."""
    objectives, count = draw(st.integers(2, 4)), draw(st.integers(1, 6))
    numbers = st.integers(-1, 4)
    rows = draw(st.lists(st.tuples(*[numbers] * objectives), min_size=count, max_size=count))
    return np.array(rows, dtype=float)


def by_inclusion_and_exclusion(values: Array) -> float:
    total, boxes = 0.0, np.maximum(values, 0.0)
    for size in range(1, len(boxes) + 1):
        for some in combinations(boxes, size):
            total -= (-1.0) ** size * float(np.prod(np.min(some, axis=0)))
    return total


@given(points())
@settings(max_examples=60, deadline=None)
def test_hypervolume_is_that_of_the_union_of_boxes(values: Array) -> None:
    zero = np.zeros(values.shape[1])
    assert pareto.hypervolume(values, zero) == pytest.approx(by_inclusion_and_exclusion(values))
    expected = [by_inclusion_and_exclusion(values[: count + 1]) for count in range(len(values))]
    np.testing.assert_allclose(pareto.growth(values, zero), expected, atol=1e-9)


@given(points())
@settings(max_examples=40, deadline=None)
def test_front_contains_the_nondominated_points(values: Array) -> None:
    dominated = [any((other >= one).all() and (other > one).any() for other in values) for one in values]
    assert pareto.front(values).tolist() == [not each for each in dominated]


def test_front_probability_matches_the_draws() -> None:
    means, normals = np.array([[1.0, 1.0], [0.0, 0.0]]), np.random.default_rng(0).normal(size=(4000, 2, 2))
    sure = pareto.on_front_probability(means, np.zeros((2, 2)), normals)
    assert sure.tolist() == [1.0, 0.0]
    alike = pareto.on_front_probability(np.zeros((2, 2)), np.ones((2, 2)), normals)
    np.testing.assert_allclose(alike, 0.75, atol=0.03)  # either point dominates the other with probability 1/4
