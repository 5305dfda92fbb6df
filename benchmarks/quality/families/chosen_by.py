"""The families that guide changes of the engine."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.functions import Array
from benchmarks.quality.families.family import Family, Member, center, ellipsoid, rotation


def peaks(d: int, rng: np.random.Generator) -> Member:
    """Many peaks with different heights, widths and directions."""
    count = int(rng.integers(8, 25))
    heights = np.concatenate([[1.0], rng.uniform(0.3, 0.95, count - 1)])
    centers = np.vstack([center(d, rng), rng.random((count - 1, d))])
    widths = np.exp(rng.uniform(np.log(0.05), np.log(0.25), (count, 1)) + rng.uniform(-0.5, 0.5, (count, d)))
    shapes = np.array([rotation(d, rng) / width[:, None] for width in widths])

    def evaluate(x: Array) -> float:
        z = np.einsum("kij,kj->ki", shapes, x - centers)
        return float(1.0 - (heights * np.exp(-0.5 * (z**2).sum(axis=1))).max())

    return Member(evaluate, centers[0])


def rotated_rastrigin(d: int, rng: np.random.Generator) -> Member:
    """A bowl with a regular pattern of valleys, at an angle to the axes."""
    middle, turn = center(d, rng), rotation(d, rng) * rng.uniform(4.0, 9.0)
    height = rng.uniform(3.0, 10.0)

    def evaluate(x: Array) -> float:
        z = turn @ (x - middle)
        return float((z**2).sum() + height * (1.0 - np.cos(2.0 * np.pi * z)).sum())

    return Member(evaluate, middle)


rotated_ellipsoid = partial(ellipsoid, conditions=(1e2, 1e6))


def steps(d: int, rng: np.random.Generator) -> Member:
    """A bowl of plateaus, at an angle to the axes."""
    middle, turn = center(d, rng), rotation(d, rng)
    weights, count = 10.0 ** rng.uniform(0.0, 1.5, d), rng.integers(8, 25)

    def evaluate(x: Array) -> float:
        return float(np.floor(count * np.sqrt(weights @ (turn @ (x - middle)) ** 2 / weights.sum())))

    return Member(evaluate, middle)


def separable_sum(d: int, rng: np.random.Generator) -> Member:
    """A sum of functions of one axis each, with several valleys, and weights that differ by up to a factor of 30."""
    middle, weights = center(d, rng), 10.0 ** rng.uniform(-0.75, 0.75, d)
    heights, frequencies = rng.uniform(0.0, 0.15, (3, d)), rng.uniform(2.0, 9.0, (3, d))

    def evaluate(x: Array) -> float:
        distance = x - middle
        waves = heights * (1.0 - np.cos(2.0 * np.pi * frequencies * distance))
        return float(weights @ (distance**2 + waves.sum(axis=0)))

    return Member(evaluate, middle)


def interacting_choices(d: int, rng: np.random.Generator) -> Member:
    """Two categories with 3 and 4 choices; each pair of choices has its own bowl, with its own depth."""
    choices, inner = ((d - 2, 3), (d - 1, 4)), d - 2
    depths = rng.uniform(0.02, 0.5, (3, 4))
    best = int(rng.integers(3)), int(rng.integers(4))
    depths[best] = 0.0
    middles, weights = rng.uniform(0.1, 0.9, (3, 4, inner)), 10.0 ** rng.uniform(0.0, 1.0, (3, 4, inner))
    middles[best] = center(inner, rng)

    def evaluate(x: Array) -> float:
        pair = int(x[-2]), int(x[-1])
        return float(depths[pair] + weights[pair] @ (x[:inner] - middles[pair]) ** 2 / inner)

    return Member(evaluate, np.concatenate([middles[best], best]), choices)


CHOSEN_BY = (
    Family("peaks", 2, peaks),
    Family("peaks", 3, peaks),
    Family("peaks", 5, peaks),
    Family("rotated_rastrigin", 2, rotated_rastrigin),
    Family("rotated_rastrigin", 3, rotated_rastrigin),
    Family("rotated_rastrigin", 8, rotated_rastrigin),
    Family("rotated_ellipsoid", 2, rotated_ellipsoid),
    Family("rotated_ellipsoid", 5, rotated_ellipsoid),
    Family("rotated_ellipsoid", 10, rotated_ellipsoid),
    Family("steps", 2, steps),
    Family("steps", 5, steps),
    Family("separable_sum", 6, separable_sum),
    Family("separable_sum", 20, separable_sum),
    Family("interacting_choices", 4, interacting_choices),
    Family("interacting_choices", 7, interacting_choices),
    Family("peaks", 3, peaks, noise=0.01),
    Family("rotated_rastrigin", 2, rotated_rastrigin, noise=0.1),
    Family("rotated_ellipsoid", 5, rotated_ellipsoid, noise=0.1),
)
