"""What a search does: its options, validated."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from adabkb_client import Mixture, Parameter
from adabkb_client._parameters import to_wire
from adabkb_client._run.evaluation import Evaluation
from adabkb_client._run.options import check_catch
from adabkb_client._trial import Objective
from adabkb_client._values import finite
from adabkb_integrations.beliefs import prior_of
from adabkb_integrations.domain import Domain, domain_of
from adabkb_integrations.inprocess.choices import with_tuples
from adabkb_integrations.inprocess.ending import Rules, rules_of
from adabkb_integrations.inprocess.held import restriction, with_assumed
from adabkb_integrations.inprocess.measured import COST, Measurements, measurements
from adabkb_integrations.inprocess.names import check_names
from adabkb_integrations.inprocess.near import baseline_of
from adabkb_integrations.inprocess.numbers import at_least
from adabkb_integrations.inprocess.older import older_of
from adabkb_integrations.inprocess.options import AUTO, DEFAULTS, Options, SearchBudget
from adabkb_integrations.inprocess.plates import Layout, layout_of
from adabkb_integrations.inprocess.stopping import rule_of
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.early_stopping import Rule
from adabkb_service.engine.older import Older
from adabkb_service.engine.sampling import config as sampling

SEEDS = 2**31

Direction = Literal["minimize", "maximize"]


class Budget(NamedTuple):
    """The budget of a search, of which exactly one number is given."""

    trials: int | None = None
    cost: float | None = None
    plates: int | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A search that can begin."""

    direction: Direction
    """Also the name of the function that the user called."""
    function: Objective
    options: Options
    """All options; the other fields have the validated form of some of them."""
    seed: int
    declared: Mapping[str, Parameter]
    """The parameters, in which lists are tuples."""
    domain: Domain
    in_context: tuple[str, ...]
    """The context parameters that are measured with the result."""
    measured: Measurements
    evaluation: Evaluation
    budget: Budget
    plates: Layout | None
    config: Config | sampling.Config
    rule: Rule | None
    """The rule of early stopping."""
    rules: Rules
    """The rules that end the search."""
    baseline: Mapping[str, Any]
    """The engine's values of the baseline; empty without one."""


def plan_of(
    direction: Direction, function: Objective, space: Mapping[str, Parameter], budget: SearchBudget, options: Options
) -> Plan:
    """Return the plan of a search; the arguments are those of ``minimize``, which has the errors."""
    check_names(direction, options)
    given: Options = {**DEFAULTS, **options}
    seed = secrets.randbelow(SEEDS) if given["seed"] is None else at_least("seed", given["seed"], 0)
    measured = measurements(
        direction, given["metrics"], given["outcome_constraints"], given["objectives"], given["cost"]
    )
    limit = _budget(budget)
    check_catch(given["catch"])
    domain = _domain(space, given["constraints"], given["mixtures"])
    in_context = _in_context(space, domain)
    if given["early_stopping"] is not None and not given["pass_trial"]:
        raise ValueError("early_stopping also needs pass_trial=True, so that the function can call trial.report")
    plates = layout_of(given["plates"], domain, space, given["mixtures"], limit.plates)
    _check_context(given, domain, in_context)
    evaluation = Evaluation(function, pass_trial=given["pass_trial"], expected=measured.expected(in_context))
    evaluation.check(
        [name for name in space if name not in in_context], [name for name, each in space.items() if each.when]
    )
    config = _config(given, measured, limit.cost, domain)
    has_context, has_model = bool(domain.space.context), isinstance(config, Config)
    rule = rule_of(given["early_stopping"], measured, has_model=has_model)
    rules = rules_of(given["stop"], given["tolerance"], measured, has_context=has_context, has_model=has_model)
    baseline = baseline_of(given["baseline"], domain)
    _check_baseline(baseline, measured, has_model=has_model)
    return Plan(
        direction=direction,
        function=function,
        options=given,
        seed=seed,
        declared=with_tuples(space),
        domain=domain,
        in_context=in_context,
        measured=measured,
        evaluation=evaluation,
        budget=limit,
        plates=plates,
        config=config,
        rule=rule,
        rules=rules,
        baseline=baseline,
    )


def _domain(space: Mapping[str, Parameter], constraints: Sequence[str], mixtures: Sequence[Mixture]) -> Domain:
    if not isinstance(space, Mapping):
        raise TypeError(f'space must be a dict of parameters, such as {{"x": Float(0, 1)}}, not {space!r}')
    to_wire(space)  # refuses other kinds, and values that are not finite
    return domain_of(with_tuples(space), "space", constraints, mixtures)


