"""Confidence widths of the search, in turn: from exploitation to exploration."""

from __future__ import annotations

EARLY, EARLY_STEPS = 1.5, 20
"""Width of so many first steps: with a small budget, exploration at larger widths costs too much."""
BETAS = (0.5, 1.5, 1.5, 3.0)
"""Widths of the later steps, one after the other."""
EXPLORING = 2.0
"""From this width on a suggestion counts as exploration."""
THINNED = EXPLORING
"""Width of the exploring steps of a stalled search that uses the model of thinned data (revision 2 and earlier)."""
OF_SEVERAL = 0.5
"""Width where there are several objectives: it is rare that all of them are as good as their bounds."""


def beta(step: int, *, several: bool = False) -> float:
    """Of a step of the search, or of a restart.

    Args:
        step: its number.
        several: whether there are several objectives.
    """
    if several:
        return OF_SEVERAL
    return EARLY if step < EARLY_STEPS else BETAS[step % len(BETAS)]
