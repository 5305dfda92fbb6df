"""The mechanisms of ``auto`` that affect suggestions, and the replacement of each when it is switched off.

None of them has a switch in the engine, since only the ablation needs one. A mechanism is switched off within a block,
by replacing constants or functions of the engine's modules.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from adabkb_service.engine.auto import learning, policy
from adabkb_service.engine.auto.acquisition import betas, plateaus
from adabkb_service.engine.auto.domain.components import NONE
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.domain.tree import Box, Tree
from adabkb_service.engine.auto.model import kernel, likelihood, surrogate, warp
from adabkb_service.engine.auto.model.likelihood import Evidence, Hyperparameters
from adabkb_service.engine.auto.search import quadratic, search
from adabkb_service.engine.auto.search.refine import Bound, Refined
from adabkb_service.engine.auto.state import restarts, turns
from adabkb_service.engine.auto.state import state as states
from adabkb_service.engine.auto.state.checkpoint import Pruning
from benchmarks.functions import Array

NEVER = 10**9
"""A number of steps or results that is never reached."""
ONE_WIDTH = (1.5, 1.5, 1.5, 1.5)
"""A cycle of equal confidence widths, of the middle size."""
WIDTHS = ("EARLY_BETAS", "WIDE_BETAS", "BETAS", "EARLY_BETAS_OF_CHOICES", "BETAS_OF_CHOICES")
"""The cycles of ``betas``."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A part of ``auto``."""

    name: str
    in_paper: str
    """The corresponding part of Ada-BKB."""
    without: str
    """The behavior when it is switched off."""
    replaced: tuple[tuple[Any, str, Any], ...]
    """(module or class, name in it, replacement)."""

    @contextmanager
    def off(self) -> Iterator[None]:
        """Switch the mechanism off within the block, in this process."""
        kept = [(owner, name, vars(owner)[name]) for owner, name, _ in self.replaced]
        try:
            for owner, name, value in self.replaced:
                setattr(owner, name, value)
            yield
        finally:
            for owner, name, value in kept:
                setattr(owner, name, value)


_fit, _prior_center, _axes_of_model = warp.fit, likelihood.prior_center, turns.axes_of_model
_with_additive_part, _small = likelihood.with_additive_part, learning.SMALL


def _returning(value: Any) -> Any:
    return lambda *_, **__: value


def _argument(place: int) -> Any:
    return lambda *given: given[place]


def _only_rough(evidence: Evidence, starts: list[Hyperparameters]) -> tuple[Evidence, Hyperparameters]:
    return evidence, likelihood.learn(evidence, starts)


def _additive_of_many(
    warped: Evidence, plain: Hyperparameters, unwarped: Evidence, known: Hyperparameters
) -> Hyperparameters:  # the minimum number of results for an additive part is also ``SMALL``
    return _with_additive_part(warped, plain, unwarped, known) if len(warped.outputs) >= _small else plain


def _target_itself(
    tree: Tree, root: Box, target: Array, tolerance: float, bound: Bound, taken: Any
) -> Refined:  # replaces ``refine.refine``
    del tolerance, bound, taken
    return Refined(tree, tree.find(root, target)[0], root.domain.exact(target), [], capped=False)


