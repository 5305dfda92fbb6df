"""The 17 test functions as the authors of Ada-BKB coded them, on their boxes.

Two differ from the textbook, as their names say: ``Beale_as_coded`` has 2.25 in place of 2.625, and
``DixonPrice_10_as_coded`` counts from 0 and leaves a term out. Their Six-Hump Camel has the box [-3, 3] x [-2, 2].
"""

from __future__ import annotations

import numpy as np

from benchmarks.functions import (
    Array,
    Function,
    ackley,
    bohachevsky,
    branin,
    cube,
    hartmann_3,
    hartmann_6,
    levy,
    rastrigin,
    rosenbrock,
    shekel,
    six_hump_camel,
    trid,
)


def beale_as_coded(x: Array) -> float:
    a, b = x.tolist()
    return float((1.5 - a + a * b) ** 2 + (2.25 - a + a * b**2) ** 2 + (2.25 - a + a * b**3) ** 2)


def dixon_price_as_coded(x: Array) -> float:
    i = np.arange(2, len(x))
    return float((x[0] - 1) ** 2 + (i * (2 * x[2:] ** 2 - x[1:-1]) ** 2).sum())


def _ackley(d: int) -> Function:
    return Function(f"Ackley_{d}", cube(d, -10.0, 52.768), 0.0, (0.0,) * d, ackley)


FUNCTIONS = {
    function.name: function
    for function in (
        Function("Branin", ((-5.0, 10.0), (0.0, 15.0)), 0.39788735772973816, (np.pi, 2.275), branin),
        Function(
            "Beale_as_coded", cube(2, -4.5, 4.5), 0.025520496960067026, (2.436359025, 0.358645643), beale_as_coded
        ),
        Function("Bohachevsky", ((-10.0, 190.0), (-180.0, 20.0)), 0.0, (0.0, 0.0), bohachevsky),
        Function("Rosenbrock_2", cube(2, -5.0, 10.0), 0.0, (1.0, 1.0), rosenbrock),
        Function(
            "SixHumpCamel",
            ((-3.0, 3.0), (-2.0, 2.0)),
            -1.0316284534898774,
            (0.08984201368301331, -0.7126564032704135),
            six_hump_camel,
        ),
        _ackley(2),
        Function("Trid_2", cube(2, -4.0, 4.0), -2.0, (2.0, 2.0), trid),
        Function("Hartmann_3", cube(3, 0.0, 1.0), -3.862779787332663, (0.11458889, 0.55564889, 0.85254698), hartmann_3),
        Function("Trid_4", cube(4, -16.0, 16.0), -16.0, (4.0, 6.0, 6.0, 4.0), trid),
        Function(
            "Shekel",
            cube(4, 0.0, 10.0),
            -10.536443153483527,
            (4.00074687, 3.999509479, 4.000746869, 3.999509479),
            shekel,
        ),
        _ackley(5),
        Function(
            "Hartmann_6",
            cube(6, 0.0, 1.0),
            -3.3223680114155147,
            (0.201689511, 0.150010695, 0.476873977, 0.275332429, 0.311651617, 0.657300533),
            hartmann_6,
        ),
        Function("Levy_6", cube(6, -10.0, 10.0), 0.0, (1.0,) * 6, levy),
        Function("Levy_8", cube(8, -10.0, 10.0), 0.0, (1.0,) * 8, levy),
        Function("Rastrigin_8", cube(8, -1.12, 5.12), 0.0, (0.0,) * 8, rastrigin),
        Function("DixonPrice_10_as_coded", cube(10, -10.0, 10.0), 0.0, (1.0, *(0.0,) * 9), dixon_price_as_coded),
        _ackley(30),
    )
}
