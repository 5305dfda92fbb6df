"""What is learned at a checkpoint. It depends on the order of results, so it is stored with the tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from adabkb_service.engine.answers import Judged
from adabkb_service.engine.auto.model.additive import Additive
from adabkb_service.engine.auto.model.averaged import Averaged
from adabkb_service.engine.auto.model.likelihood import Hyperparameters
from adabkb_service.engine.auto.state.turns import NEW, Turns
from adabkb_service.engine.libraries import libraries

REVISION = 22
"""Revision of the rules for learning. Checkpoints of another revision are discarded and learned again (``restore``)."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """Cells that the posterior excludes."""

    beta: float = 0.0
    effective_dimension: float = 0.0
    excluded: tuple[int, ...] = ()
    """The roots of subtrees that cannot contain the optimum."""
    incumbent: int = 0
    """The row of the record with the largest lower bound."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The learned model at a checkpoint."""

    count: int
    """The number of results in the initial warp and posterior, the first ones of the record. Later results are added
    row by row."""
    hyperparameters: Hyperparameters
    learned_from: int = -1
    """The number of results from which the hyperparameters, dictionary and pruning were learned; by default
    ``count``."""
    dictionary: tuple[int, ...] | None = None
    """Rows of the record that are inducing points; None for all rows."""
    restarted_at: int | None = None
    turns: Turns = NEW
    """``restarted_at`` and ``turns`` are as in ``State``."""
    beta: float = 0.0
    """Confidence width of the bounds that prune, per posterior standard deviation."""
    effective_dimension: float = 0.0
    """d_eff = sum over results of s2 / nu at their points."""
    averages: dict[tuple[int, int, tuple[bool, bool]], Averaged | None] = field(
        default_factory=dict, compare=False, repr=False
    )
    """Cache of averaged posteriors (``averaging``). The key is the number of results from which the parameters were
    learned, the number on which the posterior is conditioned, and the form of the kernel."""
    gaps: dict[tuple[tuple[int, tuple[bool, bool]], ...], float | None] = field(
        default_factory=dict, compare=False, repr=False
    )
    """Cache of the gap. The key has, for the objective and for each metric, the number of results from which the
    posterior was learned and the form of its kernel."""

    judged: dict[int, Judged | None] = field(default_factory=dict, compare=False, repr=False)
    """Cache of the probabilities of the first results, given each other (``left_out.judged``). The key is their
    number."""

    def __post_init__(self) -> None:
        if self.learned_from < 0:
            object.__setattr__(self, "learned_from", self.count)

    def with_widths(self, found: Pruning) -> Checkpoint:
        """Return the checkpoint with the beta and the effective dimension of a pruning."""
        return replace(self, beta=found.beta, effective_dimension=found.effective_dimension)

    def as_json(self) -> dict[str, Any]:
        """Return the checkpoint as finite JSON."""
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
    """Return the checkpoint from its JSON; None if it belongs to another revision."""
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
        **({} if hyperparameters.plates is None else {"plates": hyperparameters.plates}),
        **({"components": hyperparameters.components.tolist()} if len(hyperparameters.components) else {}),
        **({} if part is None else {"additive": {"shares": part.shares.tolist(), "lengthscale": part.lengthscale}}),
    }


def _hyperparameters(kept: Mapping[str, Any]) -> Hyperparameters:
    part = kept.get("additive")
    additive = None if part is None else Additive(np.array(part["shares"], dtype=float), part["lengthscale"])
    lengthscales, components = np.array(kept["lengthscales"], dtype=float), np.array(kept.get("components", []))
    plain = lengthscales, kept["noise"], kept["variance"], additive, components, kept["smooth"]
    return Hyperparameters(*plain, kept.get("plates"))
