"""Families of functions, and building blocks of their members."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import special_ortho_group

from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis
from adabkb_service.engine.space import Space
from benchmarks.functions import Array
from benchmarks.quality.problems import Outcome, generator

RANGE_POINTS = 4096
"""Number of random points that estimate a function's largest value."""
FLOOR = 1e-4
"""The floor of families without one of their own. Regrets below this share of the range, or below the noise, count as
equal."""
BORDER = 0.2
"""Minimum distance of a minimizer from the faces of the cube."""

OnCube = Callable[[Array], float]
"""x (d,) in the unit cube -> f(x), without noise."""


@dataclass(frozen=True, slots=True)
class Member:
    """A function of a family. Its minimum is known by construction."""

    evaluate: OnCube
    minimizer: Array
    """(d,) a point of the cube where the minimum, 0, is attained."""
    choices: tuple[tuple[int, int], ...] = ()
    """(axis, choices) of the axes that are categories; their coordinates are the choices' indices."""


Draw = Callable[[int, np.random.Generator], Member]
"""(d, generator) -> a member in d dimensions."""


@dataclass(frozen=True)
class FamilyInstance:
    """A member of a family, as an instance of a problem."""

    member: Member
    noise: float
    """Standard deviation, as a share of the range."""
    floor: float = FLOOR
    """The smallest score."""
    range: float = field(init=False)
    """Largest minus smallest value, estimated from random points."""
    space: Space = field(init=False)

    def __post_init__(self) -> None:
        counts = dict(self.member.choices)
        d = len(self.member.minimizer)
        object.__setattr__(self, "space", Space(tuple(_axis(axis, counts.get(axis)) for axis in range(d))))
        points = np.random.default_rng(0).random((RANGE_POINTS, d))
        for axis, count in counts.items():
            points[:, axis] = np.floor(points[:, axis] * count)
        object.__setattr__(self, "range", max(self.member.evaluate(point) for point in points))

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise that is added to every value."""
        return self.noise * self.range

    def evaluate(self, parameters: Mapping[str, Any]) -> Outcome:
        """The function's value, and its regret as a share of the range, at least the noise and the floor."""
        value = self.member.evaluate(np.array([float(parameters[axis.name]) for axis in self.space.axes]))
        return Outcome(value, max(value / self.range, self.noise, self.floor))

    def regret(self, parameters: Mapping[str, Any]) -> float:
        """As ``WithRegret``."""
        return self.evaluate(parameters).value


@dataclass(frozen=True, slots=True)
class Family:
    """Functions from the same distribution, with the same number of parameters."""

    kind: str
    dimension: int
    draw_member: Draw
    noise: float = 0.0
    """Standard deviation, as a share of the range."""
    floor: float = FLOOR
    """The smallest score: smaller regrets count as equal."""
    budget: int = 1000
    seeds: int = 10
    is_task: bool = False

    @property
    def name(self) -> str:
        """The name, made of kind, dimension and noise."""
        return f"{self.kind}_{self.dimension}" + (f"_noise_{self.noise:g}" if self.noise else "")

    def draw(self, seed: int) -> FamilyInstance:
        """The member of a seed."""
        return FamilyInstance(self.draw_member(self.dimension, generator(self.name, seed)), self.noise, self.floor)


def _axis(index: int, choices: int | None) -> Axis:
    """An axis of the space. The choices of a category are its indices, which have no order for the methods."""
    name = f"x{index}"
    return FloatAxis(name, 0.0, 1.0) if choices is None else ChoiceAxis(name, tuple(range(choices)))


def center(d: int, rng: np.random.Generator) -> Array:
    """A random minimizer (d,), uniform in the cube except near its faces."""
    return rng.uniform(BORDER, 1.0 - BORDER, d)


def rotation(d: int, rng: np.random.Generator) -> Array:
    """A uniformly random rotation (d, d)."""
    found: Array = special_ortho_group.rvs(d, random_state=rng) if d > 1 else np.ones((1, 1))
    return found


def log_uniform(low: float, high: float, rng: np.random.Generator) -> float:
    """A random number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def ellipsoid(d: int, rng: np.random.Generator, conditions: tuple[float, float]) -> Member:
    """A valley at an angle to the axes, with a random condition number in this range."""
    middle, turn = center(d, rng), rotation(d, rng)
    weights = log_uniform(*conditions, rng) ** np.linspace(0.0, 1.0, d)

    def evaluate(x: Array) -> float:
        return float(weights @ (turn @ (x - middle)) ** 2)

    return Member(evaluate, middle)


def few_active(draw: Draw, active: int, d: int, rng: np.random.Generator) -> Member:
    """A member that depends on ``active`` of the d axes only."""
    axes, part, middle = rng.choice(d, active, replace=False), draw(active, rng), rng.random(d)
    middle[axes] = part.minimizer
    return Member(lambda x: part.evaluate(x[axes]), middle)
