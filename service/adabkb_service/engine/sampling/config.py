"""The configuration of sampling without a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Design = Literal["random", "sobol"]


@dataclass(frozen=True)
class Config:
    """Constants of sampling without a model."""

    design: Design
    """``random``: uniform and independent; ``sobol``: Sobol' points under a random digital shift."""
    repeats: bool = False
    """Whether points may be repeated, because results are declared to be noisy."""
