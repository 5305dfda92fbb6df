"""What the user knows before a study begins: beliefs about the optimum, earlier studies, and periodic parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from adabkb_integrations.beliefs import Belief, prior_of
from adabkb_integrations.domain import Domain
from adabkb_integrations.earlier import MIN_RESULTS, snapshot
from adabkb_integrations.model import Position
from adabkb_integrations.optuna.axes import plain
from adabkb_service.engine.axes import ChoiceAxis
from adabkb_service.engine.older import Older, holds
from adabkb_service.engine.prior import Prior
from adabkb_service.engine.space import Space

if TYPE_CHECKING:
    from optuna.study import Study


class Earlier:
    """The complete trials of an earlier study, as of the moment when the sampler is created."""

    def __init__(self, where: str, study: Study) -> None:
        self._where = where
        self._signs = [1.0 if each == StudyDirection.MAXIMIZE else -1.0 for each in study.directions]
        self._trials: Sequence[FrozenTrial] = study.get_trials(states=(TrialState.COMPLETE,))
        if len(self._trials) < MIN_RESULTS:
            raise ValueError(
                f"{where} has {len(self._trials)} complete trials, and {MIN_RESULTS} are needed; leave it out"
            )

    def older(self, space: Space, distributions: Mapping[str, BaseDistribution], objectives: int) -> Iterable[Older]:
        """Return the results within a space, for each objective; none if too few are within it.

        Raises:
            ValueError: the study has another number of objectives.
        """
        if len(self._signs) != objectives:
            raise ValueError(
                f"{self._where} has {len(self._signs)} objectives, but this study has {objectives}; leave it out"
            )
        names = {name for trial in self._trials for name in trial.params}
        shared = tuple(k for k, axis in enumerate(space.axes) if axis.name in names)
        placed = [(_position(trial, shared, space, distributions), trial) for trial in self._trials] if shared else []
        for index, sign in enumerate(self._signs):
            metric = f"objective {index}" if objectives > 1 else None
            results = [(at, sign * trial.values[index]) for at, trial in placed if at is not None]
            if len(results) >= MIN_RESULTS:
                yield snapshot(self._where, metric, results, shared)


def earlier_studies(studies: Sequence[Study]) -> tuple[Earlier, ...]:
    """Return earlier studies.

    Raises:
        TypeError: ``studies`` is not a sequence of studies of Optuna.
        ValueError: a study has too few complete trials.
    """
    if isinstance(studies, str) or not isinstance(studies, Sequence):
        raise TypeError(f"transfer_from must be a list of studies of Optuna, such as [study], not {studies!r}")
    for index, each in enumerate(studies):
        if not hasattr(each, "get_trials"):
            raise TypeError(f"transfer_from[{index}] must be a study of Optuna, not {each!r}")
    return tuple(Earlier(f"transfer_from[{index}]", each) for index, each in enumerate(studies))


def prior_in(
    space: Space, beliefs: Mapping[str, Belief], distributions: Mapping[str, BaseDistribution]
) -> Prior | None:
    """Return the prior for the beliefs about the axes of a space; None without any."""
    names = {axis.name for axis in space.axes}
    choices = {name: each.choices for name, each in distributions.items() if isinstance(each, CategoricalDistribution)}
    return prior_of({name: belief for name, belief in beliefs.items() if name in names}, Domain(space, choices))


def best_guess(belief: Belief, distribution: BaseDistribution, space: Space) -> Any:
    """Return the most probable value of the only parameter of a space, according to a belief about it."""
    found = prior_in(space, {space.axes[0].name: belief}, {space.axes[0].name: distribution})
    assert found is not None, "the parameter varies"
    if not found.weighted:
        return space.decode([found.around[0].middle])[space.axes[0].name]
    assert isinstance(distribution, CategoricalDistribution)
    weights = {**dict.fromkeys(range(len(distribution.choices)), 1.0), **dict(found.weighted[0].given)}
    return distribution.choices[max(weights, key=lambda number: weights[number])]


def _position(
    trial: FrozenTrial, shared: Sequence[int], space: Space, distributions: Mapping[str, BaseDistribution]
) -> Position | None:
    """Return the position of a trial along shared axes, the middle of one that it lacks; None if it is outside."""
    values: dict[str, Any] | None = None
    with suppress(ValueError):  # a choice that the parameter does not have now
        values = plain(trial.params, distributions)
    if values is None:
        return None
    found = []
    for k in shared:
        axis = space.axes[k]
        value = values.get(axis.name)
        if isinstance(axis, ChoiceAxis) and value is not None:
            value = axis.choices[value]
        if axis.name in values and not holds(axis, value):
            return None
        found.append(axis.encode(value) if axis.name in values else float(space.activity.rest[k]))
    return tuple(min(max(each, 0.0), 1.0) for each in found)
