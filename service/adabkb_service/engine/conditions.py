"""Conditional parameters: where a parameter is active, and where its axis is at rest.

A condition names a parent, and values of the parent for which the parameter is active. All conditions must hold, and
the parent must be active. So a parameter is active where each of its ancestors has one of certain values. Along an
inactive axis, every point is in the middle ("at rest"), so points that differ only in inactive parameters have the same
position.
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

MAX_PATTERNS = 4096
"""The maximum number of sets of inactive axes that ``fold`` distinguishes."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A parameter is active only if its parent has one of these values."""

    parameter: str
    parent: str
    values: tuple[Value, ...] = field(hash=False)


Needs = Mapping[str, frozenset[int]]
"""Requirements for a parameter to be active: ancestor -> indices of the values that the ancestor must have. Each
ancestor comes after its own ancestors."""


def needs_of(axes: Iterable[Axis], conditions: Iterable[Condition]) -> dict[str, Needs]:
    """The requirements of each conditional parameter. Fixed parents are left out, since they satisfy their conditions.
    An empty set of values means that the parameter is never active."""
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
    """The requirement of one condition on its parent; empty if every value is allowed."""
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
    """Parameter -> requirements, for the parameters (including fixed ones) that are not active everywhere."""

    @cached_property
    def by_name(self) -> Mapping[str, DiscreteAxis]:
        """Name -> axis of each ancestor."""
        ancestors = {name for needs in self.needs.values() for name in needs}
        return {axis.name: axis for axis in self.axes if axis.name in ancestors and not isinstance(axis, FloatAxis)}

    @cached_property
    def rest(self) -> Array:
        """(d,) position of each axis while it is inactive."""
        return np.array([axis.encode(axis.decode(0.5)) for axis in self.axes])

    @cached_property
    def parents(self) -> Bools:
        """(d,) whether the axis is a parent or another ancestor: its value decides whether others are active."""
        return np.array([axis.name in self.by_name for axis in self.axes])

    @cached_property
    def conditional(self) -> Mapping[int, tuple[tuple[int, Bools], ...]]:
        """Axis that is not active everywhere -> its ancestors, each with a mask of its allowed values."""
        index = {axis.name: k for k, axis in enumerate(self.axes)}
        return {
            index[name]: tuple((index[each], self._mask(index[each], indices)) for each, indices in needs.items())
            for name, needs in self.needs.items()
            if name in index
        }

    @cached_property
    def dependents(self) -> Mapping[int, tuple[tuple[int, Bools], ...]]:
        """The inverse of ``conditional``: ancestor -> the axes that need it, each with a mask of the ancestor's allowed
        values."""
        found: dict[int, list[tuple[int, Bools]]] = {}
        for axis, needs in self.conditional.items():
            for ancestor, values in needs:
                found.setdefault(ancestor, []).append((axis, values))
        return {ancestor: tuple(axes) for ancestor, axes in found.items()}

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All axes. Each comes after its ancestors and, if possible, next to axes with the same ancestors."""
        deepest_first = sorted(self.conditional, key=lambda axis: -len(self.conditional[axis]))
        chains = [[*(ancestor for ancestor, _ in self.conditional[axis]), axis] for axis in deepest_first]
        return tuple(dict.fromkeys([*(axis for chain in chains for axis in chain), *range(len(self.axes))]))

    def indices(self, position: Sequence[float] | Array) -> dict[str, int]:
        """Ancestor -> index of its value at a position (d,)."""
        found = {}
        if self.by_name:
            for axis, u in zip(self.axes, position, strict=True):
                if (parent := self.by_name.get(axis.name)) is not None:
                    found[axis.name] = parent.bin(float(u))
        return found

    def is_active(self, name: str, indices: Mapping[str, int]) -> bool:
        """Whether a parameter is active if its ancestors have these value indices."""
        return all(indices[ancestor] in allowed for ancestor, allowed in self.needs.get(name, {}).items())

    def may_be_active(self, name: str, low: Mapping[str, int], high: Mapping[str, int]) -> bool:
        """Whether a parameter is active for some value indices of its ancestors from ``low`` to ``high``, both
        included."""
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
        """(k, ancestors) the branch of each ancestor at positions (k, d); -1 if the ancestor is inactive. A branch is a
        set of values that make the same axes inactive."""
        active, found = self.active(positions), np.empty((len(positions), len(self.dependents)), dtype=np.int64)
        for column, (axis, needing) in enumerate(self.dependents.items()):
            _, branch = np.unique(np.column_stack([allowed for _, allowed in needing]), axis=0, return_inverse=True)
            found[:, column] = np.where(active[:, axis], branch[self._indices(axis, positions[:, axis])], -1)
        return found

    def untried(self, positions: Array) -> Callable[[Array], bool] | None:
        """A function that returns whether a point, (d,), is in a branch without any of the positions (k, d). None if
        every branch has some of them."""
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
        """Total number of branches of all ancestors."""
        return sum(len(self._groups(axis, None)) for axis in self.dependents)

    def with_inactive_at_rest(self, positions: Array) -> Array:
        """Positions (k, d) with the inactive axes at rest."""
        return np.where(self.active(positions), positions, self.rest) if self.conditional else positions

    def needed(self, names: Iterable[str]) -> Needs:
        """The joint requirements for several parameters to be active, without those on the parameters themselves."""
        together: dict[str, frozenset[int]] = {}
        names = list(names)
        for name in names:
            for ancestor, allowed in self.needs.get(name, {}).items():
                if ancestor not in names:
                    together[ancestor] = together.get(ancestor, allowed) & allowed
        return together

    def values_for(self, names: Iterable[str]) -> tuple[tuple[str, tuple[Value, ...]], ...]:
        """Each ancestor of some parameters, with those of its values for which all of these parameters are active. If
        an ancestor has no such value, they are never active together."""
        together: dict[str, frozenset[int]] = {}
        for name in names:
            for ancestor, allowed in self.needs.get(name, {}).items():
                together[ancestor] = together.get(ancestor, allowed) & allowed
        return tuple(
            (name, tuple(self.by_name[name].value(index) for index in sorted(allowed)))
            for name, allowed in together.items()
        )

    def fold(
        self,
        allowed: Mapping[int, Sequence[int]],
        first: T,
        step: Callable[[T, float], T],
        merge: Callable[[T, T], T],
    ) -> T | None:
        """Compute a value over all sets of axes that may be active together, without listing all sets. None if there
        are too many.

        Args:
            allowed: axis -> indices of its possible values, for the axes that cannot have every value.
            first: the initial value.
            step: returns the value with one more active axis. Its second argument is the number of values of this axis
                that leave the same other axes active.
            merge: combines the results for different values of an axis.
        """
        states: dict[frozenset[int], T] = {frozenset(): first}
        for axis in self.order:
            groups, after = self._groups(axis, allowed.get(axis)), dict[frozenset[int], T]()
            for inactive, so_far in states.items():
                options = [(inactive, so_far)]
                if axis not in inactive:
                    options = [(inactive | others, step(so_far, count)) for others, count in groups.items()]
                for others, found in options:
                    rest = others - {axis}
                    after[rest] = merge(after[rest], found) if rest in after else found
            states = after
            if len(states) > MAX_PATTERNS:
                return None
        return states[frozenset()]

    def _groups(self, axis: int, allowed: Sequence[int] | None) -> dict[frozenset[int], float]:
        """Set of axes that become inactive -> number of values of this axis with that effect."""
        count, needing = self.axes[axis].count, self.dependents.get(axis, ())
        indices = allowed if allowed is not None or count is None else range(count)
        if not needing:
            return {frozenset(): math.inf if indices is None else float(len(indices))}
        assert indices is not None
        groups: dict[frozenset[int], float] = {}
        for index in indices:
            inactive = frozenset(other for other, allowed in needing if not allowed[index])
            groups[inactive] = groups.get(inactive, 0.0) + 1.0
        return groups

    def _mask(self, axis: int, indices: frozenset[int]) -> Bools:
        mask = np.zeros(self.by_name[self.axes[axis].name].count, dtype=np.bool_)
        mask[list(indices)] = True
        return mask

    def _indices(self, axis: int, positions: Array) -> NDArray[np.int64]:
        """(k,) value indices of an axis at positions (k,) along it."""
        distinct, inverse = np.unique(positions, return_inverse=True)
        parent = self.by_name[self.axes[axis].name]
        bins = np.array([parent.bin(position) for position in distinct.tolist()], dtype=np.int64)
        return bins[inverse]
