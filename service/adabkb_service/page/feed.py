"""The events of a study in words, for the list of events on its page."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from adabkb_service.api.admission import CallerDep, needs
from adabkb_service.api.deps import PageDep, ServiceDep, StudyId
from adabkb_service.api.event_stream import LastEventId, event_stream
from adabkb_service.operations.studies.feed import list_in_words
from adabkb_service.page.route import LoginRoute

router = APIRouter(include_in_schema=False, route_class=LoginRoute)


@router.get("/studies/{study_id}/feed")
@needs("read")
def get_feed(
    request: Request,
    study_id: StudyId,
    service: ServiceDep,
    page: PageDep,
    caller: CallerDep,
    last_event_id: LastEventId = None,
) -> Response:
    """The events as in the API, with sentences; with ``Accept: text/event-stream``, as a stream."""
    return event_stream(request, caller, service, study_id, page, last_event_id, list_in_words)
