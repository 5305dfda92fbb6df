"""Structures passed to the C functions: those of ``kernel.h``, ``posterior.h``, ``likelihood.c`` and ``search.c``.

A structure holds the addresses of arrays, and keeps these arrays alive.
"""

from __future__ import annotations

from ctypes import Structure, addressof, byref
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.native.library import COUNT, NUMBER, POINTER, flags, integers, reals, routine

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

Fields = list[tuple[str, Any]]

_tabulate = routine("tabulate", POINTER, POINTER)


class Components(Structure):
    """The components of ``auto.domain.components``."""

    _fields_: ClassVar[Fields] = [
        ("p", COUNT),
        ("axes", POINTER),
        ("counts", POINTER),
        ("most", COUNT),
        ("places", POINTER),
    ]

    def __init__(self, axes: Ints, counts: Ints, places: Array) -> None:
        self._arrays = axes, counts, places
        super().__init__(len(axes), integers(axes), integers(counts), places.shape[1], reals(places))


class Kernel(Structure):
    """A kernel of ``auto.model.kernel``: lengthscales (d + p,), categorical axes (d,), p components and the columns of
    sines, (d,), of q periodic axes."""

    _fields_: ClassVar[Fields] = [
        ("d", COUNT),
        ("columns", COUNT),
        ("lengthscales", POINTER),
        ("categorical", POINTER),
        ("sines", POINTER),
        ("components", POINTER),
        ("shares", POINTER),
        ("reach", NUMBER),
        ("smooth", COUNT),
        ("mean_variance", NUMBER),
    ]

    def __init__(
        self,
        lengthscales: Array,
        categorical: Bools,
        sines: Ints,
        components: Components,
        mean_variance: float,
        shares: Array | None,
        reach: float,
        *,
        smooth: bool,
    ) -> None:
        self._arrays = lengthscales, categorical, sines, components, shares
        super().__init__(
            len(categorical),
            len(lengthscales) + np.count_nonzero(sines),
            reals(lengthscales),
            flags(categorical),
            integers(sines),
            addressof(components),
            None if shares is None else reals(shares),
            reach,
            smooth,
            mean_variance,
        )


class Points(Structure):
    """Scaled points, (d + p + q, m), with the tables of the additive part."""

    _fields_: ClassVar[Fields] = [
        ("m", COUNT),
        ("X", POINTER),
        ("share", NUMBER),
        ("rising", POINTER),
        ("falling", POINTER),
    ]

    def __init__(self, kernel: Kernel, X: Array) -> None:
        tables = np.empty((2, kernel.d, X.shape[1])) if kernel.shares else np.empty((2, 0))
        self._arrays = X, tables
        super().__init__(X.shape[1], reals(X), 0.0, reals(tables[0]), reals(tables[1]))
        if kernel.shares:
            _tabulate(byref(kernel), byref(self))


class Posterior(Structure):
    """A posterior of ``auto.model.surrogate``: weights (m,), factor (rows, m)."""

    _fields_: ClassVar[Fields] = [
        ("kernel", Kernel),
        ("inducing", Points),
        ("weights", POINTER),
        ("factor", POINTER),
        ("rows", COUNT),
        ("variance", NUMBER),
    ]

    def __init__(self, kernel: Kernel, inducing: Array, weights: Array, factor: Array, variance: float) -> None:
        points = Points(kernel, inducing)
        self._arrays = kernel, points, weights, factor
        super().__init__(kernel, points, reals(weights), reals(factor), len(factor), variance)
        self.address = addressof(self)


class Priors(Structure):
    """The priors and bounds of ``auto.model.likelihood``: of the logarithms of lengthscales, (d + p,), noise and the
    variance of plates, and of the parameters of the additive part."""

    _fields_: ClassVar[Fields] = [
        ("lengthscales", POINTER),
        ("noise", NUMBER),
        ("noise_deviation", NUMBER),
        ("share_deviation", NUMBER),
        ("reach", NUMBER),
        ("weight_deviation", NUMBER),
        ("lengthscale_bounds", NUMBER * 2),
        ("noise_bounds", NUMBER * 2),
        ("share_bounds", NUMBER * 2),
        ("largest_weight", NUMBER),
        ("plates", NUMBER),
        ("plates_deviation", NUMBER),
        ("plates_bounds", NUMBER * 2),
        ("mean_variance", NUMBER),
        ("smallest_variance", NUMBER),
    ]

    def __init__(self, lengthscales: Array, **others: Any) -> None:
        self._arrays = (lengthscales,)
        super().__init__(reals(lengthscales), **others)


class Minimization(Structure):
    """Stopping criteria of the search for hyperparameters of ``auto.model.likelihood``."""

    _fields_: ClassVar[Fields] = [
        ("evaluations", COUNT),
        ("small_gain", NUMBER),
        ("longest_step", NUMBER),
        ("flat", NUMBER),
        ("sufficient", NUMBER),
    ]


class Ascent(Structure):
    """Step sizes and stopping criteria of an ascent of ``auto.search.search``."""

    _fields_: ClassVar[Fields] = [
        ("evaluations", COUNT),
        ("small_gain", NUMBER),
        ("first_step", NUMBER),
        ("failures", COUNT),
    ]


class Results(Structure):
    """Results: positions (n, d) in the cube, outputs and known noise ratios (n,), categorical axes (d,), components and
    the columns of sines (d,); whether the kernel is smooth; and, in a study with plates, the plate of each result,
    (n,), -1 for none."""

    _fields_: ClassVar[Fields] = [
        ("n", COUNT),
        ("d", COUNT),
        ("positions", POINTER),
        ("outputs", POINTER),
        ("extra", POINTER),
        ("categorical", POINTER),
        ("components", Components),
        ("q", COUNT),
        ("sines", POINTER),
        ("smooth", COUNT),
        ("plates", POINTER),
    ]

    def __init__(
        self,
        positions: Array,
        outputs: Array,
        extra: Array,
        categorical: Bools,
        components: Components,
        sines: Ints,
        *,
        smooth: bool,
        plates: Ints | None = None,
    ) -> None:
        self._arrays = positions, outputs, extra, categorical, components, sines, plates
        given = reals(positions), reals(outputs), reals(extra), flags(categorical)
        of_plates = None if plates is None else integers(plates)
        periodic = np.count_nonzero(sines), integers(sines)
        super().__init__(*positions.shape, *given, components, *periodic, smooth, of_plates)
