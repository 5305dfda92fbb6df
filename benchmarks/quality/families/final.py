"""The families of the final table in docs/quality.md. They must not guide changes of the engine."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.functions import Array
from benchmarks.quality.families.family import Family, Member, center, few_active, log_uniform, rotation

SCHWEFEL_MINIMIZER, SCHWEFEL_MINIMUM = 420.96874635998194, -418.9828872724338
"""The minimizer and the minimum of -x sin(sqrt(|x|)) over [-500, 500]."""


def rotated_ackley(d: int, rng: np.random.Generator) -> Member:
    """A narrow funnel in a rough plain."""
    middle, turn = center(d, rng), rotation(d, rng) * rng.uniform(8.0, 30.0)

    def evaluate(x: Array) -> float:
        z = turn @ (x - middle)
        funnel = 20.0 * (1.0 - np.exp(-0.2 * np.sqrt((z**2).mean())))
        return float(funnel + np.e - np.exp(np.cos(2.0 * np.pi * z).mean()))

    return Member(evaluate, middle)


def rotated_griewank(d: int, rng: np.random.Generator) -> Member:
    """A bowl with many shallow valleys of unequal spacing."""
    middle, turn = center(d, rng), rotation(d, rng) * rng.uniform(15.0, 50.0)
    roots, width = np.sqrt(np.arange(1, d + 1)), rng.uniform(100.0, 1000.0)

    def evaluate(x: Array) -> float:
        z = turn @ (x - middle)
        return float((z**2).sum() / width + 1.0 - np.cos(z / roots).prod())

    return Member(evaluate, middle)


def schwefel(d: int, rng: np.random.Generator) -> Member:
    """Deep valleys far from each other; the best one is in a random corner region."""
    mirrored, weights = rng.random(d) < 0.5, rng.uniform(0.5, 2.0, d)

    def evaluate(x: Array) -> float:
        z = 1000.0 * np.where(mirrored, 1.0 - x, x) - 500.0
        return float(weights @ (-z * np.sin(np.sqrt(np.abs(z))) - SCHWEFEL_MINIMUM))

    place = (SCHWEFEL_MINIMIZER + 500.0) / 1000.0
    return Member(evaluate, np.where(mirrored, 1.0 - place, place))


def bent_valley(d: int, rng: np.random.Generator) -> Member:
    """Rosenbrock's valley, at an angle to the axes, with condition numbers from 1e2 to 1e6."""
    middle, turn = center(d, rng), rotation(d, rng) * rng.uniform(2.0, 4.0)
    steepness = log_uniform(1e2, 1e6, rng) / 100.0

    def evaluate(x: Array) -> float:
        z = turn @ (x - middle) + 1.0
        return float((100.0 * steepness * (z[1:] - z[:-1] ** 2) ** 2 + (z[:-1] - 1.0) ** 2).sum())

    return Member(evaluate, middle)


def sharp_ridge(d: int, rng: np.random.Generator) -> Member:
    """A ridge: steep and not smooth across, and nearly flat along it near the minimum."""
    middle, turn = center(d, rng), rotation(d, rng)
    steepness = log_uniform(3.0, 30.0, rng)

    def evaluate(x: Array) -> float:
        z = turn @ (x - middle)
        return float(z[0] ** 2 + steepness * np.sqrt((z[1:] ** 2).sum()))

    return Member(evaluate, middle)


def choice_of_model(d: int, rng: np.random.Generator) -> Member:
    """A category with 5 choices, which determines the axes that matter and the lowest value."""
    inner, count = d - 1, 5
    losses = np.concatenate([[0.0], rng.uniform(0.03, 0.6, count - 1)])
    rng.shuffle(losses)
    best = int(losses.argmin())
    matters = np.where(rng.random((count, inner)) < 0.5, 1.0, 0.02)
    middles = rng.uniform(0.1, 0.9, (count, inner))

    def evaluate(x: Array) -> float:
        choice = int(x[-1])
        return float(losses[choice] + np.sqrt(matters[choice] @ (x[:inner] - middles[choice]) ** 2 / inner))

    return Member(evaluate, np.concatenate([middles[best], [best]]), ((inner, count),))


FINAL = (
    Family("rotated_ackley", 3, rotated_ackley),
    Family("rotated_ackley", 10, rotated_ackley),
    Family("rotated_griewank", 2, rotated_griewank),
    Family("rotated_griewank", 5, rotated_griewank),
    Family("schwefel", 2, schwefel),
    Family("schwefel", 3, schwefel),
    Family("schwefel", 6, schwefel),
    Family("bent_valley", 2, bent_valley),
    Family("bent_valley", 5, bent_valley),
    Family("bent_valley", 10, bent_valley),
    Family("sharp_ridge", 3, sharp_ridge),
    Family("sharp_ridge", 10, sharp_ridge),
    Family("few_active", 20, partial(few_active, rotated_ackley, 3)),
    Family("few_active", 60, partial(few_active, rotated_ackley, 6)),
    Family("choice_of_model", 4, choice_of_model),
    Family("choice_of_model", 8, choice_of_model),
    Family("rotated_griewank", 2, rotated_griewank, noise=0.01),
    Family("rotated_ackley", 3, rotated_ackley, noise=0.1),
    Family("bent_valley", 5, bent_valley, noise=0.01),
)
