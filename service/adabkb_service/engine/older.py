"""What is known of an older study: some of its points and what came out there, in the space of a new one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Older:
    """Results of an older study, n of them, along s axes of the new study's space."""

    study: str
    """Its id."""
    axes: tuple[int, ...]
    """(s,) of the new study's axes, those that both have."""
    positions: tuple[tuple[float, ...], ...]
    """(n, s) in the unit cube of the new space."""
    outputs: tuple[float, ...]
    """(n,) in model output units: larger is better."""
