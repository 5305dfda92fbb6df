"""What the server answers about what its model has found out, as frozen records."""

from dataclasses import dataclass
from typing import Any

from adabkb_client import html, text
from adabkb_client.models import Parameters, Prediction


@dataclass(frozen=True)
class ParameterImportance:
    """Sobol' indices of a parameter, between 0 and 1, with their standard errors.

    ``first_order`` is the share of the variance of the posterior mean over the space that the parameter explains by
    itself, ``total`` the share that it explains together with all others. Both are 0 for a fixed parameter.
    """

    name: str
    first_order: float
    first_order_error: float
    total: float
    total_error: float


@dataclass(frozen=True, repr=False)
class Importance:
    """Which parameters the objective depends on, by the model.

    ``parameters`` is empty if there is a ``reason``: "too_few_results" or "constant". ``std`` is the standard deviation
    of the posterior mean over the space, in the objective's units; ``results`` is what the model rests on.
    """

    results: int
    std: float | None
    parameters: tuple[ParameterImportance, ...]
    reason: str | None

    def __repr__(self) -> str:
        return text.importance(self)

    def _repr_html_(self) -> str:
        return html.importance(self)


@dataclass(frozen=True)
class ValidationItem:
    """A result, by the number of its observation, and what the model would predict of it from the others.

    ``lcb`` and ``ucb`` are the ends of the interval that should hold the result with 90% probability; ``tail`` is the
    probability of a result that is at least as far out. A ``doubted`` one weighs less, since the others contradict it;
    only studies that are ``robust`` have such results.
    """

    observation: int
    value: float
    mean: float
    std: float
    lcb: float
    ucb: float
    tail: float
    doubted: bool = False


@dataclass(frozen=True, repr=False)
class Validation:
    """Leave-one-out: results that count, predicted from the others, 800 at most.

    ``inside`` is the share of them in their 90% intervals; ``error`` is the mean absolute error of the predictions, and
    ``error_of_median`` that of the median of the others in their place. ``items`` is empty if there is a ``reason``:
    "too_few_results", "constant" or "not_this_system".
    """

    results: int
    items: tuple[ValidationItem, ...]
    inside: float | None
    error: float | None
    error_of_median: float | None
    reason: str | None

    def __repr__(self) -> str:
        return text.validation(self)


@dataclass(frozen=True)
class SliceAxis:
    """A parameter that varies along a slice, and its values in order."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, repr=False)
class Slice:
    """The posterior along one or two parameters, with the others ``at`` some values.

    ``predictions`` are at all combinations of the values of ``axes``; the last parameter varies fastest.
    """

    results: int
    axes: tuple[SliceAxis, ...]
    at: Parameters
    predictions: tuple[Prediction, ...]

    def __repr__(self) -> str:
        return text.slice_(self)
