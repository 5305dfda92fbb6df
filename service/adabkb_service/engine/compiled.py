"""Inner loops as machine code: numba compiles them once, and caches the result on disk.

A function marked ``compiled`` is compiled at its first call, or read from the cache that an earlier process wrote; the
import of its module compiles nothing. ``python -m adabkb_service.engine.warm`` fills the cache beforehand, so that no
request waits for the compiler. ``fastmath`` is off: the same inputs give the same bits in every process of one machine.

The body of such a function may use only what numba supports: arrays, numbers and tuples.

The cache is in ``NUMBA_CACHE_DIR``, or else beside this file, in one folder per version of the sources. numba alone
would miss a change of a function that is called from another file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache, cached_property, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")

ENTRIES: list[_Entry] = []
"""All compiled functions of the modules imported so far."""


class _Entry:
    """A function, and its machine code, which is made when it is first needed."""

    def __init__(self, signature: str, function: Callable[..., Any]) -> None:
        self._signature, self._function = signature, function

    @cached_property
    def machine_code(self) -> Callable[..., Any]:
        """The function, compiled or read from the cache."""
        config: Any = numba.config  # numba adds the settings at run time
        before, config.CACHE_DIR = config.CACHE_DIR, str(_cache_folder())
        try:
            return self._built(cached=True)
        except RuntimeError:  # the folder cannot be written: every process compiles for itself
            return self._built(cached=False)
        finally:
            config.CACHE_DIR = before

    def _built(self, *, cached: bool) -> Callable[..., Any]:
        mark = numba.njit(self._signature, cache=cached, nogil=True, error_model="numpy")
        built: Callable[..., Any] = mark(self._function)
        return built


@cache
def _cache_folder() -> Path:
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted((here / "auto").glob("*.py")):
        text = source.read_bytes()
        if b"engine.compiled import" in text:
            digest.update(text)
    return Path(os.environ.get("NUMBA_CACHE_DIR") or here / "__pycache__") / f"compiled-{digest.hexdigest()[:16]}"


def compiled(signature: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function that Python code calls. A call with other types than the signature's raises ``TypeError``."""

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        entry = _Entry(signature, function)
        ENTRIES.append(entry)

        @wraps(function)
        def call(*arguments: P.args, **keywords: P.kwargs) -> R:
            result: R = entry.machine_code(*arguments, **keywords)
            return result

        return call

    return mark


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function that only compiled functions call."""
    helper: Callable[P, R] = numba.njit(nogil=True, error_model="numpy")(function)
    return helper
