"""Python client of the Ada-BKB optimization service."""

from adabkb_client.client import Client
from adabkb_client.errors import (
    AdaBKBError,
    APIError,
    Conflict,
    ConnectionFailed,
    Invalid,
    NotFound,
    NoTrialAvailable,
    PreconditionFailed,
    StudyComplete,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
)
from adabkb_client.lease import LeasedTrial
from adabkb_client.models import (
    Answer,
    BatchItem,
    Best,
    Cell,
    Counts,
    Estimate,
    Event,
    Observation,
    Prediction,
    Recommendation,
    StudyInfo,
    StudySummary,
    Trial,
)
from adabkb_client.parameters import Bool, Categorical, Float, Int, Ordinal, Parameter
from adabkb_client.study import Study
from adabkb_client.worker import RunReport

__all__ = [
    "APIError",
    "AdaBKBError",
    "Answer",
    "BatchItem",
    "Best",
    "Bool",
    "Categorical",
    "Cell",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "Counts",
    "Estimate",
    "Event",
    "Float",
    "Int",
    "Invalid",
    "LeasedTrial",
    "NoTrialAvailable",
    "NotFound",
    "Observation",
    "Ordinal",
    "Parameter",
    "PreconditionFailed",
    "Prediction",
    "Recommendation",
    "RunReport",
    "Study",
    "StudyComplete",
    "StudyInfo",
    "StudySummary",
    "Trial",
    "Unauthorized",
    "Unavailable",
    "UnexpectedAnswer",
]
