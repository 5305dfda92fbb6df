"""Functions with one optimum, for the last digits: the floor of a score is far below that of other families."""

from __future__ import annotations

import numpy as np

from benchmarks.functions import Array
from benchmarks.quality.families.family import Family, Member, centre, log_uniform, rotation

FLOOR = 1e-12
BUDGET = {2: 50, 3: 75, 5: 125, 10: 500}
"""25 evaluations per axis; 50 in ten dimensions."""


def ellipsoid(d: int, rng: np.random.Generator) -> Member:
    """A valley at an angle to the axes, with a condition number of 1e6."""
    middle, turn, weights = centre(d, rng), rotation(d, rng), 1e6 ** np.linspace(0.0, 1.0, d)

    def evaluate(x: Array) -> float:
        return float(weights @ (turn @ (x - middle)) ** 2)

    return Member(evaluate, middle)


def bowl(d: int, rng: np.random.Generator) -> Member:
    """As an ellipsoid, with a condition number from 10 to 1e4."""
    middle, turn = centre(d, rng), rotation(d, rng)
    weights = log_uniform(1e1, 1e4, rng) ** np.linspace(0.0, 1.0, d)

    def evaluate(x: Array) -> float:
        return float(weights @ (turn @ (x - middle)) ** 2)

    return Member(evaluate, middle)


def bent_valley(d: int, rng: np.random.Generator) -> Member:
    """Rosenbrock's function, at an angle to the axes."""
    middle, turn = centre(d, rng), rotation(d, rng) * rng.uniform(3.0, 5.0)

    def evaluate(x: Array) -> float:
        z = turn @ (x - middle) + 1.0
        return float((100.0 * (z[1:] - z[:-1] ** 2) ** 2 + (z[:-1] - 1.0) ** 2).sum())

    return Member(evaluate, middle)


def sharp_ridge(d: int, rng: np.random.Generator) -> Member:
    """A ridge with a kink along it, at an angle to the axes."""
    middle, turn = centre(d, rng), rotation(d, rng) * rng.uniform(3.0, 8.0)

    def evaluate(x: Array) -> float:
        z = turn @ (x - middle)
        return float(z[0] ** 2 + 100.0 * np.sqrt((z[1:] ** 2).sum()))

    return Member(evaluate, middle)


def flat_valley(d: int, rng: np.random.Generator) -> Member:
    """A sum of powers from 2 to 6, at an angle to the axes."""
    middle, turn = centre(d, rng), rotation(d, rng) * rng.uniform(1.0, 3.0)
    powers = np.linspace(2.0, 6.0, d)

    def evaluate(x: Array) -> float:
        return float((np.abs(turn @ (x - middle)) ** powers).sum())

    return Member(evaluate, middle)


SMOOTH = [
    Family(f"smooth_{draw.__name__}", d, draw, noise=noise, budget=budget, floor=FLOOR)
    for draw in (ellipsoid, bowl, bent_valley, sharp_ridge, flat_valley)
    for d, budget in BUDGET.items()
    for noise in (0.0, 0.01)
]
