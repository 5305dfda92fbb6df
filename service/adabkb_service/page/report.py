"""The report of a study, to print."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any

from fastapi import APIRouter, Request, Response

from adabkb_service.access.caller import Caller
from adabkb_service.api.admission import CallerDep, needs
from adabkb_service.api.deps import StudyId
from adabkb_service.api.model_reads import ReadingDep
from adabkb_service.operations.access import sharing
from adabkb_service.operations.reports import report_in_words
from adabkb_service.operations.reports.overview import Overview
from adabkb_service.operations.reports.study_report import study_report
from adabkb_service.operations.service import Service
from adabkb_service.page.deps import OverviewDep
from adabkb_service.page.rendering import page
from adabkb_service.page.route import PageRoute

pages = APIRouter(include_in_schema=False, route_class=PageRoute)
MAX_PRINTED = 5000
"""The maximum number of results, and trials without one, in the report page; the Markdown report has all of them."""


@pages.get("/studies/{study_id}/report")
@needs("read", model=True)
async def get_report(
    request: Request, study_id: StudyId, reading: ReadingDep, overview: OverviewDep, caller: CallerDep
) -> Response:
    """A report, to print or to save as PDF. If too many reads wait, the answer lacks the model's parts, and the page
    loads them later."""
    return await reading.unless_busy(partial(_report, request, overview, caller), study_id)


def _report(request: Request, overview: Overview, caller: Caller, service: Service, study_id: str) -> Response:
    has_curves = overview.has_curves(study_id)
    may = sharing.right(service, caller, study_id)
    with study_report(service, study_id, with_audit=may == "own") as report:
        reasons = report_in_words.exclusions(report)
        lines = [
            report_in_words.result_cells(report.study, each, reasons) for each in islice(report.lines, MAX_PRINTED)
        ]
        context: dict[str, Any] = {
            "lines": lines,
            "has_more": next(report.lines, None) is not None,
            "best": list(report_in_words.best_tables(report)),
            "may": may,
            "words": report_in_words,
        }
    return page(request, "report.html", study=report.study, report=report, has_curves=has_curves, **context)
