"""Mixtures in Optuna: the shares of a trial are chosen jointly when the objective requests the first one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import FrozenTrial

from adabkb_client import Float, Mixture
from adabkb_client._values import finite
from adabkb_integrations.domain import domain_of, mixtures_of
from adabkb_service.engine import mixtures as engine
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.feasibility import has_points
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space

SHARES = "adabkb:shares"
"""Attribute with the shares that were chosen without a model, by parameter."""
ENQUEUED = "fixed_params"
"""Attribute in which Optuna stores the values of an enqueued trial."""
Range = tuple[float, float]


class Shares:
    """The shares of the mixtures, and their ranges, which must be known before the first trial."""

    def __init__(self, mixtures: Sequence[Mixture], ranges: Mapping[str, Range]) -> None:
        """Check the mixtures.

        Args:
            mixtures: as in a study.
            ranges: by share, its range if that is not from 0 to the total.

        Raises:
            TypeError: a mixture or a range has another form.
            ValueError: a mixture has no points, or ``ranges`` has another parameter.
        """
        if not isinstance(ranges, Mapping):
            raise TypeError(f'ranges must be a dict, such as {{"water": (0.2, 0.8)}}, not {ranges!r}')
        totals = {name: each.total for each in mixtures_of(mixtures) for name in each.names}
        if unknown := next((name for name in ranges if name not in totals), None):
            raise ValueError(f"ranges has {unknown!r}, which is not a share of a mixture; leave it out")
        pairs = {name: _pair(name, ranges[name]) if name in ranges else (0.0, total) for name, total in totals.items()}
        declared = {name: Float(*pair) for name, pair in pairs.items()}
        self.space = domain_of(declared, "ranges", mixtures=mixtures).space if mixtures else Space(())
        self.distributions: Mapping[str, BaseDistribution] = {
            name: FloatDistribution(low, high) for name, (low, high) in pairs.items()
        }

    @property
    def mixtures(self) -> tuple[engine.Mixture, ...]:
        """The mixtures."""
        return self.space.mixtures

    def check_range(self, name: str, distribution: BaseDistribution) -> None:
        """Check that an objective requests a share with the range that the sampler knows.

        Raises:
            ValueError: it does not.
        """
        known = self.distributions[name]
        if distribution == known:
            return
        if isinstance(distribution, FloatDistribution) and not distribution.log and not distribution.step:
            remedy = f"give ranges={{{name!r}: ({distribution.low}, {distribution.high})}}"
        else:
            remedy = "a share must be a float without log and step"
        raise ValueError(f"mixtures: the share {name!r} is requested as {distribution}, but expected {known}; {remedy}")

    def check_trial(self, trial: FrozenTrial) -> None:
        """Check the shares of a complete trial, some of which may have been enqueued or fixed.

        Raises:
            ValueError: they violate a mixture.
        """
        for mixture in self.mixtures:
            if trial.params.keys() >= set(mixture.names) and (problem := mixture.problem(trial.params)):
                raise ValueError(f"trial {trial.number}: the shares {mixture} {problem}")

    def held(self, trial: FrozenTrial) -> dict[str, Any]:
        """Return the shares of a trial that were enqueued, or requested before, by parameter."""
        known = {**trial.system_attrs.get(ENQUEUED, {}), **trial.params}
        return {name: known[name] for name in self.distributions if name in known}

    def drawn(
        self, held: Mapping[str, float], constraints: Sequence[Constraint], seed: int, number: int
    ) -> dict[str, Any]:
        """Return all shares of a trial without a model: for trial 0, those nearest to the middle of the ranges, and for
        others, random ones.

        Args:
            held: the shares that are known, by parameter.
            constraints: constraints on parameters; those that name only shares are satisfied.
            seed: seed of the random shares.
            number: the number of the trial.

        Raises:
            ValueError: no shares are possible.
        """
        kept = tuple(each for each in constraints if each.names.keys() <= self.space.names)
        within = Slice(replace(self.space, constraints=kept), held)
        if not has_points(within):
            raise ValueError(f"mixtures: no shares are possible with {dict(held) or 'the constraints'}")
        middle = within.exact(within.put(np.full((1, self.space.dimension), 0.5))[0])
        found = {**self.space.decode(middle), **held}
        if number or not within.space.admits(found):
            found = {**self.space.decode(within.drawn(seed, number)), **held}
        return found


def _pair(name: str, given: Range) -> Range:
    if not isinstance(given, Sequence) or len(given) != 2:
        raise TypeError(f"ranges[{name!r}] must be a pair such as (0.2, 0.8), not {given!r}")
    low, high = (finite(f"ranges[{name!r}]", each) for each in given)
    return low, high
