"""The search space, which maps named parameters to positions in the unit cube and back. A point is identified
by its parameters, not by its position.

A point has only active parameters. Along the other axes, its position is at rest (see ``conditions``). Positions cover
the whole product of the axes; ``feasible`` determines which of them satisfy the constraints.
"""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis, ChoiceAxis, StepAxis, Value, identity
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.engine.conditions import Activity, Condition, needs_of
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.mixtures import Mixture
from adabkb_service.engine.wording import brief, listed, nearest

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

MAX_SUGGESTED = 10
"""The maximum number of unknown names in a point for which similar known names are suggested."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A constant parameter. It is part of every point at which it is active, but has no axis."""

    name: str
    value: Value = field(hash=False)

    def problem(self, value: object) -> str | None:
        """The error message for a value; None if the value equals the constant."""
        return None if identity(value) == identity(self.value) else f"is fixed at {reprlib.repr(self.value)}"


@dataclass(frozen=True)
class Space:
    """The product of the axes, in the order of the study's parameters, with constraints, mixtures and conditions.
    Conditions make parameters inactive at some points."""

    parameters: tuple[Axis | Fixed, ...]
    constraints: tuple[Constraint, ...] = ()
    conditions: tuple[Condition, ...] = ()
    context: frozenset[str] = frozenset()
    """Names of the context parameters, which are observed instead of chosen; each is active everywhere."""
    mixtures: tuple[Mixture, ...] = ()
    """Each share belongs to one mixture, and is active everywhere."""

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The parameters that vary."""
        return tuple(each for each in self.parameters if not isinstance(each, Fixed))

    @cached_property
    def activity(self) -> Activity:
        """Which axes are active where."""
        needs = needs_of(self.axes, self.conditions)
        return Activity(self.axes, {name: each for name, each in needs.items() if each})

    @cached_property
    def conditional_constraints(self) -> tuple[Constraint, ...]:
        """The constraints, each with the conditions under which it applies: all parameters that it names are active."""
        if not self.activity.needs:
            return self.constraints
        return tuple(replace(each, where=self.activity.values_for(each.names)) for each in self.constraints)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of all parameters."""
        return frozenset(each.name for each in self.parameters)

    @property
    def dimension(self) -> int:
        """d, the number of axes."""
        return len(self.axes)

    @property
    def is_restricted(self) -> bool:
        """Whether there are constraints or mixtures."""
        return bool(self.constraints or self.mixtures)

    @property
    def is_finite(self) -> bool:
        """Whether the space has finitely many points: no axis is a real interval."""
        return all(axis.count is not None for axis in self.axes)

    def decode(self, u: Sequence[float] | Array) -> dict[str, Value]:
        """The parameters at cube position ``u`` of shape (d,)."""
        activity = self.activity
        if not activity.needs:
            return self._named(u, self.names)
        indices = activity.indices(u)
        return self._named(u, {name for name in self.names if activity.is_active(name, indices)})

    def measured(self, u: Array) -> dict[str, Value]:
        """The parameters at the position ``u``, (d,), of a measured point: as ``decode``, but values may lie between
        the steps of a parameter."""
        found = self.decode(u)
        axes = zip(self.axes, u.tolist(), strict=True)
        return found | {each.name: each.measured(x) for each, x in axes if _has_steps(each) and each.name in found}

    def on_steps(self, position: Array) -> Array:
        """A position (d,), moved to the nearest step along the axes that have steps."""
        axes = zip(self.axes, position.tolist(), strict=True)
        return np.array([each.encode(each.decode(u)) if _has_steps(each) else u for each, u in axes])

    def are_on_steps(self, positions: Array) -> Bools:
        """(k,) whether points at positions (k, d) have no measured value between the steps of a parameter."""
        found = np.ones(len(positions), dtype=np.bool_)
        for k, axis in enumerate(self.axes):
            if _has_steps(axis):
                found &= np.array([axis.encode(axis.decode(u)) for u in positions[:, k].tolist()]) == positions[:, k]
        return found

    def corners(self, low: Array, high: Array) -> tuple[dict[str, Value], dict[str, Value]]:
        """The parameters at two opposite corners, (d,) each, of a box. Parameters that are active nowhere in the box
        are left out."""
        ends = self.activity.indices(low), self.activity.indices(high)
        names = {name for name in self.names if self.activity.may_be_active(name, *ends)}
        return self._named(low, names), self._named(high, names)

    def encode(self, parameters: Mapping[str, Any]) -> Array:
        """The cube position, shape (d,), of valid parameters (see ``problems``)."""
        given = self.axes
        if self.activity.needs:
            given = tuple(axis for axis in self.axes if self.is_active(axis.name, parameters))
        found = {axis.name: axis.encode(parameters[axis.name]) for axis in given}
        rest = zip(self.axes, self.activity.rest, strict=True)
        return np.array([found.get(axis.name, at) for axis, at in rest]) + 0.0  # -0.0 becomes 0.0

    def present(self, parameters: dict[str, Any]) -> dict[str, Any] | None:
        """A stored point in the form of this space; None if it lies outside. Here, the point itself: a space that was
        never edited contains all stored points. ``EditedSpace`` overrides this."""
        return parameters

    def filled(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """A complete point from valid parameters. Missing parameters get the middle of their ranges, and inactive ones
        are left out."""
        whole = {**self._named(self.activity.rest, self.names), **parameters}
        return {name: value for name, value in whole.items() if self.is_active(name, whole)}

    def position(self, parameters: dict[str, Any]) -> Array | None:
        """The cube position, shape (d,), of a stored point; None if it lies outside this space."""
        point = self.present(parameters)
        return None if point is None else self.encode(point)

    def rounded(self, positions: Array) -> Array:
        """Positions (k, d) moved to the nearest values along each axis."""
        columns = zip(self.axes, positions.T.tolist(), strict=True)
        return np.array([[axis.encode(axis.decode(u)) for u in column] for axis, column in columns]).T

    def violated(self, parameters: Mapping[str, Any]) -> list[int]:
        """Indices of the constraints that a valid, complete point violates. A constraint that names an inactive
        parameter does not apply. A measured point need not satisfy a constraint that the nearest point of the space
        satisfies, since a suggested point must not become infeasible by a small deviation."""
        failing = [
            index
            for index, each in enumerate(self.constraints)
            if self._applies(each, parameters) and not each.holds(parameters)
        ]
        nearest = self.nearest(parameters) if failing else parameters
        return [index for index in failing if not self.constraints[index].holds(nearest)]

    def nearest(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """A valid point with measured values between two steps replaced by the nearest value of their axis."""
        axes = [axis for axis in self.axes if _has_steps(axis) and axis.name in parameters]
        return {**parameters, **{axis.name: axis.decode(axis.encode(parameters[axis.name])) for axis in axes}}

    def with_inactive_at_rest(self, positions: Array) -> Array:
        """Positions (k, d) with the inactive axes at rest."""
        return self.activity.with_inactive_at_rest(positions)

    def unmixed(self, parameters: Mapping[str, Any]) -> dict[int, str]:
        """Index of a mixture that a valid, complete point violates -> error message."""
        problems = ((index, each.problem(parameters)) for index, each in enumerate(self.mixtures))
        return {index: problem for index, problem in problems if problem is not None}

    def admits(self, parameters: Mapping[str, Any]) -> bool:
        """Whether a valid, complete point satisfies the constraints and the mixtures."""
        return not self.violated(parameters) and not self.unmixed(parameters)

    def snap(self, positions: Array) -> Array:
        """Round positions (k, d) to points of the space: ``encode(decode(u))`` for each row u."""
        return self.with_inactive_at_rest(self.rounded(positions))

    def withdrawn(self, parameters: Mapping[str, Any]) -> list[str]:
        """The catalogues in which a valid point has a withdrawn row."""
        catalogues = (axis for axis in self.axes if isinstance(axis, CatalogueAxis) and axis.name in parameters)
        return [axis.name for axis in catalogues if not axis.offers(parameters[axis.name])]

    def is_active(self, name: str, parameters: Mapping[str, Any]) -> bool:
        """Whether a parameter is active at a valid point."""
        return self._obstacle(name, parameters) is None

    def made_active(self, position: Array, names: Sequence[str]) -> Array:
        """A position (d,), changed so that some parameters are active: each ancestor whose value makes one of them
        inactive gets the first value that makes none inactive. There must be such values."""
        moved, indices = position.copy(), self.activity.indices(position)
        order = [axis.name for axis in self.axes]
        for ancestor, allowed in self.activity.needed(names).items():
            if indices[ancestor] not in allowed:
                axis = self.activity.by_name[ancestor]
                moved[order.index(ancestor)] = axis.encode(axis.value(min(allowed)))
        found: Array = self.with_inactive_at_rest(moved[None])[0]
        return found

    def between_steps(self, parameters: Mapping[str, Any]) -> list[str]:
        """The parameters whose measured values lie between two steps."""
        axes = [axis for axis in self.axes if _has_steps(axis) and axis.name in parameters]
        return [axis.name for axis in axes if axis.problem(parameters[axis.name]) is not None]

    def problems(
        self, parameters: Mapping[str, Any], *, partial: bool = False, is_measured: bool = False
    ) -> dict[str, str]:
        """The errors in a point: parameter name -> message; empty for a valid point. A fixed parameter may be missing,
        and in a partial point, any parameter. Values that were measured may lie between two steps."""
        found: dict[str, str] = {}
        for each in self.parameters:
            obstacle = self._obstacle(each.name, parameters)
            if each.name not in parameters:
                if obstacle is None and not (partial or isinstance(each, Fixed)):
                    conditional = each.name in self.activity.needs
                    found[each.name] = f"is missing{', although it is active at this point' if conditional else ''}"
                continue
            value = parameters[each.name]
            problem = _problem_if_measured(each, value) if is_measured else each.problem(value)
            if problem is None and obstacle is not None:
                problem = self._why_inactive(each.name, obstacle, parameters, partial)
            if problem is not None:
                found[each.name] = problem
        names = self.names
        unknown = [name for name in parameters if name not in names]
        if unknown:
            known = listed(map(brief, sorted(names)), len(names))
            for position, name in enumerate(unknown):
                near = nearest(name, names) if position < MAX_SUGGESTED else None
                suggestion = "" if near is None else f"; did you mean {near}?"
                found[name] = f"is not a parameter of this study{suggestion} (known: {known})"
        return found

    def _applies(self, constraint: Constraint, parameters: Mapping[str, Any]) -> bool:
        """Whether all parameters that a constraint names are active at a valid point."""
        return not self.activity.needs or all(self.is_active(name, parameters) for name in constraint.names)

    def _named(self, u: Sequence[float] | Array, names: Collection[str]) -> dict[str, Value]:
        """Name -> value of these parameters. The values of axes are those at position ``u``, (d,)."""
        positions = {axis.name: (axis, float(x)) for axis, x in zip(self.axes, u, strict=True) if axis.name in names}
        if len(positions) == len(self.parameters):
            return {name: axis.decode(x) for name, (axis, x) in positions.items()}
        found: dict[str, Value] = {}
        for each in self.parameters:
            if each.name in names:
                found[each.name] = each.value if isinstance(each, Fixed) else each.decode(positions[each.name][1])
        return found

    def _obstacle(self, name: str, parameters: Mapping[str, Any]) -> str | None:
        """The first ancestor that makes a parameter inactive: its value is missing, invalid or not one of the required
        values. None if the parameter is active."""
        for ancestor, allowed in self.activity.needs.get(name, {}).items():
            axis = self.activity.by_name[ancestor]
            if ancestor not in parameters or _problem_if_measured(axis, parameters[ancestor]):
                return ancestor
            if axis.bin(axis.encode(parameters[ancestor])) not in allowed:
                return ancestor
        return None

    def _why_inactive(self, name: str, ancestor: str, parameters: Mapping[str, Any], partial: bool) -> str | None:
        """The message for a value of an inactive parameter; None if the message about the ancestor suffices."""
        axis, allowed = self.activity.by_name[ancestor], sorted(self.activity.needs[name][ancestor])
        values = listed((reprlib.repr(axis.value(index)) for index in allowed), len(allowed))
        rule = f"is only active if {brief(ancestor)} is {'' if len(allowed) == 1 else 'one of '}{values}"
        if ancestor not in parameters:
            return f"{rule}; give {brief(ancestor)}, too" if partial else None
        if _problem_if_measured(axis, parameters[ancestor]):
            return None
        return f"{rule}, and it is {reprlib.repr(parameters[ancestor])}; leave it out, or change {brief(ancestor)}"


def _has_steps(parameter: Axis | Fixed) -> TypeGuard[StepAxis | ChoiceAxis]:
    """Whether measured values may lie between the values that can be chosen."""
    if isinstance(parameter, ChoiceAxis):
        return parameter.ascending is not None
    return isinstance(parameter, StepAxis)


def _problem_if_measured(parameter: Axis | Fixed, value: object) -> str | None:
    return parameter.problem_if_measured(value) if _has_steps(parameter) else parameter.problem(value)
