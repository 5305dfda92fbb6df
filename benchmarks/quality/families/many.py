"""Functions of 20 to 100 parameters, all or six of which matter."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.functions import Array
from benchmarks.quality.families.family import Draw, Family, Member, center, ellipsoid, few_active
from benchmarks.quality.families.smooth import bent_valley

DIMENSIONS = (20, 50, 100)
BUDGET = 300
SEEDS = 3
"""Few, since a run of TuRBO takes minutes."""
ACTIVE = 6
"""Number of relevant parameters in functions with irrelevant ones."""


def ackley(d: int, rng: np.random.Generator) -> Member:
    """A funnel in a rough plain, along the axes."""
    middle, scale = center(d, rng), rng.uniform(10.0, 20.0)

    def evaluate(x: Array) -> float:
        z = scale * (x - middle)
        funnel = 20.0 * (1.0 - np.exp(-0.2 * np.sqrt((z**2).mean())))
        return float(funnel + np.e - np.exp(np.cos(2.0 * np.pi * z).mean()))

    return Member(evaluate, middle)


def levy(d: int, rng: np.random.Generator) -> Member:
    """Waves on a bowl, along the axes."""
    middle, scale = center(d, rng), rng.uniform(1.5, 3.5)

    def evaluate(x: Array) -> float:
        w = 1.0 + scale * (x - middle)
        waves = (w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * w[:-1] + 1.0) ** 2)
        last = (w[-1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * w[-1]) ** 2)
        return float(np.sin(np.pi * w[0]) ** 2 + waves.sum() + last)

    return Member(evaluate, middle)


KINDS: dict[str, Draw] = {
    "ackley": ackley,
    "levy": levy,
    "rotated_ellipsoid": partial(ellipsoid, conditions=(1e1, 1e4)),
    "few_levy": partial(few_active, levy, ACTIVE),
    "few_bent_valley": partial(few_active, partial(bent_valley, scales=(2.0, 4.0)), ACTIVE),
}
MANY = [Family(f"many_{kind}", d, draw, budget=BUDGET, seeds=SEEDS) for kind, draw in KINDS.items() for d in DIMENSIONS]
