"""Convert parameters declared with ``adabkb_client`` to a search space of the engine.

A choice may be any object, such as an estimator. The engine represents such choices by their indices.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from adabkb_client import Bool, Catalogue, Categorical, Fixed, Float, Int, Ordinal
from adabkb_client._values import finite, plain
from adabkb_integrations.model import Array
from adabkb_service.engine import axes as engine
from adabkb_service.engine import dependence, shares
from adabkb_service.engine import space as spaces
from adabkb_service.engine.catalogue import CatalogueAxis, table
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.constraints.grammar import ConstraintError
from adabkb_service.engine.feasibility import problems
from adabkb_service.engine.mixtures import Mixture

Declared = Float | Int | Ordinal | Categorical | Catalogue | Bool | Fixed


@dataclass(frozen=True)
class Domain:
    """A search space, and the choices that its indices represent."""

    space: spaces.Space
    choices: Mapping[str, Sequence[Any]]
    """The declared choices, by parameter."""

    @property
    def size(self) -> float:
        """The number of points without regard to constraints, mixtures and conditions; infinite if a parameter is
        real."""
        return math.prod(math.inf if axis.count is None else axis.count for axis in self.space.axes)

    def decode(self, point: Array, held: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the parameters at a position (d,). Values in ``held`` (the engine's values, by name) replace those of
        the position."""
        return self.to_declared({**self.space.decode(point), **(held or {})})

    def to_declared(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of parameters as they were declared, given the engine's values."""
        return {name: self.choices[name][value] if name in self.indexed else value for name, value in values.items()}

    def to_engine(self, argument: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the engine's values of parameters.

        Raises:
            ValueError: a value is not one of the choices.
        """
        return {
            name: _to_engine(f"{argument}[{name!r}]", each, self.choices.get(name)) for name, each in values.items()
        }

    def as_declared(self, argument: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of parameters in which a choice is the declared object, not one that is equal to it.

        Raises:
            ValueError: a value is not one of the choices.
        """
        return self.to_declared(self.to_engine(argument, values))

    def context_to_engine(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Return the engine's values of the context parameters.

        Raises:
            ValueError: the values are not those of the context parameters, or a value is invalid.
        """
        known = self.to_engine("context", context)
        problems = self.space.problems(known, partial=True)
        problems |= dict.fromkeys(known.keys() - self.space.context - problems.keys(), "is not a context parameter")
        problems |= dict.fromkeys(self.space.context - known.keys(), "is missing")
        for name, problem in problems.items():
            raise ValueError(f"context[{name!r}] {problem}")
        return known

    def to_engine_or_none(self, parameters: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the engine's values of the given parameters, without parameters that the space does not have. None if
        a value is not one of its parameter's choices."""
        try:
            return {
                name: _to_engine(name, value, self.choices.get(name))
                for name, value in parameters.items()
                if name in self.space.names
            }
        except ValueError:
            return None

    @cached_property
    def indexed(self) -> frozenset[str]:
        """The parameters whose choices the space represents by indices."""
        return frozenset(name for name, choices in self.choices.items() if not _are_values(choices))


def domain_of(
    declared: Mapping[str, Declared],
    origin: str,
    constraints: Sequence[str] = (),
    mixtures: Sequence[Mapping[str, Any]] = (),
) -> Domain:
    """Return the search space of declared parameters.

    Args:
        declared: the parameters by name.
        origin: the name of the argument that declares them, for errors.
        constraints: constraints, which must not use parameters whose choices are objects.
        mixtures: mixtures as in the definition of a study: ``{"parameters": [...], "total": 1, ...}``.

    Raises:
        TypeError: a mixture is not a dict as in the definition of a study.
        ValueError: a parameter has no values, or its bounds or step are invalid; nothing varies; a constraint cannot be
            parsed or satisfied; a mixture has no points or an invalid share; or a condition is invalid.
    """
    choices = {name: values for name, each in declared.items() if (values := _choices(each)) is not None}
    found = spaces.Space(tuple(_axis(f"{origin}[{name!r}]", name, each) for name, each in declared.items()))
    if not found.axes:
        raise ValueError(f"{origin}: no parameter has more than one value, so there is nothing to search")
    conditions = _conditions(declared, origin, found.parameters, choices)
    context = _context(declared, origin, found)
    found = replace(found, conditions=conditions, context=context, mixtures=mixtures_of(mixtures))
    _check_mixtures(found)
    _check(constraints, Domain(found, choices))
    found = replace(found, constraints=tuple(map(Constraint, constraints)))
    return Domain(found, choices)


def mixtures_of(given: Sequence[Mapping[str, Any]]) -> tuple[Mixture, ...]:
    """Return mixtures in the form of the engine.

    Raises:
        TypeError: a mixture is not a dict as in the definition of a study.
        ValueError: a number of a mixture is out of its range.
    """
    if isinstance(given, Mapping):
        raise TypeError(f"mixtures must be a list of mixtures, such as [{dict(given)!r}]")
    found = []
    for index, each in enumerate(given):
        known = {"parameters", "total", "at_most", "least"}
        if not isinstance(each, Mapping) or not isinstance(each.get("parameters"), Sequence) or each.keys() - known:
            raise TypeError(
                f'mixtures[{index}] must be a dict such as {{"parameters": ["water", "ethanol"], "total": 1, '
                f'"at_most": 2, "least": 0.05}}, where only parameters is required, not {each!r}'
            )
        total, least = finite("total", each.get("total", 1.0)), finite("least", each.get("least", 0.0))
        at_most = each.get("at_most")
        if total <= 0.0 or least < 0.0 or (at_most is not None and operator.index(at_most) < 1):
            raise ValueError(f"mixtures[{index}]: total and at_most must be positive, and least 0 or more")
        found.append(Mixture(tuple(each["parameters"]), total, at_most, least))
    return tuple(found)


def _check_mixtures(space: spaces.Space) -> None:
    conditional = {each.parameter for each in space.conditions}
    for place, sentence in shares.problems(space.mixtures, space.parameters, space.context, conditional):
        at = "".join(f"[{part!r}]" for part in place)
        raise ValueError(f"mixtures{at}: {sentence}")


def _context(declared: Mapping[str, Declared], origin: str, space: spaces.Space) -> frozenset[str]:
    """Return the names of the context parameters."""
    known = [name for name, each in declared.items() if not isinstance(each, Fixed) and each.context]
    for name in known:
        if declared[name].when:
            raise ValueError(f"{origin}[{name!r}]: context and when cannot be combined; leave one of them out")
    if known and all(axis.name in known for axis in space.axes):
        raise ValueError(f"{origin}: all parameters are context, so there is nothing to choose")
    return frozenset(known)


def _conditions(
    declared: Mapping[str, Declared],
    origin: str,
    parameters: Sequence[engine.Axis | spaces.Fixed],
    choices: Mapping[str, Sequence[Any]],
) -> tuple[Condition, ...]:
    """Return the conditions of all parameters, with the engine's values of choices."""
    whens = {
        name: {
            parent: tuple(
                _to_engine(f"{origin}[{name!r}]: when[{parent!r}]", value, choices.get(parent)) for value in values
            )
            for parent, values in each.when.items()
        }
        for name, each in declared.items()
        if each.when
    }
    for name, place, sentence in dependence.problems(parameters, whens):
        at = "".join(f"[{part!r}]" for part in place)
        raise ValueError(f"{origin}[{name!r}]: when{at} {sentence}")
    return dependence.conditions(whens)


def _to_engine(argument: str, value: Any, choices: Sequence[Any] | None) -> Any:
    """Return the engine's value of a choice; a number is unchanged."""
    if choices is None:
        return value
    for choice, known in zip(choices, _values(choices), strict=True):
        if choice is value or engine.identity(choice) == engine.identity(value):
            return known
    raise ValueError(f"{argument}: {value!r} is not one of the choices {list(choices)}")


def _values(choices: Sequence[Any]) -> Sequence[Any]:
    """Return the engine's values of choices: the choices themselves, or their indices."""
    return choices if _are_values(choices) else range(len(choices))


def _are_values(choices: Sequence[Any]) -> bool:
    """Return whether choices are distinct values that the engine supports, rather than objects."""
    if not all(map(_is_value, choices)):
        return False
    return len({engine.identity(choice) for choice in choices}) == len(choices)


def _is_value(choice: Any) -> bool:
    if isinstance(choice, tuple):
        return all(not isinstance(each, tuple) and _is_value(each) for each in choice)
    if isinstance(choice, float):
        return math.isfinite(choice)
    return choice is None or isinstance(choice, bool | int | str)


def _check(constraints: Sequence[str], domain: Domain) -> None:
    if isinstance(constraints, str):
        raise TypeError(f"constraints must be a list of strings, such as [{constraints!r}]")
    for index, sentence in problems(constraints, domain.space, domain.indexed).items():
        hint = _hint(constraints[index], domain.indexed)
        raise ValueError(f"constraints[{index}], {constraints[index]!r}: {sentence}{hint}")


def _hint(constraint: str, indexed: frozenset[str]) -> str:
    """Return what to add to the problem of a constraint if it uses parameters whose choices are objects."""
    try:
        objects = sorted(indexed & Constraint(constraint).names.keys())
    except ConstraintError:  # it cannot be parsed
        return ""
    return f"; constraints cannot use {', '.join(objects)}, whose choices are objects" if objects else ""


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


def _axis(argument: str, name: str, declared: Declared) -> engine.Axis | spaces.Fixed:
    if isinstance(declared, Catalogue):
        numbers = np.array(list(declared.descriptors.values()), dtype=np.float64).T.reshape(len(declared.rows), -1)
        columns = tuple(declared.descriptors)
        return CatalogueAxis(name, table(declared.rows, columns, numbers, digest=declared.digest))
    choices = _choices(declared)
    if choices is not None:
        if not choices:
            raise ValueError(f"{argument} has no values")
        values = tuple(_values(choices))
        if len(choices) == 1:
            return spaces.Fixed(name, values[0])
        known = (declared.descriptors or {}).values() if isinstance(declared, Categorical) else ()
        descriptors = tuple(tuple(map(float, numbers)) for numbers in known)
        return engine.ChoiceAxis(name, values, isinstance(declared, Ordinal), descriptors)
    assert isinstance(declared, Float | Int)
    low, high, step = plain(declared.low), plain(declared.high), plain(declared.step)
    if not low < high:
        raise ValueError(f"{argument}: high must be greater than low; got {declared}")
    if declared.log and not low > 0:
        raise ValueError(f"{argument}: low must be positive on a log scale, not {low}")
    if step is not None and not 0 < step <= high - low:
        raise ValueError(f"{argument}: step must be positive and at most high - low, not {step}")
    scale: engine.Scale = "log" if declared.log else "linear"
    if isinstance(declared, Int):
        if any(number != int(number) for number in (low, high, step)):
            raise ValueError(f"{argument}: low, high and step must be integers; got {declared}")
        return engine.IntAxis(name, int(low), int(high), scale, int(step))
    if declared.periodic and (declared.log or step is not None):
        raise ValueError(f"{argument}: periodic must be left out on a log scale, and with a step")
    if step is None:
        return engine.FloatAxis(name, float(low), float(high), scale, declared.periodic)
    if declared.log:
        raise ValueError(f"{argument}: step must be left out on a log scale")
    return engine.StepAxis(name, float(low), float(high), float(step))
