"""Python client of the Ada-BKB optimization service."""

from importlib import import_module
from typing import TYPE_CHECKING

from adabkb_client.access import Access, Deletion, Link
from adabkb_client.analysis import Importance, ParameterImportance, Slice, SliceAxis, Validation, ValidationItem
from adabkb_client.assessment import Assessment, Check, Findings, LatestTrial, Outlook, Progress
from adabkb_client.catalogue import Catalogue
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
from adabkb_client.fitting import RowError
from adabkb_client.front import Front, FrontObjective, FrontPoint, Growth
from adabkb_client.import_report import ImportedResult, ImportReport
from adabkb_client.items import Items
from adabkb_client.lease import LeasedTrial
from adabkb_client.models import (
    Answer,
    BatchItem,
    Best,
    Cell,
    Change,
    Counts,
    Estimate,
    Event,
    FrontEstimate,
    MetricPrediction,
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
from adabkb_client.settings import (
    AshaRule,
    Belief,
    CostBudget,
    MedianRule,
    Mixture,
    OutcomeConstraint,
    PatienceRule,
    Quantity,
    Stop,
    StudyChanges,
    StudyObjective,
    StudySettings,
)
from adabkb_client.study import Study

if TYPE_CHECKING:
    from adabkb_client.async_client import AsyncClient
    from adabkb_client.async_lease import AsyncLeasedTrial
    from adabkb_client.async_study import AsyncStudy
else:
    # Imported when they are used: asyncio takes a fifth of the time that the client takes.
    _LATER = {"AsyncClient": "async_client", "AsyncLeasedTrial": "async_lease", "AsyncStudy": "async_study"}

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found = getattr(import_module(f"adabkb_client.{_LATER[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "APIError",
    "Access",
    "AdaBKBError",
    "Answer",
    "AshaRule",
    "Assessment",
    "AsyncClient",
    "AsyncLeasedTrial",
    "AsyncStudy",
    "BatchItem",
    "Belief",
    "Best",
    "Bool",
    "Catalogue",
    "Categorical",
    "Cell",
    "Change",
    "Check",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "CostBudget",
    "Counts",
    "CurvePoint",
    "CurveSummary",
    "Deletion",
    "Delivery",
    "Estimate",
    "Event",
    "ExpectedValue",
    "Findings",
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
    "Items",
    "KeptResult",
    "LatestTrial",
    "LeasedTrial",
    "Link",
    "MedianRule",
    "MetricPrediction",
    "Mixture",
    "NoTrialAvailable",
    "NotFound",
    "Observation",
    "Ordinal",
    "Outbox",
    "OutcomeConstraint",
    "Outlook",
    "Parameter",
    "ParameterImportance",
    "PatienceRule",
    "PreconditionFailed",
    "Prediction",
    "Progress",
    "Quantity",
    "Recommendation",
    "Reported",
    "ResultKept",
    "RowError",
    "RunReport",
    "Slice",
    "SliceAxis",
    "Stop",
    "Study",
    "StudyChanges",
    "StudyComplete",
    "StudyInfo",
    "StudyObjective",
    "StudySettings",
    "StudySummary",
    "Trial",
    "Unauthorized",
    "Unavailable",
    "UnexpectedAnswer",
    "Validation",
    "ValidationItem",
    "WorkerDied",
    "WorkerLost",
]
