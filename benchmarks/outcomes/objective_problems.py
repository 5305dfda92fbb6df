"""Problems with several objectives, all to be minimized: functions of the literature, and two real tuning tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from adabkb_service.engine.axes import Axis, FloatAxis, IntAxis
from adabkb_service.engine.metrics import Metric
from adabkb_service.engine.space import Space
from benchmarks.functions import Array

Evaluate = Callable[[Mapping[str, Any]], tuple[float, ...]]


@dataclass(frozen=True)
class Traded:
    """A problem, and the reference point of its hypervolume, which the methods do not know."""

    name: str
    axes: tuple[Axis, ...]
    reference: tuple[float, ...]
    evaluate: Evaluate

    @property
    def space(self) -> Space:
        """The search space."""
        return Space(self.axes)

    @property
    def objectives(self) -> tuple[Metric, ...]:
        """The objectives, in the form of the engine."""
        return tuple(Metric(f"f{k + 1}", goal=-1.0) for k in range(len(self.reference)))


def _unit(dimension: int) -> tuple[Axis, ...]:
    return tuple(FloatAxis(f"x{k + 1}", 0.0, 1.0) for k in range(dimension))


def _point(parameters: Mapping[str, Any]) -> Array:
    return np.array(list(parameters.values()), dtype=float)


def _zdt(shape: Callable[[float, float], float]) -> Evaluate:
    """ZDT (Zitzler, Deb and Thiele 2000): f1 = x1, f2 = g(x) h(f1, g)."""

    def evaluate(parameters: Mapping[str, Any]) -> tuple[float, ...]:
        x = _point(parameters)
        g = 1.0 + 9.0 * float(x[1:].mean())
        return float(x[0]), g * shape(float(x[0]), g)

    return evaluate


def _dtlz2(parameters: Mapping[str, Any]) -> tuple[float, ...]:
    """DTLZ2 (Deb et al. 2002) with three objectives."""
    x = _point(parameters)
    size = 1.0 + float(((x[2:] - 0.5) ** 2).sum())
    a, b = x[0] * math.pi / 2.0, x[1] * math.pi / 2.0
    return size * math.cos(a) * math.cos(b), size * math.cos(a) * math.sin(b), size * math.sin(a)


def _branin_currin(parameters: Mapping[str, Any]) -> tuple[float, ...]:
    u, v = _point(parameters).tolist()
    x, y = 15.0 * u - 5.0, 15.0 * v
    valley = (y - 5.1 / (4.0 * math.pi**2) * x**2 + 5.0 / math.pi * x - 6.0) ** 2
    branin = valley + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(x) + 10.0
    rise = 1.0 - math.exp(-1.0 / (2.0 * v)) if v > 0.0 else 1.0
    return branin, rise * (2300 * u**3 + 1900 * u**2 + 2092 * u + 60) / (100 * u**3 + 500 * u**2 + 4 * u + 20)


def _vehicle_safety(parameters: Mapping[str, Any]) -> tuple[float, ...]:
    """Mass, acceleration and intrusion in a crash (Liao et al. 2008; RE3-5-4 of Tanabe and Ishibuchi 2020)."""
    a, b, c, d, e = _point(parameters).tolist()
    mass = 1640.2823 + 2.3573285 * a + 2.3220035 * b + 4.5688768 * c + 7.7213633 * d + 4.4559504 * e
    acceleration = 6.5856 + 1.15 * a - 1.0427 * b + 0.9738 * c + 0.8364 * d - 0.3695 * a * d + 0.0861 * a * e
    acceleration += 0.3628 * b * d - 0.1106 * a**2 - 0.3437 * c**2 + 0.1764 * d**2
    intrusion = -0.0551 + 0.0181 * a + 0.1024 * b + 0.0421 * c - 0.0073 * a * b + 0.024 * b * c - 0.0118 * b * d
    intrusion += -0.0204 * c * d - 0.008 * c * e - 0.0241 * b**2 + 0.0109 * d**2
    return mass, acceleration, intrusion


@cache
def _digits() -> Any:
    from sklearn.datasets import load_digits  # noqa: PLC0415 (only where it runs)
    from sklearn.model_selection import train_test_split  # noqa: PLC0415 (as above)

    return train_test_split(*load_digits(return_X_y=True), random_state=0)


def _forest(parameters: Mapping[str, Any]) -> tuple[float, ...]:
    """Error and thousands of nodes of a random forest on digits."""
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415 (as above)

    X, X_test, y, y_test = _digits()
    made = RandomForestClassifier(
        parameters["trees"], max_depth=parameters["depth"], max_features=parameters["features"], random_state=0
    ).fit(X, y)
    nodes = sum(tree.tree_.node_count for tree in made.estimators_)
    return 1.0 - made.score(X_test, y_test), nodes / 1000.0


def _network(parameters: Mapping[str, Any]) -> tuple[float, ...]:
    """Error and thousands of weights of a network with one hidden layer on digits."""
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415 (as above)

    X, X_test, y, y_test = _digits()
    made = MLPClassifier(
        (parameters["width"],),
        alpha=parameters["alpha"],
        learning_rate_init=parameters["rate"],
        max_iter=parameters["epochs"],
        random_state=0,
    )
    import warnings  # noqa: PLC0415 (as above)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no convergence
        made.fit(X / 16.0, y)
    weights = sum(layer.size for layer in [*made.coefs_, *made.intercepts_])
    return 1.0 - made.score(X_test / 16.0, y_test), weights / 1000.0


PROBLEMS = {
    each.name: each
    for each in (
        Traded("zdt1", _unit(6), (11.0, 11.0), _zdt(lambda f, g: 1.0 - math.sqrt(f / g))),
        Traded("zdt2", _unit(6), (11.0, 11.0), _zdt(lambda f, g: 1.0 - (f / g) ** 2)),
        Traded(
            "zdt3",
            _unit(6),
            (11.0, 11.0),
            _zdt(lambda f, g: 1.0 - math.sqrt(f / g) - f / g * math.sin(10.0 * math.pi * f)),
        ),
        Traded("dtlz2", _unit(6), (1.1, 1.1, 1.1), _dtlz2),
        Traded("branin_currin", _unit(2), (18.0, 6.0), _branin_currin),
        Traded(
            "vehicle_safety",
            tuple(FloatAxis(name, 1.0, 3.0) for name in "abcde"),
            (1864.72022, 11.81993945, 0.2903999384),
            _vehicle_safety,
        ),
        Traded(
            "forest",
            (
                IntAxis("trees", 1, 200, scale="log"),
                IntAxis("depth", 1, 20),
                FloatAxis("features", 0.02, 1.0, scale="log"),
            ),
            (0.5, 40.0),
            _forest,
        ),
        Traded(
            "network",
            (
                IntAxis("width", 1, 200, scale="log"),
                FloatAxis("alpha", 1e-6, 1.0, scale="log"),
                FloatAxis("rate", 1e-4, 0.1, scale="log"),
                IntAxis("epochs", 5, 50),
            ),
            (0.5, 15.0),
            _network,
        ),
    )
}
