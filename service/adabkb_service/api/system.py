"""/healthz, /readyz, /version, /metrics"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from adabkb_service.access.caller import Caller
from adabkb_service.api.admission import CallerDep, GuardedRoute, needs, needs_nothing, not_for_links
from adabkb_service.api.deps import ServiceDep
from adabkb_service.api.forwarding import is_forwarded
from adabkb_service.api.parts import parts_of
from adabkb_service.api.problems import responses
from adabkb_service.contract.requests import Health, Version
from adabkb_service.operations.monitoring.readiness import check
from adabkb_service.operations.monitoring.study_collector import StudyCollector
from adabkb_service.operations.service import Service
from adabkb_service.storage import migration
from adabkb_service.telemetry.merged import Merged

router = APIRouter(tags=["system"], route_class=GuardedRoute)


@router.get("/healthz", operation_id="getHealth")
@needs_nothing
async def get_health() -> Health:
    """Whether the process is alive; the response is always 200."""
    return Health()  # on the event loop, so that it answers while all threads are busy


@router.get("/readyz", operation_id="getReadiness", responses=responses())
@needs_nothing
async def get_readiness(request: Request, service: ServiceDep) -> Health:
    """Check that the database answers and can be written, that it has the schema of this version, that leases expire,
    and that models are computed. A 503 names in `errors` which of these fails: `/database`, `/schema`, `/sweeper` or
    `/models`."""
    await run_sync(check, service, limiter=parts_of(request.app).admission)
    return Health()


@router.get("/version", operation_id="getVersion")
@needs_nothing
def get_version() -> Version:
    """The versions of the service, of its API and of its schema."""
    return Version(version=version("adabkb-service"), schema_revision=migration.HEAD)


@router.get(
    "/metrics",
    operation_id="getMetrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
@needs("read")
@not_for_links
async def get_metrics(request: Request, service: ServiceDep, caller: CallerDep) -> Response:
    """Prometheus metrics, including those of model workers and, with the setting study_metrics, of the caller's
    studies."""
    forwarding = parts_of(request.app).forwarding
    if is_forwarded(request.scope):
        text = await run_sync(generate_latest, service.metrics.registry)
    else:
        workers = {} if forwarding is None else await forwarding.ask_model_workers(request.scope)
        text = await run_sync(_metrics, request, service, caller, workers)
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def _metrics(request: Request, service: Service, caller: Caller, workers: Mapping[str, str]) -> bytes:
    text = generate_latest(Merged(service.metrics.registry, workers))
    if parts_of(request.app).study_metrics:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(StudyCollector(service.database, caller))
        text += generate_latest(registry)
    return text