REAL_ONLY, NOT_LEARNED, LEAVES, NOTHING = "real parameters only", "given, not learned", "the leaf of largest index", "–"
MECHANISMS = (
    Mechanism(
        "centroids of cells",
        "the same",
        "the point of the largest bound is suggested itself, and no cell is split",
        ((policy, "refine", _target_itself),),
    ),
    Mechanism(
        "pruning of cells",
        "the same, and a pruned cell is never searched again",
        "no cell is marked as pruned",
        ((learning, "prunable", _returning(Pruning())),),
    ),
    Mechanism(
        "warp of results",
        "results as they are",
        "results are only standardized",
        ((warp, "fit", lambda values, _=None: _fit(values, warp.LINEAR)),),
    ),
    Mechanism(
        "smooth kernel where results seem noisy",
        "one kernel, given",
        "the kernel is always the rough one, and results never seem noisy",
        ((likelihood, "learn_smoothness", _only_rough),),
    ),
    Mechanism(
        "additive part of the kernel",
        "one kernel, given",
        "the kernel is a product only",
        ((likelihood, "with_additive_part", _argument(1)),),
    ),
    Mechanism(
        "unknown mean",
        "mean 0",
        "the mean of the model outputs is 0",
        ((kernel, "MEAN_VARIANCE", 0.0), (likelihood, "MEAN_VARIANCE", 0.0), (surrogate, "PRIOR_VARIANCE", 1.0)),
    ),
    Mechanism(
        "descriptors of choices",
        REAL_ONLY,
        "choices differ by their names only",
        ((Domain, "components", NONE),),
    ),
    Mechanism(
        "prior of lengthscales by dimension",
        NOT_LEARNED,
        "the prior is that of three dimensions",
        ((likelihood, "prior_center", lambda _: _prior_center(3)),),
    ),
    Mechanism(
        "starts of learning at large noise",
        NOT_LEARNED,
        "learning starts from the present noise only",
        ((likelihood, "NOISY_STARTS", ()),),
    ),
    Mechanism(
        "learning at checkpoints only",
        NOT_LEARNED,
        "hyperparameters are learned after every result",
        ((learning, "REFIT", NEVER),),
    ),
    Mechanism(
        "learning at once up to 20 results",
        NOT_LEARNED,
        "hyperparameters learned from n results apply from result n + 1 on, also in the first 20",
        ((learning, "SMALL", 0), (likelihood, "with_additive_part", _additive_of_many)),
    ),
    Mechanism(
        "learning at once after an outlier",
        NOT_LEARNED,
        "hyperparameters are learned at the next regular checkpoint",
        ((learning, "OUTLIER", math.inf),),
    ),
    Mechanism(
        "gradient ascent",
        LEAVES,
        "the best of the random positions is the target",
        ((search, "ascend", _argument(1)),),
    ),
    Mechanism(
        "candidates around the best point",
        LEAVES,
        "random positions are drawn from the whole box only",
        ((search, "LOCAL", 0),),
    ),
    Mechanism(
        "search axis by axis",
        LEAVES,
        "beside an additive part, the search has no more starts than without one",
        ((search, "axis_by_axis", lambda *given: given[2][None]),),
    ),
    Mechanism(
        "widths in turn",
        "one width, by the theorem",
        "the width is 1.5 in every step",
        tuple((betas, name, ONE_WIDTH) for name in WIDTHS),
    ),
    Mechanism(
        "other widths in the first steps",
        "one width, by the theorem",
        "the first steps have the later widths",
        (
            (betas, "EARLY_BETAS", betas.BETAS),
            (betas, "WIDE_BETAS", betas.BETAS),
            (betas, "EARLY_BETAS_OF_CHOICES", betas.BETAS_OF_CHOICES),
        ),
    ),
    Mechanism(
        "other widths where there are categories",
        REAL_ONLY,
        "the widths do not depend on the kinds of parameters",
        ((betas, "EARLY_BETAS_OF_CHOICES", betas.EARLY_BETAS), (betas, "BETAS_OF_CHOICES", betas.BETAS)),
    ),
    Mechanism(
        "steps for untried choices",
        REAL_ONLY,
        "no step and no width is for untried choices",
        ((Domain, "untried_choices", _returning(None)),),
    ),
    Mechanism(
        "plateaus",
        NOTHING,
        "equal results are not taken for steps of the objective",
        ((plateaus, "SHARE", math.inf),),
    ),
    Mechanism(
        "points themselves where results seem noisy",
        "centroids only",
        "centroids are suggested there, too",
        ((betas, "EXPLORING", 0.0),),
    ),
    Mechanism(
        "no end game where results seem noisy",
        NOTHING,
        "there is an end game there, too",
        ((states, "axes_of_model", lambda *given, **_: _axes_of_model(*given, seems_noisy=False)),),
    ),
    Mechanism(
        "end game",
        NOTHING,
        "no step is for a quadratic model",
        ((quadratic, "proposal", _returning(None)),),
    ),
    Mechanism(
        "turns of the end game by its gains",
        NOTHING,
        "the end game has every second step whether it gains or not",
        ((turns, "PERIOD_WITHOUT_GAIN", turns.PERIOD),),
    ),
    Mechanism(
        "steps of the end game in a row",
        NOTHING,
        "the end game has no second step after a gain",
        ((turns, "IN_A_ROW", 1),),
    ),
    Mechanism(
        "restarts",
        NOTHING,
        "a search that has stalled goes on",
        ((restarts, "STALL", NEVER),),
    ),
    Mechanism(
        "random points of a restart",
        NOTHING,
        "a restart begins where its bound is largest",
        ((policy, "RANDOM_POINTS", 0),),
    ),
    Mechanism(
        "neighborhood that a restart leaves out",
        NOTHING,
        "a restart sees results around the best point, and may suggest points there",
        ((restarts, "APART", 0.0),),
    ),
    Mechanism(
        "axes that do not matter",
        NOTHING,
        "all axes count in distances and in how long a search may stall",
        ((restarts, "IRRELEVANT", math.inf),),
    ),
)
"""The mechanisms that have an effect on problems without metrics, conditions or constraints, and with fewer than 800
results. The first ones are those that ``auto`` shares with Ada-BKB."""
