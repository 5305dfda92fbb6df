"""The configuration of sampling without a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Design = Literal["random", "sobol"]


@dataclass(frozen=True)
class Config:
    """Which points come."""

    design: Design
    """``random``: uniform and independent; ``sobol``: Sobol' points under a random digital shift."""
    repeats: bool = False
    """Whether points of a finite space may come again, as results are declared to be noisy."""
