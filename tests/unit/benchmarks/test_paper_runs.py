"""The authors' functions, and the first 150 steps of their runs of Ada-BKB, which match the committed results."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.paper import authors, store
from benchmarks.paper.functions import FUNCTIONS
from benchmarks.paper.runs import Run, run
from tests.samples import some

SHORT = 150
TARGET = 1.1
EXPLAINED = {"Hartmann_3", "SixHumpCamel", "Trid_2"}
"""Functions that miss the aim; docs/paper.md explains why."""

COMMITTED = store.load()


def short_run(name: str) -> Run:
    return run(FUNCTIONS[name], authors.config(name), SHORT, seed=0, noise_std=authors.noise_std(name))


@pytest.mark.parametrize("name", some(FUNCTIONS, list(FUNCTIONS)[::6]))
def test_short_run_matches_the_start_of_the_committed_run(name: str) -> None:
    """Compares regret, leaf set and early stop at the same steps."""
    committed = COMMITTED["functions", name, "ada-bkb", 0]
    short = short_run(name)
    there = [count for count in committed["at"] if count <= SHORT]
    began = [committed["leaves"][committed["at"].index(count)] for count in there]
    assert [short.leaves[short.at.index(count)] for count in there] == began
    at_end = committed["regrets"][committed["at"].index(SHORT)]
    assert short.average_regret == pytest.approx(at_end, rel=1e-3)
    if committed["first_early_stop"] is not None and committed["first_early_stop"] <= SHORT:
        assert short.first_early_stop == committed["first_early_stop"]


def test_committed_regrets_meet_the_target_except_explained_ones() -> None:
    """At most 1.1 times the authors' average regret, on at least 13 of the 16 functions with published traces."""
    missed = set()
    traced = {name: found for name in FUNCTIONS if (found := authors.results(name)) is not None}
    for name, measured in traced.items():
        regrets = [COMMITTED["functions", name, "ada-bkb", seed]["average_regret"] for seed in range(5)]
        if np.mean(regrets) > TARGET * measured["average_regret"]:
            missed.add(name)
    assert missed == EXPLAINED
    assert len(traced) - len(missed) >= 13


@pytest.mark.parametrize("name", FUNCTIONS)
def test_minimum_is_attained_and_no_value_is_below_it(name: str) -> None:
    function = FUNCTIONS[name]
    minimizer = np.array(function.minimizer)
    low, high = np.array(function.box).T
    assert np.all((low <= minimizer) & (minimizer <= high))
    assert function.regret(minimizer) == pytest.approx(0.0, abs=1e-9)

    around = minimizer + np.random.default_rng(0).normal(0.0, 1e-2, (1000, function.dimension))
    everywhere = np.random.default_rng(1).uniform(low, high, (1000, function.dimension))
    assert min(function.regret(x) for x in (*around, *everywhere)) >= -1e-9
