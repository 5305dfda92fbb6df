"""What users of scikit-learn declare, as axes of the engine.

Choices are known by their index, since a choice may be any object, such as an estimator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import rv_discrete

from adabkb_client import Bool, Categorical, Fixed, Float, Int, Ordinal
from adabkb_integrations.model import Array
from adabkb_integrations.ordered import is_ordered
from adabkb_service.engine import axes as engine
from adabkb_service.engine import space as spaces

LOGARITHMIC = ("loguniform", "reciprocal")
"""Names of scipy's log-uniform distribution."""


@dataclass(frozen=True)
class Domain:
    """A search space, and the values that the indices of choices stand for."""

    space: spaces.Space
    choices: Mapping[str, Sequence[Any]]

    @property
    def size(self) -> float:
        """Number of points; infinite if a parameter is real."""
        return math.prod(math.inf if axis.count is None else axis.count for axis in self.space.axes)

    def decode(self, point: Array) -> dict[str, Any]:
        """Return the parameters at a position (d,)."""
        found = self.space.decode(point)
        return {
            name: self.choices[name][value] if name in self.choices else value  # type: ignore[index]  # it is an index
            for name, value in found.items()
        }


def domain(distributions: Mapping[str, Any]) -> Domain:
    """Return the search space of what ``param_distributions`` says.

    Raises:
        TypeError: a parameter is declared by something else than a list, a frozen distribution of scipy or one of
            ours.
        ValueError: a parameter has no values, or no bounds, or bounds in the wrong order; or nothing varies.
    """
    if not isinstance(distributions, Mapping):
        raise TypeError(f"param_distributions must be a dict of parameters, not {distributions!r}")
    declared = {name: _declared(name, value) for name, value in distributions.items()}
    choices = {name: values for name, each in declared.items() if (values := _choices(each)) is not None}
    found = spaces.Space(tuple(_axis(name, each) for name, each in declared.items()))
    if not found.axes:
        raise ValueError("param_distributions: no parameter has more than one value, so there is nothing to search")
    return Domain(found, choices)


Declared = Float | Int | Ordinal | Categorical | Bool | Fixed


def _declared(name: str, given: Any) -> Declared:
    """One of our kinds of parameters."""
    if isinstance(given, Declared):
        return given
    if hasattr(given, "support") and hasattr(given, "dist"):
        return _of_distribution(name, given)
    if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__len__"):
        raise TypeError(
            f"param_distributions[{name!r}] must be a list of values, a frozen distribution of scipy.stats such as "
            f"loguniform(1e-3, 1e3), or a parameter of adabkb_client such as Float(1e-3, 1e3, log=True); not {given!r}"
        )
    values = list(given)
    return Ordinal(tuple(values)) if is_ordered(values) else Categorical(tuple(values))


def _of_distribution(name: str, given: Any) -> Declared:
    low, high = (end.item() if hasattr(end, "item") else end for end in given.support())
    if not math.isfinite(low) or not math.isfinite(high):
        raise ValueError(
            f"param_distributions[{name!r}]: {given.dist.name} has no bounds (its values are from {low} to {high}); "
            "give a distribution with bounds, such as uniform(loc, scale), loguniform(low, high) or randint(low, high)"
        )
    if isinstance(given.dist, rv_discrete):
        return Int(int(low), int(high))
    return Float(float(low), float(high), log=given.dist.name in LOGARITHMIC)


def _choices(declared: Declared) -> Sequence[Any] | None:
    match declared:
        case Ordinal():
            return tuple(declared.values)
        case Categorical():
            return tuple(declared.choices)
        case Bool():
            return (False, True)
        case Fixed():
            return (declared.value,)
        case _:
            return None


def _axis(name: str, declared: Declared) -> engine.Axis | spaces.Fixed:
    choices = _choices(declared)
    if choices is not None:
        if not choices:
            raise ValueError(f"param_distributions[{name!r}] has no values")
        indices = tuple(range(len(choices)))
        ordered = isinstance(declared, Ordinal)
        return engine.ChoiceAxis(name, indices, ordered) if len(choices) > 1 else spaces.Fixed(name, 0)
    assert isinstance(declared, Float | Int)
    if not declared.low < declared.high:
        raise ValueError(f"param_distributions[{name!r}]: high must be greater than low, and {declared} has it not")
    if declared.log and not declared.low > 0:
        raise ValueError(f"param_distributions[{name!r}]: low must be positive on a log scale, not {declared.low}")
    scale: engine.Scale = "log" if declared.log else "linear"
    if isinstance(declared, Int):
        return engine.IntAxis(name, declared.low, declared.high, scale, declared.step)
    if declared.step is not None:
        return engine.StepAxis(name, declared.low, declared.high, declared.step)
    return engine.FloatAxis(name, declared.low, declared.high, scale)
