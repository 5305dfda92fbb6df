"""Choose a random sample of the results of a large study, for charts that draw each result as a dot. A chart of only
the extreme results would show bands that do not exist."""

from __future__ import annotations

import numpy as np


def sampled(count: int, most: int) -> set[int]:
    """Return the numbers of about ``most`` of ``count`` results, chosen at random; of all if there are few. Each call
    chooses the same numbers. When ``count`` grows, some numbers are dropped, and only numbers of new results are added,
    so charts change little."""
    numbers = np.arange(1, count + 1, dtype=np.uint32)
    hashes = numbers.copy()
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):  # lowbias32 (github.com/skeeto/hash-prospector)
        hashes ^= hashes >> np.uint32(shift)
        hashes *= np.uint32(factor)
    hashes ^= hashes >> np.uint32(16)
    return set(numbers[hashes < min(most / max(count, 1), 1.0) * 2.0**32].tolist())
