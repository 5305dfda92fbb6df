"""The definition of a study: the body of POST /v1/studies, and what ``studies.definition`` stores. ``settings`` has its
fields; here are the rules for their combinations, and the engine's form of a definition."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from pydantic import (
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from adabkb_service.contract import conditions, context
from adabkb_service.contract.algorithms import Algorithm, AutoProfile
from adabkb_service.contract.baseline import Baseline, check_baseline
from adabkb_service.contract.budget import NEEDS_PLATES, PlateBudget
from adabkb_service.contract.catalogue import NEEDS_AUTO as NO_CATALOGUES
from adabkb_service.contract.catalogue import are_at_hand, catalogues_of, check_catalogues
from adabkb_service.contract.constants import incompatible
from adabkb_service.contract.constraints import check_constraints
from adabkb_service.contract.cost import COST, CostBudget, incompatibility_of_cost
from adabkb_service.contract.early_stopping import EarlyStopping, PatienceRule, check_metric
from adabkb_service.contract.metrics import metrics_of
from adabkb_service.contract.mixtures import Mixture, Mixtures, check_mixtures
from adabkb_service.contract.objectives import (
    SINGLE_OBJECTIVE_ONLY,
    check_not_objectives,
    check_single_objective_field,
)
from adabkb_service.contract.parameters import (
    Body,
    CategoricalParameter,
    FloatParameter,
    Parameter,
)
from adabkb_service.contract.plates import Plates, check_plates
from adabkb_service.contract.prior import NEEDS_AUTO as PRIOR_NEEDS_AUTO
from adabkb_service.contract.prior import Beliefs, check_prior, prior_of
from adabkb_service.contract.quantities import Quantities, check_quantities
from adabkb_service.contract.settings import StudyFields
from adabkb_service.contract.stop import Stop
from adabkb_service.contract.transfer import check_transfer
from adabkb_service.engine.auto import config as auto_module
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.early_stopping import Rule
from adabkb_service.engine.feasibility import exclusions
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.sampling import config as sampling_module
from adabkb_service.engine.space import Space
from adabkb_service.engine.threds import config as gp_threds_module

NEEDS_AUTO = (
    "cannot be {name} with this algorithm: only the profile auto can use the estimated result of a stopped trial; use "
    "the profile auto or the rule patience"
)
CANNOT_CONSTRAIN = "are not supported by this algorithm; the profile auto supports them"
NEEDS_AUTO_IF_ROBUST = "needs the profile auto, since other algorithms give all results full weight; leave out robust"


class StudyDefinition(StudyFields, Body):
    """A study as its creator describes it."""

    may_be_edited: ClassVar[bool] = False
    """Whether the space may have been edited, so that it may lack values that its constraints name."""

    @field_validator(*SINGLE_OBJECTIVE_ONLY)
    @classmethod
    def _goes_with_objectives(cls, value: Any, info: ValidationInfo) -> Any:
        objectives = info.data.get("objectives")
        check_single_objective_field(info.field_name or "", value, objectives)
        if info.field_name == "direction" and value is None and objectives == []:
            raise PydanticCustomError("missing", "is required")
        return value

    @field_validator("parameters")
    @classmethod
    def _distinct_names(cls, parameters: list[Parameter]) -> list[Parameter]:
        check_catalogues(parameters, is_stored=cls.may_be_edited)
        names: set[str] = set()
        for parameter in parameters:
            # Unicode has several forms of some letters. Older studies may have two names that look the same.
            name = parameter.name if cls.may_be_edited else unicodedata.normalize("NFC", parameter.name)
            if name in names:
                raise PydanticCustomError(
                    "duplicate",
                    "has two parameters named {name}; give each a different name",
                    {"name": repr(name)},
                )
            names.add(name)
        if all(parameter.kind == "fixed" for parameter in parameters):
            raise PydanticCustomError("fixed", "must have a parameter that is not fixed")
        known = context.find_errors(parameters)
        if field_errors := (conditions.find_errors(parameters) if are_at_hand(parameters) else []) + known:
            raise ValidationError.from_exception_data("parameters", field_errors)
        return parameters

    @field_validator("algorithm")
    @classmethod
    def _fits_parameters(cls, algorithm: Algorithm, info: ValidationInfo) -> Algorithm:
        parameters = info.data.get("parameters")
        if parameters is None:
            return algorithm
        if catalogues_of(parameters) and not algorithm.supports_all_parameters:
            raise incompatible("kind", NO_CATALOGUES)
        if info.data.get("objectives") and not isinstance(algorithm, AutoProfile):
            raise incompatible("kind", "supports only one objective; leave the algorithm out: auto supports several")
        if any(each.when for each in parameters) and not algorithm.supports_all_parameters:
            raise incompatible(
                "kind", "does not support conditions (when); leave the algorithm out: auto supports them"
            )
        is_described = any(isinstance(each, CategoricalParameter) and each.descriptors for each in parameters)
        if is_described and not algorithm.supports_all_parameters:
            raise incompatible("kind", "does not use descriptors; leave the algorithm out: auto uses them")
        is_periodic = any(isinstance(each, FloatParameter) and each.periodic for each in parameters)
        if is_periodic and not algorithm.supports_all_parameters:
            raise incompatible(
                "kind", "does not support periodic parameters; leave the algorithm out: auto supports them"
            )
        if context.context_of(parameters) and not algorithm.supports_slices:
            raise incompatible(
                "kind", "does not support context parameters; leave the algorithm out: auto supports them"
            )
        return algorithm if catalogues_of(parameters) else algorithm.resolved(_space(parameters))

    @field_validator("constraints")
    @classmethod
    def _fit_space(cls, constraints: list[str], info: ValidationInfo) -> list[str]:
        parameters, algorithm = info.data.get("parameters"), info.data.get("algorithm")
        if constraints and parameters is not None and algorithm is not None:
            if not algorithm.supports_constraints:
                raise PydanticCustomError("constraints", CANNOT_CONSTRAIN)
            if are_at_hand(parameters):
                check_constraints(constraints, _space(parameters), was_edited=cls.may_be_edited)
                context.check_not_constrained(constraints, parameters)
        return constraints

    @field_validator("mixtures")
    @classmethod
    def _mixtures_fit(cls, mixtures: Mixtures, info: ValidationInfo) -> Mixtures:
        parameters, algorithm = info.data.get("parameters"), info.data.get("algorithm")
        if mixtures and parameters is not None and algorithm is not None and are_at_hand(parameters):
            check_mixtures(mixtures, parameters, algorithm)
        return mixtures

    @field_validator("stop")
    @classmethod
    def _fits_algorithm(cls, stop: Stop | None, info: ValidationInfo) -> Stop | None:
        algorithm = info.data.get("algorithm")
        if stop is None or algorithm is None:
            return stop
        if detail := stop.incompatibility(algorithm, has_several=bool(info.data.get("objectives"))):
            raise PydanticCustomError("stop", detail)
        return stop

    @field_validator(*context.WITHOUT_CONTEXT_ONLY)
    @classmethod
    def _goes_with_context(cls, value: Any, info: ValidationInfo) -> Any:
        context.check_goes_with_context(info.field_name or "", value, info.data.get("parameters"))
        return value

    @field_validator("early_stopping")
    @classmethod
    def _fits_model(cls, rule: EarlyStopping | None, info: ValidationInfo) -> EarlyStopping | None:
        if rule is not None and "objectives" in info.data:
            check_metric(rule, [each.metric for each in info.data["objectives"]])
        if isinstance(rule, PatienceRule | None) or isinstance(info.data.get("algorithm"), AutoProfile | None):
            return rule
        raise PydanticCustomError("early_stopping", NEEDS_AUTO, {"field": "rule", "name": rule.rule})

    @field_validator("metrics", "outcome_constraints")
    @classmethod
    def _fits_metrics(cls, entries: list[Any], info: ValidationInfo) -> list[Any]:
        names = [each if isinstance(each, str) else each.metric for each in entries]
        check_not_objectives(names, info.data.get("objectives"))
        if len(set(names)) < len(names):
            twice = next(name for index, name in enumerate(names) if name in names[:index])
            sentence = "has {name} twice; name each metric once (a constraint may have lower and upper)"
            raise PydanticCustomError("duplicate", sentence, {"name": repr(twice)})
        algorithm = info.data.get("algorithm")
        if entries and algorithm is not None and not algorithm.supports_metrics:
            raise PydanticCustomError("metrics", "needs the profile auto, since other algorithms model only the value")
        return entries

    @field_validator("prior")
    @classmethod
    def _fits_space(cls, prior: Beliefs, info: ValidationInfo) -> Beliefs:
        parameters, algorithm = info.data.get("parameters"), info.data.get("algorithm")
        if prior and parameters is not None and algorithm is not None:
            if not isinstance(algorithm, AutoProfile):
                raise PydanticCustomError("prior", PRIOR_NEEDS_AUTO)
            if are_at_hand(parameters):
                check_prior(prior, parameters, was_edited=cls.may_be_edited)
        return prior

    @field_validator("baseline")
    @classmethod
    def _fits_parameters_and_algorithm(cls, baseline: Baseline, info: ValidationInfo) -> Baseline:
        parameters, algorithm = info.data.get("parameters"), info.data.get("algorithm")
        if baseline and parameters is not None and algorithm is not None and are_at_hand(parameters):
            check_baseline(baseline, parameters, _space(parameters, (), info.data.get("mixtures") or ()), algorithm)
        return baseline

    @field_validator("robust")
    @classmethod
    def _robust_fits_algorithm(cls, robust: bool, info: ValidationInfo) -> bool:
        if robust and not isinstance(info.data.get("algorithm"), AutoProfile | None):
            raise PydanticCustomError("robust", NEEDS_AUTO_IF_ROBUST)
        return robust

    @field_validator("transfer_from")
    @classmethod
    def _can_transfer(cls, studies: list[str], info: ValidationInfo) -> list[str]:
        check_transfer(studies, info.data)
        return studies

    @field_validator("quantities")
    @classmethod
    def _quantities_fit(cls, quantities: Quantities, info: ValidationInfo) -> Quantities:
        if cls.may_be_edited:  # a change was checked when it was made, and they only serve people
            return quantities
        several = info.data.get("objectives")
        bounded = [each.metric for each in info.data.get("outcome_constraints") or ()]
        metrics = [*(each.metric for each in several or ()), *(info.data.get("metrics") or ()), *bounded]
        if info.data.get("cost"):
            metrics.append(COST)
        check_quantities(quantities, list(dict.fromkeys(metrics)), several=bool(several))
        return quantities

    @field_validator("plates")
    @classmethod
    def _plates_fit(cls, plates: Plates | None, info: ValidationInfo) -> Plates | None:
        parameters, algorithm = info.data.get("parameters"), info.data.get("algorithm")
        if plates is not None and parameters is not None and algorithm is not None:
            check_plates(plates, parameters, algorithm, info.data.get("mixtures") or ())
        return plates

    @model_validator(mode="after")
    def _budget_fits(self) -> Self:
        if isinstance(self.budget, PlateBudget) and self.plates is None:
            raise PydanticCustomError("budget", "{sentence}", {"field": "budget", "sentence": NEEDS_PLATES})
        return self

    @model_validator(mode="after")
    def _cost_fits(self) -> Self:
        if found := incompatibility_of_cost(vars(self)):
            field, sentence = found
            raise PydanticCustomError("cost", "{sentence}", {"field": field, "sentence": sentence})
        return self

    @property
    def cost_budget(self) -> float | None:
        """The total cost that the results may have; None without a cost budget."""
        return self.budget.cost if isinstance(self.budget, CostBudget) else None

    @property
    def metrics_with_bounds(self) -> tuple[Metric, ...]:
        """The metrics of each result and their bounds. If the study has several objectives, they come first."""
        bounds, objectives = map(vars, self.outcome_constraints), map(vars, self.objectives)
        listed = {"metrics": self.metrics, "outcome_constraints": bounds, "objectives": objectives, "cost": self.cost}
        return metrics_of(listed)

    @property
    def dimension(self) -> int:
        """The number of parameters that are not fixed."""
        return sum(parameter.kind != "fixed" for parameter in self.parameters)

    def space(self) -> Space:
        """Return the engine's search space."""
        return _space(self.parameters, tuple(map(Constraint, self.constraints)), self.mixtures)

    def exclusions(self) -> dict[int, str]:
        """Check whether some point satisfies all constraints. Return the errors by the indices of constraints; empty if
        such a point exists. The check may take some seconds of processor time, so it is not part of the validation."""
        return exclusions(self.space()) if self.constraints else {}

    def config(self) -> auto_module.Config | Config | gp_threds_module.Config | sampling_module.Config:
        """Return the configuration of the engine."""
        noise_std = self.objectives[0].noise_std if self.objectives else self.noise_std
        config = self.algorithm.config(noise_std, self.sign)
        if not isinstance(config, auto_module.Config):
            return config
        metrics, several = self.metrics_with_bounds, bool(self.objectives)
        return replace(
            config,
            metrics=metrics[1:] if several else metrics,
            objective=metrics[0] if several else None,
            prior=prior_of(self.prior, self.parameters),
            per_cost=self.per_cost,
            robust=self.robust,
            cost_budget=self.cost_budget,
            has_plates=self.plates is not None,
        )

    @property
    def declares_noise(self) -> bool:
        """Whether the definition says that results are noisy, so that points may be repeated."""
        return bool(self.noise_std) or any(each.noise_std for each in self.objectives)

    @property
    def sign(self) -> float:
        """+1 for a study that maximizes, as the engine does; -1 for one that minimizes. With several objectives, the
        sign of the first one, which the engine uses as the value."""
        direction = self.objectives[0].direction if self.objectives else self.direction
        return 1.0 if direction == "maximize" else -1.0

    @property
    def sign_of_reports(self) -> float:
        """As ``sign``, but for reported values, which may belong to an objective that the early-stopping rule names."""
        metric = None if self.early_stopping is None else self.early_stopping.metric
        goals = {each.metric: each.direction for each in self.objectives}
        return self.sign if metric is None else (1.0 if goals[metric] == "maximize" else -1.0)

    @property
    def stopping_rule(self) -> Rule | None:
        """The engine's rule of early stopping; None without one."""
        return None if self.early_stopping is None else Rule(sign=self.sign_of_reports, **dict(self.early_stopping))


def _space(
    parameters: Sequence[Parameter], constraints: tuple[Constraint, ...] = (), mixtures: Sequence[Mixture] = ()
) -> Space:
    axes, known = tuple(parameter.axis() for parameter in parameters), frozenset(context.context_of(parameters))
    shares = tuple(mixture.of_engine() for mixture in mixtures)
    return Space(axes, constraints, conditions.conditions(parameters), known, shares)
