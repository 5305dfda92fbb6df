"""Branches of an objective: complete trials, grouped by the parameters that they have.

An objective may request parameters depending on the values of others. Each set of parameters that a complete trial had
is a branch, with its own search space and model. If a point from the space of one branch leads the objective into
another branch, the model of the first branch counts it as a failure.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial

from adabkb_integrations.optuna.axes import axis
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.feasibility import problems
from adabkb_service.engine.mixtures import Mixture
from adabkb_service.engine.space import Space


@dataclass(frozen=True)
class Branch:
    """The complete trials with the same set of parameters, in order of completion."""

    trials: Sequence[FrozenTrial]
    distributions: dict[str, BaseDistribution]
    """By name, sorted: the parameters whose last two declarations agree. The ranges of other parameters change between
    trials."""

    @property
    def names(self) -> frozenset[str]:
        """All parameters of the branch's trials."""
        return frozenset(self.trials[0].params)

    def space(
        self,
        names: Container[str],
        constraints: Sequence[Constraint] = (),
        periodic: Container[str] = (),
        context: Collection[str] = (),
        mixtures: Sequence[Mixture] = (),
    ) -> Space:
        """Return the search space of some of the branch's parameters, with the constraints and mixtures that name no
        others. Some of the parameters are given by the ``context``.

        Raises:
            ValueError: a constraint names a value that its parameter does not have, no point satisfies all of them, a
                parameter cannot be periodic, or only some shares of a mixture are searched.
        """
        searched = {name: each for name, each in self.distributions.items() if name in names}
        kept = [each for each in constraints if each.names.keys() <= searched.keys()]
        named = bool(kept)
        mixed = tuple(each for each in mixtures if self.distributions.keys() >= set(each.names))
        if held := next((name for each in mixed for name in each.names if name not in searched), None):
            raise ValueError(f"mixtures: another sampler chooses the share {held!r}; enqueue trials with fixed shares")
        space = Space(
            tuple(axis(name, each, named=named, periodic=periodic) for name, each in searched.items()),
            context=frozenset(searched.keys() & context),
            mixtures=mixed,
        )
        if not kept:
            return space
        for index, problem in problems([each.text for each in kept], space).items():
            raise ValueError(f"constraints: {kept[index].text!r} {problem}")
        return replace(space, constraints=tuple(kept))


def branches(trials: Iterable[FrozenTrial]) -> list[Branch]:
    """Return the branches of complete trials, given in order of completion."""
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
