"""Python client of the Ada-BKB optimization service."""

from adabkb_client.access import Access, Deletion, Link
from adabkb_client.analysis import Importance, ParameterImportance, Slice, SliceAxis
from adabkb_client.async_client import AsyncClient
from adabkb_client.async_lease import AsyncLeasedTrial
from adabkb_client.async_study import AsyncStudy
from adabkb_client.client import Client
from adabkb_client.curves import CurvePoint, CurveSummary, ExpectedValue
from adabkb_client.errors import (
    AdaBKBError,
    APIError,
    Conflict,
    ConnectionFailed,
    Invalid,
    NotFound,
    NoTrialAvailable,
    PreconditionFailed,
    ResultKept,
    StudyComplete,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
    WorkerDied,
    WorkerLost,
)
from adabkb_client.fitting import Misfit
from adabkb_client.front import Front, FrontObjective, FrontPoint, Growth
from adabkb_client.import_report import ImportedResult, ImportReport
from adabkb_client.lease import LeasedTrial
from adabkb_client.models import (
    Answer,
    BatchItem,
    Best,
    Cell,
    Counts,
    Estimate,
    Event,
    FrontEstimate,
    Observation,
    Prediction,
    Recommendation,
    Reported,
    StudyInfo,
    StudySummary,
    Trial,
)
from adabkb_client.options import RunReport
from adabkb_client.outbox import Delivery, KeptResult, Outbox
from adabkb_client.parameters import Bool, Categorical, Fixed, Float, Int, Ordinal, Parameter
from adabkb_client.study import Study

__all__ = [
    "APIError",
    "Access",
    "AdaBKBError",
    "Answer",
    "AsyncClient",
    "AsyncLeasedTrial",
    "AsyncStudy",
    "BatchItem",
    "Best",
    "Bool",
    "Categorical",
    "Cell",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "Counts",
    "CurvePoint",
    "CurveSummary",
    "Deletion",
    "Delivery",
    "Estimate",
    "Event",
    "ExpectedValue",
    "Fixed",
    "Float",
    "Front",
    "FrontEstimate",
    "FrontObjective",
    "FrontPoint",
    "Growth",
    "ImportReport",
    "Importance",
    "ImportedResult",
    "Int",
    "Invalid",
    "KeptResult",
    "LeasedTrial",
    "Link",
    "Misfit",
    "NoTrialAvailable",
    "NotFound",
    "Observation",
    "Ordinal",
    "Outbox",
    "Parameter",
    "ParameterImportance",
    "PreconditionFailed",
    "Prediction",
    "Recommendation",
    "Reported",
    "ResultKept",
    "RunReport",
    "Slice",
    "SliceAxis",
    "Study",
    "StudyComplete",
    "StudyInfo",
    "StudySummary",
    "Trial",
    "Unauthorized",
    "Unavailable",
    "UnexpectedAnswer",
    "WorkerDied",
    "WorkerLost",
]
