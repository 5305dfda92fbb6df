"""The curve of a trial: its intermediate values."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field


class CurveSummary(BaseModel):
    """A summary of the reports of an attempt."""

    reports: Annotated[int, Field(description="number of reports")]
    step: Annotated[int, Field(description="step of the last report")]
    value: Annotated[float, Field(description="value of the last report")]
    best: float
    gain_step: Annotated[
        int,
        Field(description="the last step with an improvement of more than min_gain (0 unless the rule is patience)"),
    ]
    gain_value: float


class Estimate(BaseModel):
    """The predicted final value of a stopped trial, which was not measured."""

    value: float
    std_error: float


class CurvePoint(BaseModel):
    """An intermediate value of a trial."""

    step: int
    value: float
    attempt: int
    reported_at: datetime
