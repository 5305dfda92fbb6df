"""Plates in Optuna: trials that share some values, and an offset of their results.

The first trial of a plate chooses the shared values, and enqueues the other trials of the plate with these values.
Optuna gives each enqueued trial to one worker, so no two workers need to agree on a plate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optuna.samplers import BaseSampler, PartialFixedSampler
from optuna.trial import FrozenTrial, TrialState, create_trial

from adabkb_client._values import plain
from adabkb_integrations.inprocess.numbers import at_least
from adabkb_integrations.inprocess.plates import EXAMPLE, SMALLEST
from adabkb_integrations.inprocess.plates import Plates as Declared
from adabkb_integrations.optuna.shares import ENQUEUED

if TYPE_CHECKING:
    from optuna.study import Study

PLATE = "adabkb:plate"
"""User attribute with the number of a trial's plate: 1 more than the number of the plate's first trial."""


class Plates:
    """The plates of a study."""

    def __init__(self, declared: Declared, shares: Sequence[str]) -> None:
        """Check the plates.

        Args:
            declared: as in ``minimize``.
            shares: the names of shares of mixtures, which cannot be shared.

        Raises:
            TypeError: the plates are not declared as in ``EXAMPLE``.
            ValueError: the size is too small, or a parameter cannot be shared.
        """
        if not isinstance(declared, Mapping) or "size" not in declared or declared.keys() - {"size", "shared"}:
            raise TypeError(f"plates must be a dict such as {EXAMPLE}, not {declared!r}")
        shared = declared.get("shared", ())
        if isinstance(shared, str) or not isinstance(shared, Sequence):
            raise TypeError(f"plates['shared'] must be a list of names, not {shared!r}")
        if share := next((name for name in shared if name in shares), None):
            raise ValueError(f"plates['shared'] has {share!r}, a share of a mixture; leave it out")
        self.size = at_least("plates['size']", declared["size"], SMALLEST)
        self.shared = tuple(dict.fromkeys(shared))

    def held(self, trial: FrozenTrial) -> dict[str, Any]:
        """Return the values that a trial must have because of its plate, by parameter."""
        return dict(trial.system_attrs.get(ENQUEUED, {})) if PLATE in trial.user_attrs else {}

    def begin(self, study: Study, trial: FrozenTrial, values: Mapping[str, Any]) -> None:
        """Begin a plate with a trial, and enqueue the other trials of the plate. Do nothing if the trial was enqueued,
        is on a plate, or lacks a shared value.

        Args:
            study: the study.
            trial: the trial.
            values: its values that are known, by parameter.
        """
        known = study._storage.get_trial(trial._trial_id)
        is_placed = ENQUEUED in known.system_attrs or PLATE in known.user_attrs
        if is_placed or not values.keys() >= set(self.shared):
            return
        plate, shared = {PLATE: trial.number + 1}, {name: values[name] for name in self.shared}
        study._storage.set_trial_user_attr(trial._trial_id, PLATE, plate[PLATE])
        waiting = create_trial(state=TrialState.WAITING, system_attrs={ENQUEUED: shared}, user_attrs=plate)
        for _ in range(self.size - 1):
            study._storage.create_new_trial(study._study_id, template_trial=waiting)


def fixed_values(sampler: BaseSampler) -> dict[str, Any]:
    """Return the values that ``PartialFixedSampler`` gives to every trial of a study, by parameter.

    Optuna never requests them from the sampler that it wraps.
    """
    if not isinstance(sampler, PartialFixedSampler):
        return {}
    own = {name: plain(value) for name, value in sampler._fixed_params.items()}  # databases store JSON
    return {**fixed_values(sampler._base_sampler), **own}


def plate_of(trial: FrozenTrial) -> int | None:
    """Return the number of a trial's plate; None without one."""
    number: int | None = trial.user_attrs.get(PLATE)
    return number
