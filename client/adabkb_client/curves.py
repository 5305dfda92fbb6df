"""What the server answers about the curves of trials, as frozen records: see ``models.py``."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class CurveSummary:
    """What the reports of a trial's current attempt have come to: how many, the last step with its value, the best
    value, and the last step with an improvement that counts."""

    reports: int
    step: int
    value: float
    best: float
    gain_step: int
    gain_value: float


@dataclass(frozen=True)
class ExpectedValue:
    """The value that a stopped trial was to be expected to have at its last step."""

    value: float
    std_error: float


@dataclass(frozen=True)
class CurvePoint:
    """A value that an attempt of a trial has reported before its end."""

    step: int
    value: float
    attempt: int
    reported_at: datetime
