"""``python -m adabkb_service.engine.warm``: compile the inner loops into numba's cache, so that no request waits."""

from __future__ import annotations

from adabkb_service.engine.auto import policy  # noqa: F401 - its imports register what there is to compile
from adabkb_service.engine.compiled import ENTRIES


def warm() -> int:
    """Compile whatever the cache does not hold yet; how many functions there are."""
    for entry in ENTRIES:
        entry.machine_code  # noqa: B018 - computed and kept
    return len(ENTRIES)


if __name__ == "__main__":
    print(f"{warm()} compiled functions are in the cache")
