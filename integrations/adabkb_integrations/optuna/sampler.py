"""The sampler. All its information is in Optuna's storage; models are cached only to save time."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, Never

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.samplers._base import _process_constraints_after_trial
from optuna.trial import FrozenTrial, TrialState

from adabkb_client import Mixture
from adabkb_client._values import plain as plain_value
from adabkb_integrations.beliefs import Belief
from adabkb_integrations.inprocess.plates import Plates as Declared
from adabkb_integrations.model import Array, Model, Promise, one_thread
from adabkb_integrations.optuna.axes import axis, checked, decoded, external, plain
from adabkb_integrations.optuna.branches import branches
from adabkb_integrations.optuna.history import SUGGESTED, History, history
from adabkb_integrations.optuna.known import best_guess, earlier_studies, prior_in
from adabkb_integrations.optuna.outcomes import CostSource, check_told_cost, goals_of
from adabkb_integrations.optuna.plates import Plates, fixed_values
from adabkb_integrations.optuna.shares import SHARES, Range, Shares
from adabkb_service.engine.axes import Axis, ChoiceAxis, canonical
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.constraints.grammar import ConstraintError
from adabkb_service.engine.feasibility import has_points
from adabkb_service.engine.older import Older
from adabkb_service.engine.prior import Prior
from adabkb_service.engine.randomness import uniforms
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Space

if TYPE_CHECKING:
    from optuna.study import Study

FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
FIRST = 3
"""The number of complete trials of a branch before branches are compared by their models."""
LEFT = 3
"""The number of consecutive suggestions that led to other branches after which a branch is closed."""
PERIOD = 10
"""If there are several branches, one in this many trials is random, to find further branches."""
MODELS = 64
"""The number of cached models."""
MAX_OBJECTIVES = 4
CONTEXT = "adabkb:context"
"""Attribute with the context of a trial."""
Context = Mapping[str, Any] | Callable[[FrozenTrial], Mapping[str, Any]]
ATTEMPTS = 100
"""The maximum number of values drawn for a parameter without a model, until one satisfies the constraints."""


ELSEWHERE = {
    "algorithm": "Optuna has other samplers",
    "baseline": "Optuna has no recommended point besides the best trial",
    "budget": "the arguments n_trials and timeout of study.optimize limit the trials",
    "description": "Optuna's studies have user attributes",
    "early_stopping": "Optuna has pruners",
    "failure_limit": "the argument catch of study.optimize decides about failures",
    "fixed": "wrap the sampler in optuna.samplers.PartialFixedSampler",
    "lease_seconds": "there are no leases",
    "max_attempts": "there are no leases",
    "max_runtime_seconds": "there are no leases",
    "metrics": "Optuna's trials have user attributes",
    "objectives": "give directions to optuna.create_study",
    "outcome_constraints": "use constraints_func or, in Optuna 5, trial.set_constraint",
    "pending_limit": "the argument n_jobs of study.optimize limits running trials",
    "quantities": "Optuna's studies have user attributes",
    "stop": "a callback of study.optimize can call study.stop()",
    "tags": "Optuna's studies have user attributes",
    "title": "Optuna's studies have names",
    "tolerance": "a callback of study.optimize can call study.stop()",
}
"""What Optuna has instead of settings of studies, and of arguments of ``minimize``."""


class AdaBKBSampler(BaseSampler):
    """An Optuna sampler that uses Ada-BKB under the ``auto`` profile: a Gaussian process with learned hyperparameters.

    The engine runs in this process. The model is built from the trials in the study's storage, so a study can be
    resumed, and shared by threads, processes and machines; pending points of other workers are taken into account.
    Parameters of every kind are modeled, including log-scaled and stepped ones. If the objective requests parameters
    conditionally, each set of parameters that occur together has its own model. Each of several objectives has a model,
    and the search looks for their Pareto front. Constraints that all complete trials report are modeled, too. The
    value of a pruned trial is its last intermediate value, but no better than the median of the trials completed
    before. The search avoids points near failed trials.

    Args:
        seed: a study of one worker with the same seed and results has the same trials. With None, a random seed is
            used.
        noise_std: standard deviation of one value of the objective, in its units; for several objectives, a sequence
            with one number for each. With None, it is learned. 0 means that values are exact. If it is larger, points
            may be repeated.
        constraints_func: as in Optuna's own samplers: takes a finished trial and returns one number per constraint,
            which is violated if the number is above 0. In Optuna 5, ``trial.set_constraint`` does the same.
        constraints: constraints on parameters, such as ``["x + y <= 1", "not (model == 'deep' and layers > 4)"]``, in
            the grammar of studies. Suggested points satisfy them, before they are evaluated. A constraint applies to
            trials that have all parameters that it names.
        prior: beliefs about the position of the optimum, by parameter: ``{"lr": {"around": 0.001, "factor": 10}}`` on a
            log scale, ``{"around": 128, "width": 64}`` on a linear scale, ``{"weights": {"adam": 3}}`` for choices. The
            search begins at the most probable values, but excludes none. A belief about a parameter that no trial
            requests has no effect.
        transfer_from: earlier studies of Optuna, whose complete trials the model uses as far as they agree with the new
            ones. Parameters are the same if their names are. Trials that they get later are not used.
        cost: the cost of a trial: ``"told"`` by ``trial.set_user_attr("cost", 3.5)`` in the objective, or
            ``"measured"`` as the trial's duration. The model learns it.
        per_cost: whether points are chosen by their expected gain per cost. Requires ``cost``.
        context: the values of parameters that are known before a trial and not chosen, such as ``{"humidity": 0.4}``,
            or a function that takes the new trial and returns them. ``trial.suggest_float("humidity", 0, 1)`` then
            returns the value, and the other parameters are chosen for it. Shares of mixtures cannot be in it.
        periodic: names of float parameters whose upper end is the same as the lower one, such as angles.
        mixtures: parameters that are shares of a whole, as in a study: ``[{"parameters": ["water", "oil", "salt"]}]``.
            The objective requests each with ``trial.suggest_float``, and the shares of a trial sum to the total. A
            mixture applies to trials that have all of its shares.
        plates: trials form plates that share some values, and an offset of their results that the model learns:
            ``{"size": 24, "shared": ["temperature"]}``. The first trial of a plate enqueues the others when its shared
            values are known, at the latest when it ends. ``study.optimize`` and ``study.ask`` take these next. The user
            attribute ``adabkb:plate`` has the number of a trial's plate. Trials that a user enqueues are on no plate.
        ranges: ranges of shares that are not from 0 to the total, such as ``{"water": (0.2, 0.8)}``. The sampler must
            know them, because it chooses all shares when the objective requests the first one.
        robust: whether results that other results contradict get less weight, and their points are suggested again.
        independent_sampler: for parameters without a model: those that no complete trial has, or whose range changes
            from trial to trial. By default ``RandomSampler(seed)``.
        others: there are no other arguments. The error for another setting of a study says what Optuna has instead.

    Raises:
        TypeError: an argument does not exist, or has another type.
        ValueError: an argument: ``noise_std`` is negative, a constraint cannot be parsed, an earlier study has too few
            trials, a mixture has no points, the context gives a share of a mixture or a shared value of plates, or
            ``per_cost`` is given without ``cost``. When sampling: the context is invalid, ``noise_std`` or an earlier
            study does not fit the number of objectives, there are more than four objectives, a belief does not fit its
            parameter, a parameter cannot be periodic, a share has another range than the sampler expects, or no point
            satisfies the constraints and mixtures. After a trial: its cost is not a positive number, a complete trial
            has no cost, or its shares violate a mixture.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        noise_std: float | Sequence[float | None] | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        constraints: Sequence[str] = (),
        prior: Mapping[str, Belief] | None = None,
        transfer_from: Sequence[Study] = (),
        periodic: Sequence[str] = (),
        mixtures: Sequence[Mixture] = (),
        ranges: Mapping[str, Range] | None = None,
        plates: Declared | None = None,
        robust: bool = False,
        cost: CostSource | None = None,
        per_cost: bool = False,
        context: Context | None = None,
        independent_sampler: BaseSampler | None = None,
        **others: Never,
    ) -> None:
        _check_others(others)
        given = tuple(noise_std) if isinstance(noise_std, Sequence) else (noise_std,)
        if negative := next((each for each in given if each is not None and not each >= 0), None):
            raise ValueError(f"noise_std must be 0 or more, not {negative}; leave it out to learn the noise")
        self._seed = secrets.randbits(32) if seed is None else seed
        self._noises = None if noise_std is None else given
        self._constraints_func = constraints_func
        self._constraints = _parsed(constraints)
        self._prior = dict(prior or {})
        self._earlier = earlier_studies(transfer_from)
        if isinstance(periodic, str):
            raise TypeError(f"periodic must be a list of names, such as [{periodic!r}]")
        self._periodic = frozenset(periodic)
        self._shares = Shares(mixtures, ranges or {})
        self._plates = None if plates is None else Plates(plates, tuple(self._shares.distributions))
        self._robust = robust
        if cost not in (None, "told", "measured"):
            raise ValueError(f'cost must be "told" (a user attribute) or "measured" (the duration), not {cost!r}')
        if per_cost and cost is None:
            raise ValueError('per_cost also needs cost: "told" (a user attribute) or "measured" (the duration)')
        if not (context is None or callable(context) or isinstance(context, Mapping)):
            raise TypeError(f'context must be a dict, such as {{"humidity": 0.4}}, or a function, not {context!r}')
        if isinstance(context, Mapping):
            self._check_context(context)
        self._cost: CostSource | None = cost
        self._per_cost = per_cost
        self._context = context
        self._independent_sampler = independent_sampler or RandomSampler(seed=seed)
        self._models: list[Model] = []
        self._knowledge: dict[Hashable, tuple[Prior | None, tuple[Older, ...]]] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without caches; a copy in another process builds its own."""
        return {**vars(self), "_models": [], "_knowledge": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()

    def reseed_rng(self) -> None:
        """Reseed the independent sampler. The model needs no other seed, since it knows the points of other workers."""
        self._independent_sampler.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the parameters of all branches; ``sample_relative`` returns values for those of one branch."""
        del trial
        self._check_objectives(study)
        found = branches(_completed(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))))
        space = {name: distribution for branch in found for name, distribution in branch.distributions.items()}
        return {name: distribution for name, distribution in sorted(space.items()) if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return values for the parameters of the most promising branch; empty while there is no model."""
        self._check_objectives(study)
        context = self._context_of(study, trial)
        if not search_space:
            self._begin_plate(study, trial, {})
            return {}
        with self._lock, one_thread():
            while True:
                others = _others(study, trial)
                values = self._suggested(study, trial, others, search_space, context)
                study._storage.set_trial_system_attr(trial._trial_id, SUGGESTED, values)
                # Another process may have suggested the same point meanwhile.
                if not values or _suggested_to(_others(study, trial), values) <= _suggested_to(others, values):
                    found = external(values, search_space)
                    self._begin_plate(study, trial, found)
                    return found

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return the middle of the range or, with a belief, the most probable value for the first trial, and the
        independent sampler's value for others: the first one that satisfies the constraints of which all other
        parameters are known. A context parameter has its given value."""
        self._check_objectives(study)
        context = self._context_of(study, trial)
        if param_name in context:
            return checked(param_name, context[param_name], param_distribution)
        shares = self._shares_of(study, trial, param_name, param_distribution)
        if param_name in shares:
            return shares[param_name]
        drawn = (
            self._independent_sampler.sample_independent(study, trial, param_name, param_distribution)
            for _ in range(ATTEMPTS)
        )
        value: Any = None
        for value in chain(self._first(param_name, param_distribution) if trial.number == 0 else (), drawn):
            known = {**context, **shares, **trial.params, param_name: value}
            if all(each.holds(known) for each in self._constraints if each.names.keys() <= known.keys()):
                break
        self._begin_plate(study, trial, {param_name: value})
        return value

    def _begin_plate(self, study: Study, trial: FrozenTrial, values: Mapping[str, Any]) -> None:
        """Begin a plate with a trial if all of its shared values are known: those given here, those requested before,
        and fixed ones."""
        if self._plates is not None:
            self._plates.begin(study, trial, {**fixed_values(study.sampler), **trial.params, **values})

    def _check_context(self, context: Mapping[str, Any]) -> None:
        """Check that the context has no parameter that the sampler must choose.

        Raises:
            ValueError: it has a share of a mixture, or a shared parameter of plates.
        """
        if name := next((each for each in self._shares.distributions if each in context), None):
            raise ValueError(
                f"context has {name!r}, a share of a mixture, which the sampler must choose; leave it out of the "
                f"mixture, or of the context"
            )
        shared = () if self._plates is None else self._plates.shared
        if name := next((each for each in shared if each in context), None):
            raise ValueError(f"plates['shared'] has {name!r}, which the context gives; leave it out")

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Call the independent sampler."""
        self._independent_sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Begin a plate if the trial is on none, store the trial's constraints, check its cost, and call the
        independent sampler."""
        self._begin_plate(study, trial, {})
        if self._constraints_func is not None:
            _process_constraints_after_trial(self._constraints_func, study, trial, state)
        self._independent_sampler.after_trial(study, trial, state, values)
        if self._cost == "told" and state is not TrialState.FAIL:
            check_told_cost(trial, state)
        if state is TrialState.COMPLETE:
            self._shares.check_trial(trial)

    def _shares_of(
        self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution
    ) -> Mapping[str, Any]:
        """Return the shares of a trial that were chosen without a model; empty if none were requested. If ``name`` is
        the first one, choose them, and store them."""
        kept: Mapping[str, Any] = trial.system_attrs.get(SHARES, {})
        if name not in self._shares.distributions:
            return kept
        self._shares.check_range(name, distribution)
        if not kept:
            kept = self._shares.drawn(self._shares.held(trial), self._constraints, self._seed, trial.number)
            study._storage.set_trial_system_attr(trial._trial_id, SHARES, dict(kept))
        return kept

    def _context_of(self, study: Study, trial: FrozenTrial) -> Mapping[str, Any]:
        """Return the context of a trial, by parameter. It is determined once, and stored."""
        if self._context is None:
            return {}
        kept: Mapping[str, Any] | None = study._storage.get_trial(trial._trial_id).system_attrs.get(CONTEXT)
        if kept is None:
            kept = self._context(trial) if callable(self._context) else self._context
            if not isinstance(kept, Mapping):
                raise TypeError(f'context() must return a dict, such as {{"humidity": 0.4}}, not {kept!r}')
            self._check_context(kept)
            kept = {name: plain_value(value) for name, value in kept.items()}  # databases store JSON
            study._storage.set_trial_system_attr(trial._trial_id, CONTEXT, kept)
        return kept

    def _suggested(
        self,
        study: Study,
        trial: FrozenTrial,
        trials: Sequence[FrozenTrial],
        search_space: Mapping[str, BaseDistribution],
        context: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return values by parameter, given the other trials; choices by index. Empty if they should be sampled
        independently."""
        histories = self._histories(study, trials, search_space, context)
        if not histories or (len(histories) > 1 and trial.number % PERIOD == 0):
            return {}
        offers = []
        for each in histories:
            on_plate = {} if self._plates is None else self._plates.held(trial)
            given = _given(each, {**context, **self._shares.held(trial), **on_plate})
            model, within = self._model(each), _within(each, given)
            points = model.suggest(each.pending, each.moved, within=within if within.fixed else None)
            # If every point of a finite space is taken, a random one is repeated.
            point = points[0] if points else self._random(within, trial.number)
            values = decoded(each.space, point) | plain(given, each.branch.distributions)
            offers.append((_rank(each, model.promise(point), histories), values))
        _, values = max(offers, key=lambda offer: offer[0])
        return values

    def _histories(
        self,
        study: Study,
        trials: Sequence[FrozenTrial],
        search_space: Mapping[str, BaseDistribution],
        context: Mapping[str, Any],
    ) -> list[History]:
        """Return the trials from the perspective of each open branch."""
        ordered = _completed(trials) + [each for each in trials if each.state is TrialState.RUNNING]
        histories = []
        for branch in branches(each for each in ordered if each.state is TrialState.COMPLETE):
            space = branch.space(search_space, self._constraints, self._periodic, context.keys(), self._shares.mixtures)
            if space.dimension:
                goals = goals_of(study.directions, branch.trials, self._cost)
                histories.append(history(branch, space, ordered, goals))
        return [each for each in histories if each.left < LEFT]

    def _random(self, within: Slice, number: int) -> Array:
        """Return a random point, (d,)."""
        if within.space.is_restricted or within.fixed:
            return within.drawn(self._seed, number)
        return uniforms(self._seed, number, within.space.dimension)

    def _check_objectives(self, study: Study) -> None:
        count = len(study.directions)
        if count > MAX_OBJECTIVES:
            raise ValueError(
                f"AdaBKBSampler supports up to {MAX_OBJECTIVES} objectives, but this study has {count}; turn some into "
                f"constraints, or use optuna.samplers.NSGAIISampler"
            )
        if self._noises is not None and len(self._noises) != count:
            raise ValueError(
                f"noise_std must have one value for each of the {count} objectives, not {len(self._noises)}; "
                "write None for one whose noise is learned"
            )

    def _first(self, name: str, distribution: BaseDistribution) -> tuple[Any]:
        """Return the value of a parameter for the first trial."""
        space = Space((axis(name, distribution, periodic=self._periodic),))
        if name in self._prior and space.dimension:
            return (best_guess(self._prior[name], distribution, space),)
        return (external(space.decode([0.5] * space.dimension), {name: distribution})[name],)

    def _known(self, seen: History) -> tuple[Prior | None, tuple[Older, ...]]:
        """Return the prior and the earlier results in the space of a branch."""
        known, objectives = seen.branch.distributions, len(seen.goals.signs)
        key = seen.space, tuple(known.items()), objectives
        if key not in self._knowledge:
            older = (found for each in self._earlier for found in each.older(seen.space, known, objectives))
            self._knowledge[key] = prior_in(seen.space, self._prior, known), tuple(older)
        return self._knowledge[key]

    def _model(self, seen: History) -> Model:
        """Return the model of a branch: the cached one that has learned most of its results, updated."""
        prior, older = self._known(seen)
        config = seen.goals.config(self._noises or (None,) * len(seen.goals.signs), per_cost=self._per_cost)
        has_plates = self._plates is not None
        config = replace(config, prior=prior, older=older, robust=self._robust, has_plates=has_plates)
        kept = [each for each in self._models if each.space == seen.space and each.config == config]
        usable = [each for each in kept if each.agrees_with(seen.results)]
        model = max(usable, key=lambda each: each.size, default=None) or Model(seen.space, self._seed, config)
        self._models = [*(each for each in self._models if each is not model), model][-MODELS:]
        model.learn(seen.results)
        return model


def _given(seen: History, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the context for the parameters of a branch, in the form of ``external``.

    Raises:
        ValueError: a value is not one of its parameter.
    """
    names = [each.name for each in seen.space.axes if each.name in context]
    return {name: checked(name, context[name], seen.branch.distributions[name]) for name in names}


def _within(seen: History, given: Mapping[str, Any]) -> Slice:
    """Return the points of a branch that have the given values.

    Raises:
        ValueError: none of them satisfies the constraints.
    """
    axes = [each for each in seen.space.axes if each.name in given]
    fixed = {each.name: _of_axis(each, given[each.name], seen.branch.distributions[each.name]) for each in axes}
    within = Slice(seen.space, fixed)
    if fixed and not has_points(within):
        raise ValueError("context leaves no point that satisfies the constraints")
    return within


def _of_axis(axis: Axis, value: Any, distribution: BaseDistribution) -> Any:
    """Return a value as the axis has it: choices may be represented by their indices."""
    if isinstance(axis, ChoiceAxis):
        return axis.choices[int(distribution.to_internal_repr(value))]
    return canonical(axis, value)


def _check_others(others: Mapping[str, Any]) -> None:
    for name in others:
        if name in ELSEWHERE:
            raise TypeError(f"AdaBKBSampler takes no {name}: {ELSEWHERE[name]}")
        raise TypeError(f"AdaBKBSampler has no argument {name!r}")


def _parsed(constraints: Sequence[str]) -> tuple[Constraint, ...]:
    if isinstance(constraints, str):
        raise TypeError(f"constraints must be a list of strings, such as [{constraints!r}]")
    found = tuple(Constraint(each.strip()) for each in constraints)
    for each in found:
        try:
            each.names  # noqa: B018 - it parses the text
        except ConstraintError as error:
            raise ValueError(f"constraints: {each.text!r} {error}") from None
    return found


def _others(study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
    return [each for each in study.get_trials(deepcopy=False) if each.number != trial.number]


def _suggested_to(trials: Sequence[FrozenTrial], values: Mapping[str, Any]) -> set[int]:
    """Return the numbers of the trials to which these values were suggested."""
    return {each.number for each in trials if each.system_attrs.get(SUGGESTED) == values}


def _rank(seen: History, promise: Promise, histories: Sequence[History]) -> tuple[int, float, float]:
    """Return the sort key of branches, larger is better: branches with few trials first, then by promise.

    The value of a promise is its advantage over all results (the additive epsilon indicator of Zitzler et al. 2003):
    min over results y of max over objectives k of (promise_k - y_k) / range_k.
    """
    aimed_at = len(seen.branch.trials) + len(seen.pending)
    values = np.array([each for history in histories for each in history.values] or [promise.objectives])
    scale = np.maximum(np.abs(values).max(axis=0), 1e-300)  # differences of halves do not overflow
    halves, promised = values / scale / 2, np.nan_to_num(np.array(promise.objectives)) / scale / 2
    ranges = np.ptp(halves, axis=0)
    gains = (promised - halves) / np.where(ranges > 0, ranges, 1.0)
    worth = float(gains.max(axis=1).min())
    return max(FIRST - aimed_at, 0), -promise.violation, worth


def _completed(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Return the finished trials, in order of completion."""
    finished = [trial for trial in trials if trial.state in FINISHED]
    return sorted(finished, key=_end)


def _end(trial: FrozenTrial) -> tuple[datetime, int]:
    assert trial.datetime_complete is not None
    return trial.datetime_complete, trial.number
