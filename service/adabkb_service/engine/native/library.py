"""The compiled library of the inner loops, which is built with the package from the C files in this folder.

Each platform has one version and, on x86-64, a second one with AVX2 instructions, which most processors since 2013
have. The second one is about twice as fast and gives the same bits, because neither version fuses or reorders
operations. Products and factorizations use SciPy's BLAS and LAPACK, called by address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack

FOLDER = Path(__file__).parent
EVERY_PROCESSOR, AVX2 = FOLDER / "inner-loops.so", FOLDER / "inner-loops-avx2.so"

POINTER, COUNT, NUMBER = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
"""Types of arguments."""

_NO_MEMORY = 1
_NOTHING = ctypes.c_char * 0

_BLAS = ("ddot", "dgemv", "dgemm")
_LAPACK = ("dpotrf", "dpotrs", "dpotri")


def opened(path: Path) -> ctypes.CDLL:
    """Return the library at a path, linked with BLAS and LAPACK.

    Raises:
        OSError: the library cannot be loaded.
    """
    library = ctypes.CDLL(str(path))
    found = [_address_in(cython_blas, name) for name in _BLAS] + [_address_in(cython_lapack, name) for name in _LAPACK]
    library.use_routines((ctypes.c_void_p * len(found))(*found))
    return library


def _address_in(module: Any, name: str) -> int:
    """Return the address of a routine that a Cython module of SciPy exports (see its "Low-level BLAS functions")."""
    capsule = module.__pyx_capi__[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address: int = pointer_of(capsule, name_of(capsule))
    return address


def _for_this_processor() -> ctypes.CDLL:
    if not EVERY_PROCESSOR.exists():
        raise ImportError(
            "The compiled part of adabkb-service is missing. In a checkout, run `make install`; "
            "elsewhere, install the package again: pip install --force-reinstall --no-deps adabkb-service"
        )
    library = opened(EVERY_PROCESSOR)
    return opened(AVX2) if AVX2.exists() and library.has_avx2() else library


_LIBRARY = _for_this_processor()


def routine(name: str, *arguments: Any, library: ctypes.CDLL = _LIBRARY) -> Callable[..., None]:
    """Return a function of the library, whose last arguments are its outputs. It releases the interpreter lock.

    Raises, when called:
        MemoryError: no memory is left.
    """
    found: Any = library[f"adabkb_{name}"]
    found.argtypes, found.restype = arguments, _raise_if_failed
    called: Callable[..., None] = found
    return called


def _raise_if_failed(status: int) -> None:
    if status == _NO_MEMORY:
        raise MemoryError


def reals(array: NDArray[np.float64]) -> int:
    """The address of a contiguous array of float64.

    Raises:
        TypeError: the array is of another type, or not contiguous.
    """
    return _address(array, np.float64)


def flags(array: NDArray[np.bool_]) -> int:
    """The address of a contiguous array of bool. Raises as ``reals``."""
    return _address(array, np.bool_)


def integers(array: NDArray[np.int64]) -> int:
    """The address of a contiguous array of int64. Raises as ``reals``."""
    return _address(array, np.int64)


def short_integers(array: NDArray[np.int32]) -> int:
    """The address of a contiguous array of int32. Raises as ``reals``."""
    return _address(array, np.int32)


def _address(array: NDArray[Any], kind: type) -> int:
    if array.dtype != kind or not array.flags.c_contiguous:
        raise TypeError(f"a contiguous array of {kind.__name__} is needed, not one of {array.dtype}")
    buffer: Any = array
    try:
        return ctypes.addressof(_NOTHING.from_buffer(buffer))  # four times as fast as array.ctypes
    except TypeError:  # the array is read-only
        return array.ctypes.data
