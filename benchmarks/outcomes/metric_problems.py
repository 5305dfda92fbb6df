"""Problems with outcome constraints, to be minimized: designs of the literature, and tuning tasks with a limit.

The methods do not know the constraints, and learn them from measured metrics. There is no noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import zero_one_loss
from sklearn.svm import SVC

from adabkb_service.engine.axes import Axis, FloatAxis, IntAxis
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.space import Space
from benchmarks.quality.problems import generator
from benchmarks.quality.tasks.data import Split, digits, htru, split

Metrics = dict[str, float]
Evaluate = Callable[[Mapping[str, Any], int], tuple[float, Metrics]]
"""(parameters, seed) -> value and metrics."""


@dataclass(frozen=True, slots=True)
class Constrained:
    """A problem."""

    name: str
    axes: tuple[Axis, ...]
    metrics: tuple[Metric, ...]
    evaluate: Evaluate
    minimum: float | None
    """The best known feasible value, from the source; None for a task."""

    @property
    def space(self) -> Space:
        """Its search space."""
        return Space(self.axes)


def _floats(**bounds: tuple[float, float]) -> tuple[Axis, ...]:
    return tuple(FloatAxis(name, low, high) for name, (low, high) in bounds.items())


def gramacy(p: Mapping[str, Any], _: int) -> tuple[float, Metrics]:
    """Gramacy et al. 2016, "Modeling an augmented Lagrangian for blackbox constrained optimization", section 4.1."""
    a, b = p["a"], p["b"]
    wave = 1.5 - a - 2 * b - 0.5 * math.sin(2 * math.pi * (a**2 - 2 * b))
    return a + b, {"wave": wave, "circle": a**2 + b**2 - 1.5}


def welded_beam(p: Mapping[str, Any], _: int) -> tuple[float, Metrics]:
    """Rao 1996, "Engineering Optimization", as in Coello and Mezura-Montes 2002: a beam of least cost."""
    h, length, t, b = p["h"], p["l"], p["t"], p["b"]
    load, span, young, shear_modulus = 6000.0, 14.0, 30e6, 12e6
    moment = load * (span + length / 2)
    radius = math.sqrt(length**2 / 4 + ((h + t) / 2) ** 2)
    inertia = 2 * math.sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2)
    primary, torsion = load / (math.sqrt(2) * h * length), moment * radius / inertia
    stress = math.sqrt(primary**2 + primary * torsion * length / radius + torsion**2)
    slenderness = 1 - t / (2 * span) * math.sqrt(young / (4 * shear_modulus))
    buckling = 4.013 * young * math.sqrt(t**2 * b**6 / 36) / span**2 * slenderness
    bar = 0.04811 * t * b * (14 + length)
    return 1.10471 * h**2 * length + bar, {
        "shear": stress,
        "bending": 6 * load * span / (b * t**2),
        "excess": h - b,
        "bar": 0.10471 * h**2 + bar,
        "deflection": 4 * load * span**3 / (young * b * t**3),
        "buckling": buckling,
    }


def pressure_vessel(p: Mapping[str, Any], _: int) -> tuple[float, Metrics]:
    """Sandgren 1990, as in Coello and Mezura-Montes 2002: a vessel of least cost; plates come in 1/16 inch."""
    shell, head, radius, length = 0.0625 * p["shell"], 0.0625 * p["head"], p["radius"], p["length"]
    cost = 0.6224 * shell * radius * length + 1.7781 * head * radius**2
    cost += 3.1661 * shell**2 * length + 19.84 * shell**2 * radius
    volume = math.pi * radius**2 * length + 4 / 3 * math.pi * radius**3
    return cost, {"shell": shell - 0.0193 * radius, "head": head - 0.00954 * radius, "volume": volume}


def speed_reducer(p: Mapping[str, Any], _: int) -> tuple[float, Metrics]:
    """Golinski 1973, as in Mezura-Montes and Coello 2005: a gear box of least weight."""
    b, m, z, l1, l2, d1, d2 = (p[name] for name in ("b", "m", "z", "l1", "l2", "d1", "d2"))
    weight = 0.7854 * b * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934) - 1.508 * b * (d1**2 + d2**2)
    weight += 7.4777 * (d1**3 + d2**3) + 0.7854 * (l1 * d1**2 + l2 * d2**2)
    return weight, {
        "bending": 27 / (b * m**2 * z),
        "contact": 397.5 / (b * m**2 * z**2),
        "deflection_1": 1.93 * l1**3 / (m * z * d1**4),
        "deflection_2": 1.93 * l2**3 / (m * z * d2**4),
        "stress_1": math.sqrt((745 * l1 / (m * z)) ** 2 + 16.9e6) / (110 * d1**3),
        "stress_2": math.sqrt((745 * l2 / (m * z)) ** 2 + 157.5e6) / (85 * d2**3),
        "width": m * z / 40,
        "least_ratio": 5 * m / b,
        "largest_ratio": b / (12 * m),
        "shaft_1": (1.5 * d1 + 1.9) / l1,
        "shaft_2": (1.1 * d2 + 1.9) / l2,
    }


@cache
def _rows(name: str, seed: int) -> Split:
    rng = generator(name, seed)
    return split(digits, 600, 500, rng) if name == "forest" else split(htru, 1000, 1500, rng)


def forest(p: Mapping[str, Any], seed: int) -> tuple[float, Metrics]:
    """Error of a random forest on digits, its number of nodes, and the number of comparisons per prediction."""
    rows = _rows("forest", seed)
    model = RandomForestClassifier(
        n_estimators=p["trees"],
        max_depth=p["depth"],
        max_features=p["features"],
        min_samples_leaf=p["leaf"],
        random_state=seed,
    ).fit(rows.training.X, rows.training.y)
    paths = model.decision_path(rows.validation.X)[0]
    return float(zero_one_loss(rows.validation.y, model.predict(rows.validation.X))), {
        "nodes": float(sum(tree.tree_.node_count for tree in model.estimators_)),
        "comparisons": float(paths.sum() / paths.shape[0]),
    }


def svm(p: Mapping[str, Any], seed: int) -> tuple[float, Metrics]:
    """Error of a support vector machine on pulsars, with a weight for the rare class, and its number of support
    vectors."""
    rows = _rows("svm", seed)
    model = SVC(C=p["C"], gamma=p["gamma"], class_weight={1: p["weight"]}).fit(rows.training.X, rows.training.y)
    predicted = model.predict(rows.validation.X)
    wrong = [float((predicted[rows.validation.y == each] != each).mean()) for each in (0, 1)]
    return float(np.mean(wrong)), {"support_vectors": float(model.n_support_.sum())}


PROBLEMS = {
    problem.name: problem
    for problem in (
        Constrained(
            "gramacy",
            _floats(a=(0, 1), b=(0, 1)),
            (Metric("wave", upper=0.0), Metric("circle", upper=0.0)),
            gramacy,
            0.5998,
        ),
        Constrained(
            "welded_beam",
            _floats(h=(0.125, 10), l=(0.1, 10), t=(0.1, 10), b=(0.1, 10)),
            (
                Metric("shear", upper=13600.0),
                Metric("bending", upper=30000.0),
                Metric("excess", upper=0.0),
                Metric("bar", upper=5.0),
                Metric("deflection", upper=0.25),
                Metric("buckling", lower=6000.0),
            ),
            welded_beam,
            1.724852,
        ),
        Constrained(
            "pressure_vessel",
            (IntAxis("shell", 1, 99), IntAxis("head", 1, 99), *_floats(radius=(10, 200), length=(10, 200))),
            (Metric("shell", lower=0.0), Metric("head", lower=0.0), Metric("volume", lower=1296000.0)),
            pressure_vessel,
            6059.714,
        ),
        Constrained(
            "speed_reducer",
            (
                *_floats(b=(2.6, 3.6), m=(0.7, 0.8)),
                IntAxis("z", 17, 28),
                *_floats(l1=(7.3, 8.3), l2=(7.3, 8.3), d1=(2.9, 3.9), d2=(5.0, 5.5)),
            ),
            tuple(
                Metric(name, upper=1.0)
                for name in (
                    *("bending", "contact", "deflection_1", "deflection_2", "stress_1", "stress_2"),
                    *("width", "least_ratio", "largest_ratio", "shaft_1", "shaft_2"),
                )
            ),
            speed_reducer,
            2994.471,
        ),
        Constrained(
            "forest",
            (
                IntAxis("trees", 1, 100, "log"),
                IntAxis("depth", 1, 20),
                FloatAxis("features", 0.02, 1.0, "log"),
                IntAxis("leaf", 1, 20, "log"),
            ),
            (Metric("nodes", upper=3000.0), Metric("comparisons", upper=150.0)),
            forest,
            None,
        ),
        Constrained(
            "svm",
            (
                FloatAxis("C", 1e-3, 1e3, "log"),
                FloatAxis("gamma", 1e-4, 1e1, "log"),
                FloatAxis("weight", 0.1, 100.0, "log"),
            ),
            (Metric("support_vectors", upper=60.0),),
            svm,
            None,
        ),
    )
}
