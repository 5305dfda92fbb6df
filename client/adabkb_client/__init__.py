"""Python client of the Ada-BKB optimization service."""

from importlib import import_module
from typing import TYPE_CHECKING

from adabkb_client._analysis import (
    Assessment,
    Check,
    Findings,
    Front,
    FrontObjective,
    FrontPoint,
    Growth,
    Importance,
    LatestTrial,
    Outlook,
    ParameterImportance,
    Progress,
    Slice,
    SliceAxis,
    Validation,
    ValidationItem,
)
from adabkb_client._client import Client
from adabkb_client._defined_by_run import DefinedByRun
from adabkb_client._http.outbox import Delivery, KeptResult, Outbox
from adabkb_client._items import AsyncItems, Items
from adabkb_client._lease import LeasedTrial
from adabkb_client._models import (
    Access,
    Answer,
    BatchItem,
    Best,
    Cell,
    Change,
    Counts,
    CurvePoint,
    CurveSummary,
    Deletion,
    Direction,
    Estimate,
    Event,
    ExpectedValue,
    File,
    FrontEstimate,
    ImportedResult,
    ImportReport,
    Link,
    MetricPrediction,
    Observation,
    Parameters,
    Prediction,
    Recommendation,
    Reported,
    RowError,
    RunReport,
    StudyInfo,
    StudySummary,
    Trial,
    TrialState,
    Webhook,
)
from adabkb_client._parameters import Bool, Catalogue, Categorical, Fixed, Float, Int, Ordinal, Parameter
from adabkb_client._settings import (
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
from adabkb_client._study import Study
from adabkb_client._webhooks import verify_webhook
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

if TYPE_CHECKING:
    from adabkb_client._async_client import AsyncClient
    from adabkb_client._async_lease import AsyncLeasedTrial
    from adabkb_client._async_study import AsyncStudy
else:
    # Imported on first use, since asyncio takes a fifth of the import time of the client.
    _LATER = {"AsyncClient": "_async_client", "AsyncLeasedTrial": "_async_lease", "AsyncStudy": "_async_study"}

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found = getattr(import_module(f"adabkb_client.{_LATER[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*__all__, "errors", *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "APIError",
    "Access",
    "AdaBKBError",
    "Answer",
    "AshaRule",
    "Assessment",
    "AsyncClient",
    "AsyncItems",
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
    "DefinedByRun",
    "Deletion",
    "Delivery",
    "Direction",
    "Estimate",
    "Event",
    "ExpectedValue",
    "File",
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
    "Parameters",
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
    "TrialState",
    "Unauthorized",
    "Unavailable",
    "UnexpectedAnswer",
    "Validation",
    "ValidationItem",
    "Webhook",
    "WorkerDied",
    "WorkerLost",
    "verify_webhook",
]