def _config(
    given: Options, measured: Measurements, cost_budget: float | None, domain: Domain
) -> Config | sampling.Config:
    """Return the configuration of the engine."""
    config = _algorithm(given, measured, domain)
    older = older_of(given["transfer_from"], domain, measured)
    _check_model(config, given, measured, cost_budget, older)
    if not isinstance(config, Config):
        return config
    return replace(
        config,
        metrics=measured.others,
        objective=measured.objective,
        per_cost=given["per_cost"],
        robust=given["robust"],
        cost_budget=cost_budget,
        older=older,
    )


def _algorithm(given: Options, measured: Measurements, domain: Domain) -> Config | sampling.Config:
    algorithm, prior = given["algorithm"], prior_of(given["prior"], domain)
    noises = measured.noises(given["noise_std"])
    if algorithm in (AUTO, {"kind": "ada-bkb", **AUTO}):
        return Config(noise_std=noises[0], prior=prior, has_plates=given["plates"] is not None)
    kind = algorithm.get("kind") if isinstance(algorithm, Mapping) and len(algorithm) == 1 else None
    if kind not in ("random", "sobol"):
        raise ValueError(
            f'algorithm must be {{"profile": "auto"}}, {{"kind": "random"}} or {{"kind": "sobol"}}, not {algorithm!r}; '
            "studies on a server support more algorithms"
        )
    if prior is not None:
        raise ValueError('prior requires the algorithm {"profile": "auto"}; leave one of the two out')
    if kind == "sobol" and domain.space.mixtures:
        raise ValueError('mixtures cannot be combined with the algorithm {"kind": "sobol"}; use {"kind": "random"}')
    return sampling.Config(kind, repeats=any(noises))


def _budget(given: SearchBudget) -> Budget:
    if not isinstance(given, Mapping):
        return Budget(trials=at_least("budget", given, 1))
    if set(given) == {"plates"}:
        return Budget(plates=at_least("budget['plates']", given["plates"], 1))  # type: ignore[arg-type]
    if set(given) != {COST} or not (most := finite("budget", given[COST])) > 0.0:
        raise ValueError(
            f'budget must be a number of trials, or {{"cost": 600}} with a positive cost, or {{"plates": 3}}, not '
            f"{given!r}"
        )
    return Budget(cost=most)


def _in_context(space: Mapping[str, Parameter], domain: Domain) -> tuple[str, ...]:
    """Return the context parameters that are measured with the result, on which no condition and no constraint may
    depend."""
    names = tuple(name for name, each in space.items() if getattr(each, "context", False) == "measured")
    for name in names:
        if any(name in (each.when or ()) for each in space.values()):
            raise ValueError(f"{name} is measured with the result, so no condition (when) can depend on it")
        if any(name in each.names for each in domain.space.constraints):
            raise ValueError(f"{name} is measured with the result, so no constraint can name it")
    return names


def _check_context(given: Options, domain: Domain, in_context: Sequence[str]) -> None:
    context, known = given["context"], domain.space.context - set(in_context)
    if context is None and known:
        raise ValueError(
            f"context must have the values of {', '.join(sorted(known))}, or be a function that returns them"
        )
    if not callable(context):
        restriction(domain, with_assumed(domain, context, in_context, ()), given["fixed"])


def _check_baseline(baseline: Mapping[str, Any], measured: Measurements, *, has_model: bool) -> None:
    if baseline and measured.has_several:
        raise ValueError("baseline cannot be combined with several objectives, which have a front; leave it out")
    if baseline and not has_model:
        raise ValueError('baseline requires the algorithm {"profile": "auto"}; leave one of the two out')


def _check_model(
    config: Config | sampling.Config,
    given: Options,
    measured: Measurements,
    cost_budget: float | None,
    older: Sequence[Older],
) -> None:
    per_cost = given["per_cost"]
    if measured.cost is None and (per_cost or cost_budget is not None):
        name = "per_cost" if per_cost else "a cost budget"
        raise ValueError(f'{name} also needs the option cost: "told" (by each result) or "measured" (in seconds)')
    if not isinstance(config, Config) and (per_cost or older or given["robust"]):
        name = "per_cost" if per_cost else "transfer_from" if older else "robust"
        raise ValueError(f'{name} requires the algorithm {{"profile": "auto"}}; leave one of the two out')
