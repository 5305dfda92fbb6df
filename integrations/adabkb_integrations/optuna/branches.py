"""The branches of an objective: complete trials by the parameters that they have.

An objective may ask for parameters depending on the values of others. Each set of parameters that a complete trial had
is a branch, with a search space and a model of its own. A point of one branch's space may lead the objective into
another branch; that the first one has no such point is then learned like a failure.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial

from adabkb_integrations.optuna.axes import axis
from adabkb_service.engine.space import Space


@dataclass(frozen=True)
class Branch:
    """The complete trials that have the same parameters, in order of completion."""

    trials: Sequence[FrozenTrial]
    distributions: dict[str, BaseDistribution]
    """By name, sorted, of those parameters whose last two declarations agree: the range of the others depends on
    something else."""

    @property
    def names(self) -> frozenset[str]:
        """All parameters of its trials."""
        return frozenset(self.trials[0].params)

    def space(self, names: Container[str]) -> Space:
        """Return the search space of some of its parameters."""
        return Space(tuple(axis(name, each) for name, each in self.distributions.items() if name in names))


def branches(trials: Iterable[FrozenTrial]) -> list[Branch]:
    """Return the branches of complete trials, which are in order of completion."""
    found: dict[frozenset[str], list[FrozenTrial]] = {}
    for trial in trials:
        found.setdefault(frozenset(trial.params), []).append(trial)
    return [Branch(group, _agreed(group)) for names, group in found.items() if names]


def _agreed(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    last = trials[-2:]
    return {
        name: distribution
        for name, distribution in sorted(last[-1].distributions.items())
        if all(one.distributions[name] == other.distributions[name] for one, other in pairwise(last))
    }
