"""Which libraries compute: others may round otherwise, and so learn otherwise."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy
from threadpoolctl import threadpool_info


@cache
def libraries() -> dict[str, str]:
    """Those of this process by name, with their versions; of linear algebra also for which kind of processor."""
    blas = {" ".join(map(str, _named(each))) for each in threadpool_info() if each["user_api"] == "blas"}
    return {"numpy": np.__version__, "scipy": scipy.__version__, "blas": ", ".join(sorted(blas))}


def _named(library: dict[str, object]) -> list[object]:
    found = (library.get(key) for key in ("internal_api", "version", "architecture"))
    return [each for each in found if each is not None]
