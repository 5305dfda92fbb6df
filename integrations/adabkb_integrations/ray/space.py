"""Convert a search space of Ray Tune to parameters of a study. A nested parameter is named "outer/inner"."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ray.tune.search import sample

from adabkb_client import Bool, Categorical, Fixed, Float, Int, Ordinal, Parameter
from adabkb_integrations.ordered import is_ordered

SEPARATOR = "/"


def parameters(param_space: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the parameters of a search space. Tune itself handles the constant parts.

    Raises:
        ValueError: a part of the space has no counterpart: a grid, a function, an unbounded distribution, or a domain
            in a list.
    """
    return dict(_varying(param_space, ()))


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by name in Tune's nested form."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        *outer, inner = name.split(SEPARATOR)
        within = found
        for each in outer:
            within = within.setdefault(each, {})
        within[inner] = value
    return found


def _varying(given: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, Parameter]]:
    for key, value in given.items():
        name = SEPARATOR.join((*path, key))
        if isinstance(value, Parameter):
            yield name, value
        elif isinstance(value, sample.Domain):
            yield name, _declared(name, value)
        elif isinstance(value, Mapping):
            if "grid_search" in value:
                raise ValueError(f"parameter {name!r}: a model cannot search a grid; use tune.choice([...])")
            yield from _varying(value, (*path, key))
        elif isinstance(value, list | tuple) and any(isinstance(each, sample.Domain | Parameter) for each in value):
            raise ValueError(f"parameter {name!r}: a list cannot contain parameters; use a dict instead")


def _declared(name: str, domain: sample.Domain) -> Parameter:
    sampler, step = _sampler(domain)
    log = isinstance(sampler, sample.LogUniform)
    if log or isinstance(sampler, sample.Uniform):
        match domain:
            case sample.Categorical():
                return _choice(domain.categories)
            case sample.Float() if step is None:
                return Float(domain.lower, domain.upper, log=log)
            case sample.Float() if not log:
                return Float(domain.lower, domain.upper, step=step)
            case sample.Integer() if step is None:
                return _interval(domain.lower, domain.upper - 1, log, 1)
            case sample.Integer():  # quantized integers are multiples of the step up to the upper bound, inclusive
                return _interval(math.ceil(domain.lower / step) * step, domain.upper, log, step)
    raise ValueError(
        f"parameter {name!r}: {type(domain).__name__} with the sampler {sampler} has no counterpart; use tune.uniform, "
        "loguniform, quniform, randint, lograndint, qrandint, qlograndint, choice or a parameter of adabkb_client"
    )


def _sampler(domain: sample.Domain) -> tuple[Any, Any]:
    """Return the sampler of a domain, and its step; None without one."""
    sampler: Any = domain.get_sampler()
    return (sampler.sampler, sampler.q) if isinstance(sampler, sample.Quantized) else (sampler, None)


def _interval(low: int, high: int, log: bool, step: int) -> Parameter:
    return Int(low, high, log=log, step=step) if low < high else Fixed(low)


def _choice(values: Sequence[Any]) -> Parameter:
    if len(values) == 1:
        return Fixed(values[0])
    if len(values) == 2 and all(isinstance(value, bool) for value in values):
        return Bool()
    return Ordinal(values) if is_ordered(values) else Categorical(values)
