"""The 17 test functions in their textbook form: minimised, with the boxes and minima of the literature.

Source: S. Surjanovic and D. Bingham, Virtual Library of Simulation Experiments (<https://www.sfu.ca/~ssurjano/>).
The minima of Hartmann and Shekel are polished beyond the digits in print, so that no regret is negative.
"""

from __future__ import annotations

import numpy as np

from benchmarks.functions import FUNCTIONS as AUTHORS
from benchmarks.functions import Array, Function, ackley, levy, rastrigin


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
_SHEKEL_CENTRES = np.array(
    [
        [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
        [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
        [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
        [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
    ]
).T


def shekel(x: Array) -> float:
    return float(-(1 / (((x - _SHEKEL_CENTRES) ** 2).sum(axis=1) + _SHEKEL_WIDTHS)).sum())


_HARTMANN_HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_6_WIDTHS = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_HARTMANN_6_CENTRES = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann_6(x: Array) -> float:
    distances = (_HARTMANN_6_WIDTHS * (x - _HARTMANN_6_CENTRES) ** 2).sum(axis=1)
    return float(-_HARTMANN_HEIGHTS @ np.exp(-distances))


def _cube(d: int, low: float, high: float) -> tuple[tuple[float, float], ...]:
    return ((low, high),) * d


def _ackley(d: int) -> Function:
    return Function(f"Ackley_{d}", _cube(d, -32.768, 32.768), 0.0, (0.0,) * d, ackley)


def _levy(d: int) -> Function:
    return Function(f"Levy_{d}", _cube(d, -10.0, 10.0), 0.0, (1.0,) * d, levy)


def _trid(d: int) -> Function:
    minimiser = tuple(float(i * (d + 1 - i)) for i in range(1, d + 1))
    return Function(f"Trid_{d}", _cube(d, -(d**2), d**2), -d * (d + 4) * (d - 1) / 6, minimiser, trid)


def _dixon_price(d: int) -> Function:
    minimiser = tuple(2.0 ** -((2**i - 2) / 2**i) for i in range(1, d + 1))
    return Function(f"DixonPrice_{d}", _cube(d, -10.0, 10.0), 0.0, minimiser, dixon_price)


FUNCTIONS = {
    function.name: function
    for function in (
        AUTHORS["Branin"],
        AUTHORS["SixHumpCamel"],
        Function("Beale", _cube(2, -4.5, 4.5), 0.0, (3.0, 0.5), beale),
        Function("Bohachevsky", _cube(2, -100.0, 100.0), 0.0, (0.0, 0.0), bohachevsky),
        Function("Rosenbrock_2", _cube(2, -5.0, 10.0), 0.0, (1.0, 1.0), rosenbrock),
        _ackley(2),
        _trid(2),
        AUTHORS["Hartmann_3"],
        _trid(4),
        Function(
            "Shekel_4",
            _cube(4, 0.0, 10.0),
            -10.536443153483527,
            (4.00074687, 3.999509479, 4.000746869, 3.999509479),
            shekel,
        ),
        _ackley(5),
        Function(
            "Hartmann_6",
            _cube(6, 0.0, 1.0),
            -3.3223680114155147,
            (0.201689511, 0.150010695, 0.476873977, 0.275332429, 0.311651617, 0.657300533),
            hartmann_6,
        ),
        _levy(6),
        _levy(8),
        Function("Rastrigin_8", _cube(8, -5.12, 5.12), 0.0, (0.0,) * 8, rastrigin),
        _dixon_price(10),
        _ackley(30),
    )
}
