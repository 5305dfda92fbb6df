"""Functions with one optimum, which measure precision: the floor of their scores is far below that of others."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.functions import Array
from benchmarks.quality.families.family import Draw, Family, Member, center, ellipsoid, rotation

FLOOR = 1e-12
BUDGET = {2: 50, 3: 75, 5: 125, 10: 500}
"""25 evaluations per axis; 50 per axis in ten dimensions."""


def bent_valley(d: int, rng: np.random.Generator, scales: tuple[float, float] = (3.0, 5.0)) -> Member:
    """Rosenbrock's function, at an angle to the axes, over a cube with a random width in this range."""
    middle, turn = center(d, rng), rotation(d, rng) * rng.uniform(*scales)

    def evaluate(x: Array) -> float:
        z = turn @ (x - middle) + 1.0
        return float((100.0 * (z[1:] - z[:-1] ** 2) ** 2 + (z[:-1] - 1.0) ** 2).sum())

    return Member(evaluate, middle)


def sharp_ridge(d: int, rng: np.random.Generator) -> Member:
    """A ridge with a kink along it, at an angle to the axes."""
    middle, turn = center(d, rng), rotation(d, rng) * rng.uniform(3.0, 8.0)

    def evaluate(x: Array) -> float:
        z = turn @ (x - middle)
        return float(z[0] ** 2 + 100.0 * np.sqrt((z[1:] ** 2).sum()))

    return Member(evaluate, middle)


def flat_valley(d: int, rng: np.random.Generator) -> Member:
    """A sum of powers from 2 to 6, at an angle to the axes."""
    middle, turn = center(d, rng), rotation(d, rng) * rng.uniform(1.0, 3.0)
    powers = np.linspace(2.0, 6.0, d)

    def evaluate(x: Array) -> float:
        return float((np.abs(turn @ (x - middle)) ** powers).sum())

    return Member(evaluate, middle)


KINDS: dict[str, Draw] = {
    "ellipsoid": partial(ellipsoid, conditions=(1e6, 1e6)),
    "bowl": partial(ellipsoid, conditions=(1e1, 1e4)),
    "bent_valley": bent_valley,
    "sharp_ridge": sharp_ridge,
    "flat_valley": flat_valley,
}
SMOOTH = [
    Family(f"smooth_{kind}", d, draw, noise=noise, budget=budget, floor=FLOOR)
    for kind, draw in KINDS.items()
    for d, budget in BUDGET.items()
    for noise in (0.0, 0.01)
]
