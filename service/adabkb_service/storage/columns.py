"""Columns that hold JSON objects: what is kept of many rows, so that they need not be read again."""

from __future__ import annotations

from typing import TypedDict


class Curve(TypedDict):
    """What the reports of an attempt have come to, so that none of them has to be read again."""

    reports: int
    step: int
    """The last one."""
    value: float
    """At that step."""
    best: float
    gain_step: int
    """The last step that brought an improvement which counts."""
    gain_value: float
    """At that step."""


class Estimate(TypedDict):
    """The value that a stopped trial was to be expected to have at its last step."""

    value: float
    std_error: float
