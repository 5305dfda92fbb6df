"""The curve of a trial: what it has reported before its end."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field


class CurveSummary(BaseModel):
    """A summary of the reports of an attempt."""

    reports: Annotated[int, Field(description="how many")]
    step: Annotated[int, Field(description="of the last one")]
    value: Annotated[float, Field(description="of the last one")]
    best: float
    gain_step: Annotated[int, Field(description="the last step with an improvement that counts")]
    gain_value: float


class Estimate(BaseModel):
    """A value that was not measured."""

    value: float
    std_error: float


class CurvePoint(BaseModel):
    """A value that a trial reported before its end."""

    step: int
    value: float
    attempt: int
    reported_at: datetime
