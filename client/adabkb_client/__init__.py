"""Python client of the Ada-BKB optimization service::

from adabkb_client import Categorical, Client, Float

def error(lr, optimizer, momentum=0.0):
    return train(lr, optimizer, momentum)

space = {"lr": Float(1e-5, 0.1, log=True), "optimizer": Categorical(["sgd", "adam"])}
space["momentum"] = Float(0, 0.99, when={"optimizer": ["sgd"]})
with Client.local("tuning.db") as client:  # Client(url) connects to a server elsewhere
    study = client.create_study("net", space, direction="minimize", budget=50)
    print(study.run(error, workers=2).recommendation)
"""

import importlib as _importlib
import typing as _typing

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
    Verdict,
)
from adabkb_client._client import Client
from adabkb_client._http.outbox import Delivery, KeptResult, Outbox
from adabkb_client._items import AsyncItems, Items
from adabkb_client._parameters import Bool, Catalogue, Categorical, Fixed, Float, Int, Ordinal, Parameter
from adabkb_client._records import (
    Access,
    Answer,
    BatchItem,
    Best,
    CatalogueRow,
    Cell,
    Change,
    Counts,
    CurvePoint,
    CurveSummary,
    Deletion,
    DictionaryPoint,
    Estimate,
    Event,
    ExpectedValue,
    Explanation,
    File,
    FrontEstimate,
    ImportedResult,
    ImportReport,
    Link,
    MetricPrediction,
    ModelInfo,
    ModelState,
    Observation,
    ParameterInfo,
    Parameters,
    PartitionCell,
    Prediction,
    Recommendation,
    ResultItem,
    RowError,
    RunReport,
    StudyInfo,
    StudySummary,
    Trial,
    TrialState,
    Webhook,
)
from adabkb_client._settings import (
    Algorithm,
    AshaRule,
    Belief,
    CostBudget,
    Direction,
    EarlyStopping,
    MedianRule,
    Mixture,
    OutcomeConstraint,
    PatienceRule,
    PlateBudget,
    Plates,
    Quantity,
    Stop,
    StudyObjective,
)
from adabkb_client._study import DefinedByRun, Study
from adabkb_client._study_settings import StudyChanges, StudySettings
from adabkb_client._trial import AsyncLeasedTrial, LeasedTrial
from adabkb_client._webhooks import verify_webhook
from adabkb_client.errors import (
    AdaBKBError,
    APIError,
    Conflict,
    ConnectionFailed,
    Invalid,
    NotFinite,
    NotFound,
    NoTrialAvailable,
    PreconditionFailed,
    QuotaExceeded,
    ResultKept,
    StudyComplete,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
    WorkerDied,
    WorkerLost,
    WrongFunction,
    WrongResult,
)

if _typing.TYPE_CHECKING:
    from adabkb_client._async_client import AsyncClient
    from adabkb_client._async_study import AsyncDefinedByRun, AsyncStudy
    from adabkb_client._run.define_by_run import AskingTrial
else:
    # Imported on first use: asyncio takes a fifth of the client's import time, and only a run needs ``_run``.
    _LATER = {
        "AskingTrial": "_run.define_by_run",
        "AsyncClient": "_async_client",
        "AsyncDefinedByRun": "_async_study",
        "AsyncStudy": "_async_study",
    }

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found = getattr(_importlib.import_module(f"adabkb_client.{_LATER[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*__all__, "errors", *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "APIError",
    "Access",
    "AdaBKBError",
    "Algorithm",
    "Answer",
    "AshaRule",
    "AskingTrial",
    "Assessment",
    "AsyncClient",
    "AsyncDefinedByRun",
    "AsyncItems",
    "AsyncLeasedTrial",
    "AsyncStudy",
    "BatchItem",
    "Belief",
    "Best",
    "Bool",
    "Catalogue",
    "CatalogueRow",
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
    "DictionaryPoint",
    "Direction",
    "EarlyStopping",
    "Estimate",
    "Event",
    "ExpectedValue",
    "Explanation",
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
    "ModelInfo",
    "ModelState",
    "NoTrialAvailable",
    "NotFinite",
    "NotFound",
    "Observation",
    "Ordinal",
    "Outbox",
    "OutcomeConstraint",
    "Outlook",
    "Parameter",
    "ParameterImportance",
    "ParameterInfo",
    "Parameters",
    "PartitionCell",
    "PatienceRule",
    "PlateBudget",
    "Plates",
    "PreconditionFailed",
    "Prediction",
    "Progress",
    "Quantity",
    "QuotaExceeded",
    "Recommendation",
    "ResultItem",
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
    "Verdict",
    "Webhook",
    "WorkerDied",
    "WorkerLost",
    "WrongFunction",
    "WrongResult",
    "verify_webhook",
]
