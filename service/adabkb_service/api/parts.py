"""The parts of a server that its endpoints use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.applications import Starlette

if TYPE_CHECKING:  # these modules use this one
    from anyio import CapacityLimiter
    from fastapi.routing import APIRoute

    from adabkb_service.access.concurrency import Concurrency
    from adabkb_service.access.gate import Gate
    from adabkb_service.api.connections import ConnectionLimits
    from adabkb_service.api.fair_queue import FairQueue
    from adabkb_service.api.forwarding import Forwarding
    from adabkb_service.api.model_reads import ModelReads
    from adabkb_service.api.refusal_log import RefusalLog
    from adabkb_service.identity.provider import Provider
    from adabkb_service.operations.files import Limits
    from adabkb_service.operations.reports.overview import Overview
    from adabkb_service.operations.service import Service
    from adabkb_service.operations.webhooks.outbound import Network


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of a server."""

    service: Service
    overview: Overview
    gate: Gate
    provider: Provider | None
    """The OpenID Connect provider; None if no setting names one."""
    forwarding: Forwarding | None
    """None on SQLite, where each server itself performs all requests that it receives."""
    concurrency: Concurrency
    model_reads: ModelReads
    admission: CapacityLimiter
    """Threads reserved for the database queries that admit a request, and for readiness checks."""
    large_requests: FairQueue
    """The places of large requests that are being processed."""
    charts: FairQueue
    """The places of charts of whole studies that are being built."""
    restores: FairQueue
    """The place of the study that is being restored from the trash, which takes memory for its whole log."""
    routes: Sequence[APIRoute]
    """All routes but those of the documentation."""
    connection_limits: ConnectionLimits
    file_limits: Limits
    refusal_log: RefusalLog
    outbound: Sequence[Network]
    """The private networks to which webhooks may send."""
    study_metrics: bool
    """Whether the metrics include those of studies."""


def set_parts(app: Starlette, parts: Parts) -> None:
    """Let the endpoints of an application use these parts."""
    app.state.parts = parts


def parts_of(app: Starlette) -> Parts:
    """Return the parts of an application.

    Raises:
        AttributeError: it has none.
    """
    parts: Parts = app.state.parts
    return parts
