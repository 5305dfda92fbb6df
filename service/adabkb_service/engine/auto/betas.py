"""Confidence widths of the search, in turn: from exploitation to exploration."""

from __future__ import annotations

EARLY_STEPS = 20
"""Number of first steps."""
EARLY_BETAS = (1.5, 3.0)
"""Widths of these, one after the other. There is too little known to exploit."""
BETAS = (0.5, 1.5, 1.5, 3.0)
"""Widths of the later steps, one after the other."""
EARLY_BETAS_OF_CHOICES, BETAS_OF_CHOICES = (3.0,), (0.5, 1.5, 3.0, 3.0)
"""Both where there are categories: the results of a choice say little about the others."""
UNTRIED = 3.0
"""Width while a choice is untried: the results of other choices say little about it."""
DESCRIBED = 5.0
"""The same of a choice with descriptors, in a space so small that a search looks at all of it: the point that is least
like all others so far says the most."""
RELYING = 10
"""Number of first steps in which none is for untried choices with descriptors only; ``EARLY_STEPS`` in so small a
space."""
STEPS_PER_CHOICE = 4
"""For how long an untried choice makes the width ``UNTRIED``: so many steps for each choice of the parameter that has
the most, or ``EARLY_STEPS`` if that is more."""
CHOICES_EVERY = 2
"""One of so many of these steps looks only at points with an untried choice."""
EXPLORING = 2.0
"""From this width on a suggestion counts as exploration."""
OF_ROWS = 3.0
"""Width of the first steps in a catalogue: the row that is least like all others so far says the most."""
OF_SEVERAL = 0.5
"""Width where there are several objectives: it is rare that all of them are as good as their bounds."""


def beta(step: int, *, has_choices: bool = False, several: bool = False, of_rows: bool = False) -> float:
    """Of a step of the search, or of a restart.

    Args:
        step: its number.
        has_choices: whether there are categories.
        several: whether there are several objectives.
        of_rows: whether a row of a catalogue is looked for.
    """
    if several:
        return OF_SEVERAL
    if step >= EARLY_STEPS:
        return later(step, has_choices=has_choices)
    if of_rows:
        return OF_ROWS
    widths = EARLY_BETAS_OF_CHOICES if has_choices else EARLY_BETAS
    return widths[step % len(widths)]


def later(step: int, *, has_choices: bool = False) -> float:
    """Of a step that is not among the first ones."""
    widths = BETAS_OF_CHOICES if has_choices else BETAS
    return widths[step % len(widths)]
