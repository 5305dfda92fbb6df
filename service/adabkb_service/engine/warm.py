"""``python -m adabkb_service.engine.warm`` compiles the inner loops into numba's cache before requests come."""

from __future__ import annotations

from adabkb_service.engine.auto import policy  # noqa: F401 - importing it registers the compiled functions
from adabkb_service.engine.compiled import ENTRIES


def warm() -> int:
    """Compile the functions that the cache lacks, and return the number of all compiled functions."""
    for entry in ENTRIES:
        entry.machine_code  # noqa: B018 - a cached property
    return len(ENTRIES)


if __name__ == "__main__":
    print(f"{warm()} compiled functions are in the cache")
