"""The best result so far as a sparkline."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH, HEIGHT, MARGIN = 120.0, 28.0, 2.0


def sparkline(records: Sequence[tuple[int, float]], worst: float | None, count: int) -> str:
    """Return the path of a stepped line in a box of 120 by 28, for SVG's ``d``; empty without any result. As
    long as no result is better than the first one, the line is flat.

    Args:
        records: number and value of each result that was better than all earlier ones.
        worst: the worst result, so that a small improvement looks small.
        count: the number of results.
    """
    if not records:
        return ""
    values = [value for _, value in records] + ([] if worst is None else [worst])
    low, high = min(values), max(values)
    across = (WIDTH - 2 * MARGIN) / max(count - records[0][0], 1)
    down = (HEIGHT - 2 * MARGIN) / ((high - low) or 1.0)
    points = [(MARGIN + (seq - records[0][0]) * across, MARGIN + (high - value) * down) for seq, value in records]
    steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:])
    return f"M{points[0][0]:.1f} {points[0][1]:.1f}{steps}H{WIDTH - MARGIN:.1f}"
