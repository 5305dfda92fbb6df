"""BayBE as a peer for plates, which it does not know. It is imported only when it runs.

A plate is a batch of a campaign with BayBE's defaults. If its wells share parameters, the first well determines their
values, and only candidates with these values are left for the other wells.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pandas as pd
import torch
from baybe import Campaign
from baybe.objectives import SingleTargetObjective
from baybe.parameters import CategoricalParameter, NumericalDiscreteParameter
from baybe.parameters.base import Parameter
from baybe.searchspace import SearchSpace
from baybe.targets import NumericalTarget
from baybe.utils.random import set_random_seed

from adabkb_service.engine.axes import Axis, ChoiceAxis
from adabkb_service.engine.space import Space

VALUE = "value"


class BaybePlates:
    """A campaign of plates with ``size`` wells, over a space of choices."""

    def __init__(self, space: Space, shared: Sequence[str], size: int, seed: int) -> None:
        torch.set_num_threads(1)
        set_random_seed(seed)
        self._shared, self._size = list(shared), size
        self._names = [axis.name for axis in space.axes]
        search_space = SearchSpace.from_product([parameter(axis) for axis in space.axes])
        self._candidates: pd.DataFrame = search_space.discrete.exp_rep
        self._campaign = Campaign(search_space, SingleTargetObjective(NumericalTarget(VALUE)))

    def plate(self) -> list[dict[str, Any]]:
        """The points of the next plate."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that were repeated
            first = self._campaign.recommend(batch_size=1 if self._shared else self._size)
            if not self._shared:
                return self._points(first)
            self._campaign.toggle_discrete_candidates(first[self._shared], exclude=True, complement=True)
            rest = self._campaign.recommend(batch_size=self._size - 1, pending_experiments=first)
            self._campaign.toggle_discrete_candidates(self._candidates, exclude=False)
        return self._points(pd.concat([first, rest]))

    def tell(self, points: Sequence[dict[str, Any]], results: Sequence[float]) -> None:
        """Add the results of a plate."""
        self._campaign.add_measurements(pd.DataFrame(points).assign(**{VALUE: list(results)}))

    def recommendation(self) -> dict[str, Any]:
        """The point with the largest posterior mean."""
        means = self._campaign.posterior_stats(self._candidates, stats=["mean"])[f"{VALUE}_mean"].to_numpy()
        [found] = self._points(self._candidates.iloc[[int(means.argmax())]])
        return found

    def _points(self, rows: pd.DataFrame) -> list[dict[str, Any]]:
        return [dict(zip(self._names, row, strict=True)) for row in rows[self._names].itertuples(index=False)]


def parameter(axis: Axis) -> Parameter:
    """The parameter of an axis of choices.

    Raises:
        TypeError: if the axis has no choices.
    """
    if not isinstance(axis, ChoiceAxis):
        raise TypeError(f"{axis.name} has no choices.")
    return (NumericalDiscreteParameter if axis.ordered else CategoricalParameter)(axis.name, list(axis.choices))
