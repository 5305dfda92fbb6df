"""JSON columns with summaries of many rows, which spare reading those again."""

from __future__ import annotations

from typing import TypedDict


class Curve(TypedDict):
    """Summary of an attempt's reports."""

    reports: int
    step: int
    """Step of the last report."""
    value: float
    """Value of the last report."""
    best: float
    gain_step: int
    """Step of the last relevant improvement."""
    gain_value: float
    """Value at that step."""


class Estimate(TypedDict):
    """The expected final value of a stopped trial."""

    value: float
    std_error: float
