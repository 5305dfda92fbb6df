"""A result as an operation takes it: a value or a failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Value:
    """A result: of a trial, or without one of a point nobody suggested."""

    value: float
    trial: int | None = None
    attempt: int | None = None
    """The trial's current one if None."""
    std_error: float | None = None
    parameters: Mapping[str, Any] | None = None
    """What was actually run; the trial's own if None."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A trial that gave no result."""

    trial: int
    attempt: int | None = None
    reason: str | None = None


Result = Value | Failure
