"""Test functions as the authors of Ada-BKB coded them: minimised, with their boxes and minima.

The box and the minimum are those of the authors' runs, which differ here and there from the literature's (their
Six-Hump Camel lives on [-3, 3] x [-2, 2]). A new function is one more row of ``FUNCTIONS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.space import FloatAxis, Space

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Function:
    """A function to minimise over a box."""

    name: str
    box: tuple[tuple[float, float], ...]
    """(low, high) per axis."""
    minimum: float
    minimiser: tuple[float, ...]
    """One of the points where the minimum is attained."""
    evaluate: Callable[[Array], float]
    """x (d,) -> f(x), without noise."""

    @property
    def dimension(self) -> int:
        """d."""
        return len(self.box)

    @property
    def space(self) -> Space:
        """The box as a search space."""
        return Space(tuple(FloatAxis(f"x{i}", low, high) for i, (low, high) in enumerate(self.box)))

    def regret(self, x: Array) -> float:
        """f(x) minus the minimum."""
        return self.evaluate(x) - self.minimum


def branin(x: Array) -> float:
    a, b = x.tolist()
    parabola = b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6
    return float(parabola**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10)


def six_hump_camel(x: Array) -> float:
    a, b = x.tolist()
    return float((4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2)


_HARTMANN_HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_3_WIDTHS = np.array([[3.0, 10.0, 30.0], [0.1, 10.0, 35.0], [3.0, 10.0, 30.0], [0.1, 10.0, 35.0]])
_HARTMANN_3_CENTRES = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])


def hartmann_3(x: Array) -> float:
    distances = (_HARTMANN_3_WIDTHS * (x - _HARTMANN_3_CENTRES) ** 2).sum(axis=1)
    return float(-_HARTMANN_HEIGHTS @ np.exp(-distances))


def ackley(x: Array) -> float:
    ridge = -20 * np.exp(-0.2 * np.sqrt((x**2).mean()))
    return float(ridge - np.exp(np.cos(2 * np.pi * x).mean()) + 20 + np.e)


def levy(x: Array) -> float:
    w = 1 + (x - 1) / 4
    first = np.sin(np.pi * w[0]) ** 2
    middle = (w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2)
    last = (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)
    return float(first + middle.sum() + last)


def rastrigin(x: Array) -> float:
    return float(10 * len(x) + (x**2 - 10 * np.cos(2 * np.pi * x)).sum())


FUNCTIONS = {
    function.name: function
    for function in (
        Function("Branin", ((-5.0, 10.0), (0.0, 15.0)), 0.39788735772973816, (np.pi, 2.275), branin),
        Function(
            "SixHumpCamel",
            ((-3.0, 3.0), (-2.0, 2.0)),
            -1.0316284534898774,
            (0.08984201368301331, -0.7126564032704135),
            six_hump_camel,
        ),
        Function(
            "Hartmann_3",
            ((0.0, 1.0),) * 3,
            -3.862779787332663,
            (0.11458889, 0.55564889, 0.85254698),
            hartmann_3,
        ),
        Function("Ackley_5", ((-10.0, 52.768),) * 5, 0.0, (0.0,) * 5, ackley),
        Function("Levy_8", ((-10.0, 10.0),) * 8, 0.0, (1.0,) * 8, levy),
        Function("Rastrigin_8", ((-1.12, 5.12),) * 8, 0.0, (0.0,) * 8, rastrigin),
    )
}
