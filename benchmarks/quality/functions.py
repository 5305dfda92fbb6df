"""The 17 test functions with boxes and minima from the literature.

The minima of Hartmann and Shekel are polished beyond the digits in print, so that no regret is negative.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.functions import (
    Function,
    ackley,
    beale,
    bohachevsky,
    cube,
    dixon_price,
    levy,
    rastrigin,
    rosenbrock,
    trid,
)
from benchmarks.paper.functions import FUNCTIONS as AUTHORS


def _ackley(d: int) -> Function:
    return Function(f"Ackley_{d}", cube(d, -32.768, 32.768), 0.0, (0.0,) * d, ackley)


def _levy(d: int) -> Function:
    return Function(f"Levy_{d}", cube(d, -10.0, 10.0), 0.0, (1.0,) * d, levy)


def _trid(d: int) -> Function:
    minimizer = tuple(float(i * (d + 1 - i)) for i in range(1, d + 1))
    return Function(f"Trid_{d}", cube(d, -(d**2), d**2), -d * (d + 4) * (d - 1) / 6, minimizer, trid)


def _dixon_price(d: int) -> Function:
    minimizer = tuple(2.0 ** -((2**i - 2) / 2**i) for i in range(1, d + 1))
    return Function(f"DixonPrice_{d}", cube(d, -10.0, 10.0), 0.0, minimizer, dixon_price)


FUNCTIONS = {
    function.name: function
    for function in (
        AUTHORS["Branin"],
        AUTHORS["SixHumpCamel"],
        Function("Beale", cube(2, -4.5, 4.5), 0.0, (3.0, 0.5), beale),
        Function("Bohachevsky", cube(2, -100.0, 100.0), 0.0, (0.0, 0.0), bohachevsky),
        Function("Rosenbrock_2", cube(2, -5.0, 10.0), 0.0, (1.0, 1.0), rosenbrock),
        _ackley(2),
        _trid(2),
        AUTHORS["Hartmann_3"],
        _trid(4),
        replace(AUTHORS["Shekel"], name="Shekel_4"),
        _ackley(5),
        AUTHORS["Hartmann_6"],
        _levy(6),
        _levy(8),
        Function("Rastrigin_8", cube(8, -5.12, 5.12), 0.0, (0.0,) * 8, rastrigin),
        _dixon_price(10),
        _ackley(30),
    )
}
