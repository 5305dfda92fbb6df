"""Reports of intermediate values: the bodies of the request, and its answer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from adabkb_service.contract.answers import Answer, StudySummary, Trial
from adabkb_service.contract.cost import MAX_COST
from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.parameters import Body, LeaseSeconds, Number, Whole
from adabkb_service.contract.requests import MAX_ITEMS, Attempt, Point
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.engine.early_stopping import MAX_STEPS

MAX_REPORTS = 10_000
"""The maximum number of reports of one attempt."""

Step = Annotated[int, Field(ge=0, le=MAX_STEPS, description="number of steps done so far"), Whole]


class Report(Sparse, Body):
    """The value of a trial after some of its steps."""

    step: Step
    value: Annotated[Number, Field(description="value of the objective after this step")]
    cost: Annotated[
        Annotated[float, Field(gt=0, le=MAX_COST)] | None,
        Field(
            description='in a study with "cost": "told": what the attempt has cost so far. It is used only if this '
            "report stops the trial, and is required if the early-stopping rule compares trials"
        ),
        ABSENT_BY_DEFAULT,
    ] = None
    parameters: Annotated[
        Point | None,
        Field(
            description="the values so far of the context parameters that are measured with the result. They are used "
            "only if this report stops the trial, and are required if the study has early_stopping"
        ),
        ABSENT_BY_DEFAULT,
    ] = None


class _LeaseFields(Body):
    attempt: Annotated[Attempt | None, Field(description="by default the current attempt")] = None
    lease_seconds: LeaseSeconds | None = None


class OneReportBody(Report, _LeaseFields):
    """One intermediate value. The request also renews the lease."""


class ReportsBody(_LeaseFields):
    """Several intermediate values of one trial, in the order of their steps. The request also renews the lease."""

    reports: Annotated[list[Report], Field(min_length=1, max_length=MAX_ITEMS), LIMIT_ERRORS]


def _kind(body: object) -> str:
    if isinstance(body, Body):
        return type(body).__name__
    return "ReportsBody" if isinstance(body, dict) and "reports" in body else "OneReportBody"


ReportBody = Annotated[
    Annotated[OneReportBody, Tag("OneReportBody")] | Annotated[ReportsBody, Tag("ReportsBody")], Discriminator(_kind)
]


def reports_of(body: OneReportBody | ReportsBody) -> list[tuple[str, Report]]:
    """Return the reports of a body, each with its JSON pointer."""
    if isinstance(body, OneReportBody):
        return [("", body)]
    return [(f"/reports/{index}", each) for index, each in enumerate(body.reports)]


class Reported(Answer):
    """The response to a report."""

    stop: Annotated[
        bool,
        Field(description="true: the trial is stopped, so its worker must end the evaluation and send nothing more"),
    ]
    reason: Annotated[str | None, Field(description="why the trial is stopped, in a sentence")]
    rule: Annotated[Literal["median", "asha", "patience"] | None, Field(description="rule that stopped the trial")]
    trial: Trial
    study: StudySummary
