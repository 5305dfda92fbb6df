"""Types of JSON columns that summarize the reports of a trial, so that the reports need not be read again."""

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
    """The best reported value."""
    gain_step: int
    """Step of the last improvement that counts for the rule ``patience``."""
    gain_value: float
    """Value at ``gain_step``."""


class Estimate(TypedDict):
    """The expected final value of a stopped trial."""

    value: float
    std_error: float
