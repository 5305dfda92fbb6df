"""Deviations of the authors' code from the paper, as replacements for parts of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from adabkb_service.engine.paper import index, state
from adabkb_service.engine.paper import policy as ada_bkb_module
from adabkb_service.engine.paper.gp import SketchedGP
from adabkb_service.engine.paper.leaves import Leaves
from adabkb_service.engine.paper.state import Array, State
from adabkb_service.engine.threds import policy as gp_threds_module

AS_PRINTED = ada_bkb_module._expands


@contextmanager
def start() -> Iterator[None]:
    """Before the first result, expand the root and no other cell: the authors' code starts with a variance of 0 at the
    root, and with a beta of 1 for its children."""

    def expands(state: State, fantasized: SketchedGP, leaf: int, repeat: bool) -> bool:
        if not len(state.points.values):
            return bool(state.tree.depth[leaf] == 0)
        return AS_PRINTED(state, fantasized, leaf, repeat)

    with patch.object(ada_bkb_module, "_expands", expands):
        yield


@contextmanager
def start_and_index() -> Iterator[None]:
    """As ``start``, with the index f~ + V_h, which does not use the parent."""

    def indices(tree: Leaves, ucb: Array) -> Array:
        values: Array = ucb[tree.point[tree.leaves]] + tree.variation[tree.leaves]
        return values

    with start(), patch.object(index, "indices", indices):
        yield


@contextmanager
def root_first() -> Iterator[None]:
    """Follow the text of the paper, not the code: no cell is expanded before the root has been evaluated."""

    def expands(state: State, fantasized: SketchedGP, leaf: int, repeat: bool) -> bool:
        return bool(len(state.points.values)) and AS_PRINTED(state, fantasized, leaf, repeat)

    with patch.object(ada_bkb_module, "_expands", expands):
        yield


@contextmanager
def refitted() -> Iterator[None]:
    """Do not update posteriors. After each result, compute the sketch again, or fit the Gaussian process again to all
    evaluations, with a row for each, even at the same point. The results are the same; the cost is that of the
    authors' code."""
    absorb = state.absorb

    def absorb_anew(before: State, point: int, value: float) -> State:
        after = absorb(before, point, value)
        if np.isinf(after.problem.config.qbar):
            fit(after)
        return after

    with (
        patch.object(state, "UPDATES_BEFORE_REFACTORIZATION", 0),
        patch.object(ada_bkb_module, "absorb", absorb_anew),
        patch.object(gp_threds_module, "absorb", absorb_anew),
    ):
        yield


def fit(study: State) -> tuple[Array, Array]:
    """Return the mean and the variance at all points, (P,) each, from one row per evaluation: O(T^3 + P T^2)."""
    kernel, points = study.problem.kernel, study.points
    rows = points.scaled.array[points.evaluated[points.observed]]
    K = kernel(rows, rows)
    K[np.diag_indices(len(rows))] += study.problem.config.ridge
    L = cholesky(K, lower=True, overwrite_a=True, check_finite=False)
    across = kernel(rows, points.scaled.array)
    spanned = solve_triangular(L, across, lower=True, check_finite=False)
    mean: Array = across.T @ cho_solve((L, True), points.values)
    return mean, 1.0 - np.einsum("ij,ij->j", spanned, spanned)
