"""Types of JSON columns that summarize the reports of a trial, so that the reports need not be read again."""

from __future__ import annotations

from typing import TypedDict


class Curve(TypedDict):
    """Summary of an attempt's reports, with the fields of ``engine.early_stopping.Curve``."""

    reports: int
    step: int
    value: float
    best: float
    gain_step: int
    gain_value: float


class Estimate(TypedDict):
    """The expected final value of a stopped trial."""

    value: float
    std_error: float
