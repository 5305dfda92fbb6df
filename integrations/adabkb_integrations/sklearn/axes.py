"""Convert distributions of scikit-learn searches to axes of the engine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from scipy.stats import rv_discrete

from adabkb_client import Categorical, Float, Int, Ordinal
from adabkb_integrations.domain import Declared, Domain, domain_of
from adabkb_integrations.ordered import is_ordered

ORIGIN = "param_distributions"

LOGARITHMIC = ("loguniform", "reciprocal")
"""Names of scipy's log-uniform distribution."""


def domain(distributions: Mapping[str, Any]) -> Domain:
    """Return the search space of ``param_distributions``.

    Raises:
        TypeError: a parameter is not declared by a list, a frozen distribution of scipy or a parameter of
            ``adabkb_client``.
        ValueError: a parameter has no values, no bounds or invalid bounds; or nothing varies.
    """
    if not isinstance(distributions, Mapping):
        raise TypeError(f"param_distributions must be a dict of parameters, not {distributions!r}")
    return domain_of({name: _declared(name, value) for name, value in distributions.items()}, ORIGIN)


def _declared(name: str, given: Any) -> Declared:
    """Return the corresponding parameter of ``adabkb_client``."""
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
