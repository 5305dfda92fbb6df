"""Conditional parameters: at which points of a space a parameter is active, and where its axis rests elsewhere.

A condition names a parent and those of its values with which the parameter is active; of several, all must hold, and a
parent has to be active itself. So a parameter is active where the values of some axes, its ancestors, are among given
ones. Along an axis that is inactive every point has the same position, the middle: two points that differ in inactive
parameters only are the same point, for whatever looks at positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import Axis, DiscreteAxis, FloatAxis, Value

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
T = TypeVar("T")

MOST_PATTERNS = 4096
"""Sets of parameters that a fold over the patterns tells apart at a time."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A parameter is active only where its parent has one of these values."""

    parameter: str
    parent: str
    values: tuple[Value, ...] = field(hash=False)


Needs = Mapping[str, frozenset[int]]
"""What makes a parameter active: by the name of each ancestor, ancestors of ancestors first, the indices of the values
that it has to have."""


def needs_of(axes: Iterable[Axis], conditions: Iterable[Condition]) -> dict[str, Needs]:
    """What each parameter of a condition needs. A parent that is no axis is fixed, and has one of the values.

    An empty set of values says that the parameter is never active.
    """
    by_name = {axis.name: axis for axis in axes}
    by_parameter: dict[str, list[Condition]] = {}
    for condition in conditions:
        by_parameter.setdefault(condition.parameter, []).append(condition)
    found: dict[str, Needs] = {}

    def needs(name: str) -> Needs:
        if name not in found:
            all_needed: dict[str, frozenset[int]] = {}
            for condition in by_parameter.get(name, ()):
                own = _own(by_name.get(condition.parent), condition)
                for ancestor, indices in [*needs(condition.parent).items(), *own]:
                    all_needed[ancestor] = all_needed.get(ancestor, indices) & indices
            found[name] = all_needed
        return found[name]

    return {name: needs(name) for name in by_parameter}


def _own(parent: Axis | None, condition: Condition) -> list[tuple[str, frozenset[int]]]:
    """The values of the parent itself, unless any will do."""
    if parent is None:
        return []
    assert not isinstance(parent, FloatAxis), "a parent has finitely many values"
    indices = frozenset(parent.bin(parent.encode(value)) for value in condition.values)
    return [(parent.name, indices)] if len(indices) < parent.count else []


