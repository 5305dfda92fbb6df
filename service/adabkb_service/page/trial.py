"""The page of a trial."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from adabkb_service.api.admission import CallerDep, needs
from adabkb_service.api.deps import Number, ServiceDep, StudyId, encoded
from adabkb_service.contract.stored import definition_of
from adabkb_service.engine.auto.failures import FEWEST
from adabkb_service.operations import files
from adabkb_service.operations.access import sharing
from adabkb_service.operations.model.predict import row
from adabkb_service.operations.model.why import why
from adabkb_service.operations.queue import repeated_point
from adabkb_service.operations.studies import manage, read
from adabkb_service.page.deps import OverviewDep
from adabkb_service.page.rendering import page
from adabkb_service.page.route import PageRoute
from adabkb_service.storage.files import Holder

pages = APIRouter(include_in_schema=False, route_class=PageRoute)
MAX_EVENTS = 5000
"""The maximum number of events of a study up to which the page of a trial includes the explanation; otherwise, the page
loads it."""


@pages.get("/studies/{study_id}/trials/{number}")
@needs("read")
def get_trial(
    request: Request,
    study_id: StudyId,
    number: Number,
    service: ServiceDep,
    overview: OverviewDep,
    caller: CallerDep,
    is_explained: Annotated[bool, Query(alias="why")] = False,
) -> Response:
    """A trial with its explanation and history. In a long study, a second request loads the explanation, because it
    needs the whole log before the trial; also in a study with many failed trials, because it then needs the model."""
    study = manage.displayed(service, study_id)
    trial, results = read.trial(service, study_id, number), overview.results_of(study_id, number)
    asks_model = study.counts.failed >= FEWEST  # for the probability that the trial finishes
    is_known = is_explained or (study.revision <= MAX_EVENTS and not asks_model)
    space = definition_of(row(service, study_id).definition).space()
    present = space.present(trial.parameters | trial.to_measure)
    context: dict[str, Any] = {
        "can_be_issued": present is not None and not space.between_steps(present),
        "events": overview.events_of(study_id, number),
        "row": overview.row_of(study_id, trial.parameters),
        "decision": why(service, study_id, number).decision if is_known else None,
        "has_explanation": is_known or trial.origin in ("queued", "own"),
        "cursor": encoded(study.revision),
        "files": files.page(service, study_id, Holder(trial=number), 0, files.MOST),
        "repeated": repeated_point(space, trial.parameters, results[0].parameters) if results else trial.parameters,
        "same": overview.at_point_of(study_id, number),
        "ended": overview.ended(study_id) if study.reason == "budget" else None,
        "may": sharing.right(service, caller, study_id),
    }
    return page(request, "trial.html", study=study, trial=trial, results=results, **context)
