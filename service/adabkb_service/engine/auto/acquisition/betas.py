"""The confidence widths (beta) of the search: small ones exploit, large ones explore."""

from __future__ import annotations

EARLY_STEPS = 20
"""The number of early steps, in which too little is known for exploitation."""
EARLY_BETAS = (1.5, 3.0)
"""Widths of the early steps, in turn."""
FEW = 2
"""With more parameters than this, none of them categorical, and without a prior or older studies, the early steps have
a larger width, and are fewer."""
WIDE_STEPS = 12
"""The number of these steps."""
WIDE_BETAS = (3.0,)
"""Widths of these steps, in turn."""
BETAS = (0.5, 1.5, 1.5, 3.0)
"""Widths of the later steps, in turn."""
EARLY_BETAS_OF_CHOICES, BETAS_OF_CHOICES = (3.0,), (0.5, 1.5, 3.0, 3.0)
"""The early and the later widths with categorical parameters, since results of one choice say little about the
others."""
UNTRIED = 3.0
"""Width while a choice is untried, since results of other choices say little about it."""
DESCRIBED = 5.0
"""Width while a choice with descriptors is untried, in a space so small that the search examines all of its points. The
point that is least similar to all others is the most informative."""
UNRESTRICTED_STEPS = 10
"""The number of first steps in which untried choices with descriptors do not restrict the search. It is ``EARLY_STEPS``
if the search examines all points of the space."""
STEPS_PER_CHOICE = 4
"""The number of steps, per choice of the largest category, in which an untried choice sets the width to ``UNTRIED``; at
least ``EARLY_STEPS``."""
UNTRIED_CHOICES_EVERY = 2
"""One in this many of these steps considers only points with an untried choice."""
EXPLORING = 2.0
"""Suggestions with at least this width count as exploration."""
BETA_OF_ROWS = 3.0
"""Width of the first steps in a catalogue. The row that is least similar to all others is the most informative."""
BETA_OF_OBJECTIVES = 0.5
"""Width with several objectives, which rarely reach their upper bounds all at once."""


def beta(
    step: int, *, is_wide: bool = False, has_choices: bool = False, several: bool = False, of_rows: bool = False
) -> float:
    """Return the width of a step of the search, or of a restart.

    Args:
        step: the index of the step, from 0.
        is_wide: whether early steps have a larger width, and are fewer; with choices or rows, they do not.
        has_choices: whether the space has categorical parameters.
        several: whether there are several objectives.
        of_rows: whether the step searches rows of a catalogue.
    """
    if several:
        return BETA_OF_OBJECTIVES
    steps = EARLY_STEPS
    widths: tuple[float, ...] = EARLY_BETAS
    if of_rows:
        widths = (BETA_OF_ROWS,)
    elif has_choices:
        widths = EARLY_BETAS_OF_CHOICES
    elif is_wide:
        steps, widths = WIDE_STEPS, WIDE_BETAS
    return widths[step % len(widths)] if step < steps else later_beta(step, has_choices=has_choices)


def later_beta(step: int, *, has_choices: bool = False) -> float:
    """Return the width of a step after the early ones."""
    widths = BETAS_OF_CHOICES if has_choices else BETAS
    return widths[step % len(widths)]
