"""The engine makes the same decisions as a literal transcription of the paper, step by step."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings

from adabkb_service.engine.paper import policy as ada_bkb_module
from adabkb_service.engine.paper.policy import ada_bkb
from tests.unit.engine.oracle import Oracle
from tests.unit.engine.strategies import Case, cases

STEPS = 14
MAX_EXPANSIONS = 12


def key(path: tuple[int, ...]) -> str:
    return ".".join(map(str, path))


@settings(max_examples=5)
@given(case=cases())
def test_engine_makes_the_same_decisions_as_the_transcription(case: Case) -> None:
    """On random problems: the same suggested cells, dictionary, leaf set and numbers."""
    with mock.patch.object(ada_bkb_module, "MAX_EXPANSIONS", MAX_EXPANSIONS):
        assert_same_run(case)


@pytest.mark.long
@settings(max_examples=15)
@given(case=cases())
def test_engine_makes_the_same_decisions_on_more_problems(case: Case) -> None:
    with mock.patch.object(ada_bkb_module, "MAX_EXPANSIONS", MAX_EXPANSIONS):
        assert_same_run(case)


def assert_same_run(case: Case) -> None:
    rng = np.random.default_rng(case.seed)
    oracle = Oracle(case.space, case.config, case.seed, MAX_EXPANSIONS)
    state = ada_bkb.start(case.space, case.config, case.seed)
    nothing_pending = np.zeros((0, case.space.dimension))
    for step in range(STEPS):
        if oracle.stopped() or len(oracle.L) > 200:
            break
        suggestion = ada_bkb.suggest(state, nothing_pending)
        cell = oracle.suggest()
        assert suggestion.cell == key(cell.path), f"step {step}"
        assert suggestion.point.tolist() == cell.arm.u
        reward = case.objective(suggestion.point) + case.noise * rng.standard_normal()
        oracle.observe(cell, reward)
        state = ada_bkb.observe(suggestion.state, suggestion.point, reward).state

        leaves = {str(k) for k in state.tree.keys[state.tree.leaves]}
        assert leaves == {key(c.path) for c in oracle.L}
        assert ada_bkb.dictionary(state) == tuple(
            i for i, arm in enumerate(oracle.evaluated) if any(arm is s for s in oracle.S)
        )
        assert ada_bkb.stopped(state) == oracle.stopped()
        np.testing.assert_allclose(state.summary.beta, oracle.beta, rtol=1e-6)
        ids = state.points.evaluated
        np.testing.assert_allclose(state.summary.mean[ids], [oracle.mu(a) for a in oracle.evaluated], atol=1e-6)
        np.testing.assert_allclose(
            state.summary.deviation[ids] ** 2, [oracle.sigma2(a) for a in oracle.evaluated], rtol=1e-5, atol=1e-7
        )
        if oracle.L:
            gap = max(oracle.index(c) for c in oracle.L) - max(oracle.lcb(a) for a in oracle.evaluated)
            reported = ada_bkb.report(state).gap
            assert reported is not None
            np.testing.assert_allclose(reported / state.summary.scale, max(gap, 0.0), rtol=1e-5, atol=1e-6)
