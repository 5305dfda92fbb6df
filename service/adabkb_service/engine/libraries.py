"""Versions of the numerical libraries. Other versions may round differently, and so learn different hyperparameters."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy
from threadpoolctl import threadpool_info


@cache
def libraries() -> dict[str, str]:
    """Name -> version of the numerical libraries of this process. For BLAS, also the processor architecture."""
    blas = {" ".join(map(str, _named(each))) for each in threadpool_info() if each["user_api"] == "blas"}
    return {"numpy": np.__version__, "scipy": scipy.__version__, "blas": ", ".join(sorted(blas))}


def _named(library: dict[str, object]) -> list[object]:
    found = (library.get(key) for key in ("internal_api", "version", "architecture"))
    return [each for each in found if each is not None]
