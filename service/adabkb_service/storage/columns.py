"""Columns that hold JSON objects: what is kept of many rows, so that they need not be read again."""

from __future__ import annotations

from typing import TypedDict


class Progress(TypedDict):
    """What the results of a study so far say of the next ones. Merits are values, with the sign that makes the larger
    the better."""

    reference: float
    """The merit at the last gain."""
    worst: float
    """The smallest merit."""
    since: int
    """Results after the last gain."""


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
