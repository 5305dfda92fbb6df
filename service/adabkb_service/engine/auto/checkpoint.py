"""The result of a checkpoint. It depends on the history, not only on the results, so it is stored with the tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from adabkb_service.engine.auto.additive import Additive
from adabkb_service.engine.auto.averaged import Averaged
from adabkb_service.engine.auto.likelihood import Hyperparameters
from adabkb_service.engine.auto.turns import NEW, Turns
from adabkb_service.engine.libraries import libraries

REVISION = 13
"""Of the rules by which results become suggestions. What was learned by other rules is learned anew (``restore``)."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """Cells that a posterior excludes."""

    beta: float = 0.0
    effective_dimension: float = 0.0
    excluded: tuple[int, ...] = ()
    """Cells that cannot hold the optimum: whole subtrees."""
    incumbent: int = 0
    """Row of the record with the largest lower bound."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The model as of a checkpoint."""

    count: int
    """Results that the warp and the posterior start from: the first ones of the record. Later ones are added row by
    row."""
    hyperparameters: Hyperparameters
    learned_from: int = -1
    """Results that the hyperparameters were learned from, with all that follows; by default the same ones."""
    dictionary: tuple[int, ...] | None = None
    """Rows of the record that are inducing points; None for all of them."""
    restarted_at: int | None = None
    turns: Turns = NEW
    """Both as in ``State``."""
    beta: float = 0.0
    """Confidence width of the bounds that prune, per posterior standard deviation."""
    effective_dimension: float = 0.0
    """d_eff = sum over results of s2 / nu at their points."""
    averages: dict[tuple[int, int, tuple[bool, bool]], Averaged | None] = field(
        default_factory=dict, compare=False, repr=False
    )
    """A cache: averaged posteriors (``averaging``) by the results that they were learned from, by those they are given,
    and by the form of the kernel."""
    gaps: dict[tuple[tuple[int, tuple[bool, bool]], ...], float | None] = field(
        default_factory=dict, compare=False, repr=False
    )
    """A cache: the gap by the results that the posteriors of the objective and of metrics were learned from, and by the
    forms of their kernels."""

    def __post_init__(self) -> None:
        if self.learned_from < 0:
            object.__setattr__(self, "learned_from", self.count)

    def with_widths(self, found: Pruning) -> Checkpoint:
        """With the numbers by which cells are pruned."""
        return replace(self, beta=found.beta, effective_dimension=found.effective_dimension)

    def as_json(self) -> dict[str, Any]:
        """All of it, as finite JSON."""
        return {
            "revision": REVISION,
            "libraries": libraries(),
            "count": self.count,
            "learned_from": self.learned_from,
            **_hyperparameters_as_json(self.hyperparameters),
            "restarted_at": self.restarted_at,
            "turns": asdict(self.turns),
            "dictionary": None if self.dictionary is None else list(self.dictionary),
            "beta": self.beta,
            "effective_dimension": self.effective_dimension,
        }


def from_json(kept: Mapping[str, Any]) -> Checkpoint | None:
    """The inverse of ``as_json``; None if it was learned by the rules of another revision."""
    if kept.get("revision") != REVISION:
        return None
    rows = kept["dictionary"]
    return Checkpoint(
        kept["count"],
        _hyperparameters(kept),
        kept["learned_from"],
        None if rows is None else tuple(rows),
        kept["restarted_at"],
        Turns(**{**kept["turns"], "gains": tuple(kept["turns"]["gains"])}),
        kept["beta"],
        kept["effective_dimension"],
    )


def _hyperparameters_as_json(hyperparameters: Hyperparameters) -> dict[str, Any]:
    part = hyperparameters.additive
    return {
        "lengthscales": hyperparameters.lengthscales.tolist(),
        "noise": hyperparameters.noise_ratio,
        "variance": hyperparameters.variance,
        "smooth": hyperparameters.smooth,
        **({"components": hyperparameters.components.tolist()} if len(hyperparameters.components) else {}),
        **({} if part is None else {"additive": {"shares": part.shares.tolist(), "lengthscale": part.lengthscale}}),
    }


def _hyperparameters(kept: Mapping[str, Any]) -> Hyperparameters:
    part = kept.get("additive")
    additive = None if part is None else Additive(np.array(part["shares"], dtype=float), part["lengthscale"])
    lengthscales, components = np.array(kept["lengthscales"], dtype=float), np.array(kept.get("components", []))
    return Hyperparameters(lengthscales, kept["noise"], kept["variance"], additive, components, kept["smooth"])