@dataclass(frozen=True)
class Activity:
    """Which axes of a space are active where."""

    axes: tuple[Axis, ...]
    needs: Mapping[str, Needs]
    """Of the parameters, fixed ones included, that are not active everywhere."""

    @cached_property
    def by_name(self) -> Mapping[str, DiscreteAxis]:
        """The ancestors."""
        ancestors = {name for needs in self.needs.values() for name in needs}
        return {axis.name: axis for axis in self.axes if axis.name in ancestors and not isinstance(axis, FloatAxis)}

    @cached_property
    def rest(self) -> Array:
        """(d,) position of each axis where it is inactive."""
        return np.array([axis.encode(axis.decode(0.5)) for axis in self.axes])

    @cached_property
    def parents(self) -> Bools:
        """(d,) axes whose values decide on whether others are active."""
        return np.array([axis.name in self.by_name for axis in self.axes])

    @cached_property
    def conditional(self) -> Mapping[int, tuple[tuple[int, Bools], ...]]:
        """By each axis that is not active everywhere its ancestors and, of each, which values it may have."""
        index = {axis.name: k for k, axis in enumerate(self.axes)}
        return {
            index[name]: tuple((index[each], self._mask(index[each], indices)) for each, indices in needs.items())
            for name, needs in self.needs.items()
            if name in index
        }

    @cached_property
    def dependents(self) -> Mapping[int, tuple[tuple[int, Bools], ...]]:
        """The same the other way round: by each ancestor the axes that need it, and with which of its values."""
        found: dict[int, list[tuple[int, Bools]]] = {}
        for axis, needs in self.conditional.items():
            for ancestor, values in needs:
                found.setdefault(ancestor, []).append((axis, values))
        return {ancestor: tuple(axes) for ancestor, axes in found.items()}

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All axes, each after its ancestors, and those that belong together near each other."""
        deepest_first = sorted(self.conditional, key=lambda axis: -len(self.conditional[axis]))
        chains = [[*(ancestor for ancestor, _ in self.conditional[axis]), axis] for axis in deepest_first]
        return tuple(dict.fromkeys([*(axis for chain in chains for axis in chain), *range(len(self.axes))]))

    def indices(self, position: Sequence[float] | Array) -> dict[str, int]:
        """Of the values of the ancestors at a position (d,)."""
        found = {}
        if self.by_name:
            for axis, u in zip(self.axes, position, strict=True):
                if (parent := self.by_name.get(axis.name)) is not None:
                    found[axis.name] = parent.bin(float(u))
        return found

    def is_active(self, name: str, indices: Mapping[str, int]) -> bool:
        """Whether a parameter is active where the axes have the values of these indices."""
        return all(indices[ancestor] in allowed for ancestor, allowed in self.needs.get(name, {}).items())

    def may_be_active(self, name: str, low: Mapping[str, int], high: Mapping[str, int]) -> bool:
        """Whether a parameter is active anywhere between the values of two indices of each axis, both included."""
        needs = self.needs.get(name, {}).items()
        return all(any(low[each] <= index <= high[each] for index in allowed) for each, allowed in needs)

    def active(self, positions: Array) -> Bools:
        """(k, d) which axes are active at positions (k, d)."""
        found = np.ones(positions.shape, dtype=np.bool_)
        values = {axis: self._indices(axis, positions[:, axis]) for axis in self.dependents}
        for axis, needs in self.conditional.items():
            for ancestor, allowed in needs:
                found[:, axis] &= allowed[values[ancestor]]
        return found

    def branches(self, positions: Array) -> NDArray[np.int64]:
        """(k, ancestors) for each ancestor which of its branches positions (k, d) are in: values that make the same
        axes inactive are one; -1 where the ancestor is inactive itself."""
        active, found = self.active(positions), np.empty((len(positions), len(self.dependents)), dtype=np.int64)
        for column, (axis, needing) in enumerate(self.dependents.items()):
            _, branch = np.unique(np.column_stack([allowed for _, allowed in needing]), axis=0, return_inverse=True)
            found[:, column] = np.where(active[:, axis], branch[self._indices(axis, positions[:, axis])], -1)
        return found

    def untried(self, positions: Array) -> Callable[[Array], bool] | None:
        """Whether a point, (d,), is in a branch that none of some positions, (k, d), is in; None if there is no such
        branch."""
        if not self.needs:
            return None
        tried = [set(column.tolist()) - {-1} for column in self.branches(positions).T]
        if sum(map(len, tried)) == self.branch_count:
            return None
        return lambda point: any(
            branch >= 0 and branch not in known
            for branch, known in zip(self.branches(point[None])[0], tried, strict=True)
        )

    @cached_property
    def branch_count(self) -> int:
        """Of all ancestors together."""
        return sum(len(self._groups(axis, None)) for axis in self.dependents)

    def with_inactive_at_rest(self, positions: Array) -> Array:
        """Positions (k, d) with the inactive axes at rest."""
        return np.where(self.active(positions), positions, self.rest) if self.conditional else positions

    def needed(self, names: Iterable[str]) -> Needs:
        """What makes several parameters active together, but for their own values."""
        together: dict[str, frozenset[int]] = {}
        names = list(names)
        for name in names:
            for ancestor, allowed in self.needs.get(name, {}).items():
                if ancestor not in names:
                    together[ancestor] = together.get(ancestor, allowed) & allowed
        return together

    def fold(
        self,
        held: Mapping[int, int],
        first: T,
        step: Callable[[T, float], T],
        merge: Callable[[T, T], T],
    ) -> T | None:
        """Fold over the sets of axes that may be active together, without visiting each; None if there are too many.

        Args:
            held: indices of the values of some axes that do not vary.
            first: what to begin with.
            step: adds an active axis, with so many values for which the same others are active.
            merge: adds up what was found for different values.
        """
        states: dict[frozenset[int], T] = {frozenset(): first}
        for axis in self.order:
            groups, after = self._groups(axis, held.get(axis)), dict[frozenset[int], T]()
            for inactive, so_far in states.items():
                options = [(inactive, so_far)]
                if axis not in inactive:
                    options = [(inactive | others, step(so_far, count)) for others, count in groups.items()]
                for others, found in options:
                    rest = others - {axis}
                    after[rest] = merge(after[rest], found) if rest in after else found
            states = after
            if len(states) > MOST_PATTERNS:
                return None
        return states[frozenset()]

    def _groups(self, axis: int, held: int | None) -> dict[frozenset[int], float]:
        """How many values of an axis make which others inactive."""
        count, needing = self.axes[axis].count, self.dependents.get(axis, ())
        if not needing:
            return {frozenset(): 1.0 if held is not None else math.inf if count is None else float(count)}
        assert count is not None
        groups: dict[frozenset[int], float] = {}
        for index in range(count) if held is None else [held]:
            inactive = frozenset(other for other, allowed in needing if not allowed[index])
            groups[inactive] = groups.get(inactive, 0.0) + 1.0
        return groups

    def _mask(self, axis: int, indices: frozenset[int]) -> Bools:
        mask = np.zeros(self.by_name[self.axes[axis].name].count, dtype=np.bool_)
        mask[list(indices)] = True
        return mask

    def _indices(self, axis: int, positions: Array) -> NDArray[np.int64]:
        """Of the values at positions, (k,), of an axis."""
        distinct, inverse = np.unique(positions, return_inverse=True)
        parent = self.by_name[self.axes[axis].name]
        bins = np.array([parent.bin(position) for position in distinct.tolist()], dtype=np.int64)
        return bins[inverse]
