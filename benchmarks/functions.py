"""Test functions of optimization, to be minimized, in their textbook form.

Source: S. Surjanovic and D. Bingham, Virtual Library of Simulation Experiments (<https://www.sfu.ca/~ssurjano/>).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.axes import FloatAxis
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Function:
    """A function to minimize over a box."""

    name: str
    box: tuple[tuple[float, float], ...]
    """(low, high) per axis."""
    minimum: float
    minimizer: tuple[float, ...]
    """One of the points where the minimum is attained."""
    evaluate: Callable[[Array], float]
    """x (d,) -> f(x), without noise."""
    cost: Callable[[Array], float] | None = None
    """x (d,) -> duration of an evaluation in seconds; None if it is negligible."""

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
_HARTMANN_3_CENTERS = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])


def hartmann_3(x: Array) -> float:
    distances = (_HARTMANN_3_WIDTHS * (x - _HARTMANN_3_CENTERS) ** 2).sum(axis=1)
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


def beale(x: Array) -> float:
    a, b = x.tolist()
    return float((1.5 - a + a * b) ** 2 + (2.25 - a + a * b**2) ** 2 + (2.625 - a + a * b**3) ** 2)


def bohachevsky(x: Array) -> float:
    a, b = x.tolist()
    return float(a**2 + 2 * b**2 - 0.3 * np.cos(3 * np.pi * a) - 0.4 * np.cos(4 * np.pi * b) + 0.7)


def rosenbrock(x: Array) -> float:
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (x[:-1] - 1) ** 2).sum())


def trid(x: Array) -> float:
    return float(((x - 1) ** 2).sum() - (x[1:] * x[:-1]).sum())


def dixon_price(x: Array) -> float:
    i = np.arange(2, len(x) + 1)
    return float((x[0] - 1) ** 2 + (i * (2 * x[1:] ** 2 - x[:-1]) ** 2).sum())


_SHEKEL_WIDTHS = 0.1 * np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5])
_SHEKEL_CENTERS = np.array(
    [
        [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
        [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
        [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
        [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
    ]
).T


def shekel(x: Array) -> float:
    return float(-(1 / (((x - _SHEKEL_CENTERS) ** 2).sum(axis=1) + _SHEKEL_WIDTHS)).sum())


_HARTMANN_6_WIDTHS = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_HARTMANN_6_CENTERS = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann_6(x: Array) -> float:
    distances = (_HARTMANN_6_WIDTHS * (x - _HARTMANN_6_CENTERS) ** 2).sum(axis=1)
    return float(-_HARTMANN_HEIGHTS @ np.exp(-distances))


def cube(d: int, low: float, high: float) -> tuple[tuple[float, float], ...]:
    """A box with equal sides."""
    return ((low, high),) * d
