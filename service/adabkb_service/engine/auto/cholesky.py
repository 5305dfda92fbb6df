"""LAPACK's Cholesky routines for compiled functions: scipy's own, called by address.

numba knows them by name only, so that what is compiled can be cached; each process tells it the addresses.
"""

from __future__ import annotations

from collections.abc import Callable

import llvmlite.binding
import numpy as np
from numba import types
from numba.extending import get_cython_function_address
from numpy.typing import NDArray

from adabkb_service.engine.compiled import inlined

Array = NDArray[np.float64]


def _routine(name: str, arguments: int) -> Callable[..., None]:
    symbol = f"adabkb_{name}"
    llvmlite.binding.add_symbol(symbol, get_cython_function_address("scipy.linalg.cython_lapack", name))
    routine: Callable[..., None] = types.ExternalFunction(symbol, types.void(*[types.uintp] * arguments))
    return routine


_dpotrf, _dpotrs, _dpotri = _routine("dpotrf", 5), _routine("dpotrs", 8), _routine("dpotri", 5)
_LOWER = np.array([ord("L")], dtype=np.uint8)
"""Of LAPACK's columns, which are our rows: the upper triangle of a numpy matrix."""


@inlined
def factorize(A: Array) -> bool:
    """The upper triangle of a positive definite A, (n, n), becomes U with A = U'U; whether it was definite."""
    n, info = np.array([len(A)], dtype=np.int32), np.zeros(1, dtype=np.int32)
    _dpotrf(_LOWER.ctypes.data, n.ctypes.data, A.ctypes.data, n.ctypes.data, info.ctypes.data)
    return bool(info[0] == 0)


@inlined
def solve(U: Array, b: Array) -> Array:
    """A^-1 b, (n,), from the factor."""
    x, one = b.copy(), np.ones(1, dtype=np.int32)
    n, info = np.array([len(U)], dtype=np.int32), np.zeros(1, dtype=np.int32)
    size, status = n.ctypes.data, info.ctypes.data
    _dpotrs(_LOWER.ctypes.data, size, one.ctypes.data, U.ctypes.data, size, x.ctypes.data, size, status)
    return x


@inlined
def invert(U: Array) -> None:
    """The upper triangle, which holds the factor, becomes that of A^-1."""
    n, info = np.array([len(U)], dtype=np.int32), np.zeros(1, dtype=np.int32)
    _dpotri(_LOWER.ctypes.data, n.ctypes.data, U.ctypes.data, n.ctypes.data, info.ctypes.data)
