"""Families of random functions in the quality benchmark: their stated minima are correct, and draws differ."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from adabkb_service.engine.axes import ChoiceAxis
from benchmarks.quality.families.chosen_by import CHOSEN_BY
from benchmarks.quality.families.family import FLOOR, Family
from benchmarks.quality.families.final import FINAL
from tests.samples import some


@pytest.mark.parametrize(
    "family", some([*CHOSEN_BY, *FINAL], [*CHOSEN_BY, *FINAL][::12]), ids=lambda family: family.name
)
def test_minimum_is_zero_and_no_value_is_below_it(family: Family) -> None:
    rng = np.random.default_rng(1)
    for seed in range(2):
        instance = family.draw(seed)
        member = instance.member
        assert member.evaluate(member.minimizer) == pytest.approx(0.0, abs=1e-4 * instance.range)
        positions = instance.space.encode(
            dict(
                zip(
                    (axis.name for axis in instance.space.axes),
                    (
                        axis.choices[int(x)] if isinstance(axis, ChoiceAxis) else float(x)
                        for axis, x in zip(instance.space.axes, member.minimizer, strict=True)
                    ),
                    strict=True,
                )
            )
        )
        near = np.clip(positions + rng.normal(0.0, 1e-3, (100, family.dimension)), 0.0, 1.0)
        everywhere = rng.random((400, family.dimension))
        outcomes = [instance.evaluate(instance.space.decode(point)) for point in (*near, *everywhere)]
        assert min(outcome.value for outcome in outcomes) >= -FLOOR * instance.range
        assert all(max(instance.noise, FLOOR) <= outcome.score < 2.0 for outcome in outcomes)


@pytest.mark.parametrize(
    "family", some([*CHOSEN_BY, *FINAL], [*CHOSEN_BY, *FINAL][::12]), ids=lambda family: family.name
)
def test_seeds_determine_the_function(family: Family) -> None:
    point = np.full(family.dimension, 0.4)
    sent = pickle.loads(pickle.dumps(family))  # as passed to a run in another process
    first, again, other = family.draw(0), sent.draw(0), family.draw(1)
    values = [each.evaluate(each.space.decode(point)).value / each.range for each in (first, again, other)]
    assert values[0] == values[1]
    assert values[0] != values[2]


def test_final_families_are_not_used_for_tuning() -> None:
    assert {family.kind for family in CHOSEN_BY}.isdisjoint(family.kind for family in FINAL)
