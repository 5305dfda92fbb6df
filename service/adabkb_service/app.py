"""The composition root: creates an application from settings."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext, suppress
from functools import partial
from importlib.metadata import version

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.routing import APIRoute
from fastapi_offline import FastAPIOffline
from threadpoolctl import threadpool_limits

from adabkb_service.access.concurrency import KINDS, Concurrency
from adabkb_service.access.gate import Gate
from adabkb_service.access.meter import Meter
from adabkb_service.access.quotas import Quotas
from adabkb_service.api import (
    events,
    files,
    model,
    observations,
    people,
    problems,
    sharing,
    studies,
    system,
    tokens,
    trash,
    trials,
    usage,
    webhooks,
)
from adabkb_service.api.connections import ConnectionLimits
from adabkb_service.api.document import document
from adabkb_service.api.fair_queue import FairQueue
from adabkb_service.api.forwarding import Forwarding
from adabkb_service.api.long_poll import MAX_SECONDS
from adabkb_service.api.middleware import (
    BodyLimitMiddleware,
    HeadMiddleware,
    RequestMiddleware,
)
from adabkb_service.api.model_reads import ModelReads
from adabkb_service.api.origin import CORS_METHODS, CORS_REQUEST_HEADERS, CORS_RESPONSE_HEADERS, OriginMiddleware
from adabkb_service.api.parts import Parts, parts_of, set_parts
from adabkb_service.api.prefix import PrefixMiddleware
from adabkb_service.api.refusal_log import RefusalLog
from adabkb_service.api.tracing import TracingMiddleware
from adabkb_service.errors import AdaBKBError
from adabkb_service.identity.provider import Provider
from adabkb_service.inference.pool import Charge, Inference, Supervision, WorkerPool, in_this_process
from adabkb_service.operations.files import Limits
from adabkb_service.operations.monitoring.clock import follow, warn_of_clock
from adabkb_service.operations.monitoring.sweep import clamp_leases, empty_trash, forget_keys, remove_abandoned, sweep
from adabkb_service.operations.monitoring.sweeper import Job, Sweeper
from adabkb_service.operations.reports.overview import Overview
from adabkb_service.operations.service import Service
from adabkb_service.operations.webhooks.delivery import Delivery
from adabkb_service.page import site
from adabkb_service.page.route import show_missing_pages
from adabkb_service.page.routers import ROUTERS as PAGES
from adabkb_service.settings import Settings, listed
from adabkb_service.storage import migration
from adabkb_service.storage.database import STATEMENT_SECONDS, Database
from adabkb_service.study.clock import SteadyClock
from adabkb_service.telemetry.traces import to_collector

MODULES = (studies, sharing, webhooks, trials, files, observations, model, events, trash, tokens, people, usage, system)
ROUTERS = [module.router for module in MODULES]
ROUTES = [route for router in (*ROUTERS, *PAGES) for route in router.routes]
"""Passed to FastAPI directly: ``include_router`` would copy each route and match every request twice."""

ADMISSION_THREADS = 8
"""Threads reserved for the database queries that admit a request (``api.admission``), and for readiness checks."""
LARGE = 4096
"""Size in bytes from which answers are compressed."""
COMPRESSION = 3
"""Level of gzip: higher levels take two to five times as long, for output that is a tenth smaller."""

CHARTS = 4
"""Charts of whole studies that are built at the same time. Each may be large, and holds a database connection."""

LOADING_POLL_SECONDS = 0.05
"""Interval between two checks whether a model worker has loaded the engine."""

CALLS = "/api"
"""The interactive page of the API."""

DESCRIPTION = """Ask/tell Gaussian-process optimization with Ada-BKB. Each study has an id.

Ask with `POST /v1/studies/{id}/suggest`, evaluate the point, tell with `POST /v1/studies/{id}/observe`.
Every error is an `application/problem+json` document with a stable `code`. See [the documentation](docs/);
its [HTTP reference](docs/http.html) describes each call in detail.
"""


def create_app(settings: Settings, *, is_model_worker: bool = False) -> FastAPI:
    """Create an application for the database of the settings, which is opened when the application starts.

    Args:
        settings: the server's settings.
        is_model_worker: whether the application performs requests that servers forward to it, and serves no HTTP;
            requires PostgreSQL.

    Raises:
        ValueError: the database URL is not supported, or packages for OpenTelemetry or OpenID Connect are missing.
    """
    database = Database(
        settings.database,
        lock_seconds=settings.lock_seconds,
        holder_seconds=settings.holder_seconds,
        statement_seconds=STATEMENT_SECONDS,
        connections=settings.database_connections,
    )
    defaults = Quotas(**{name: getattr(settings, f"quota_{name}") for name in Quotas.__slots__})
    meter = Meter()
    inference = _inference(settings, database, meter.charge)
    clock = SteadyClock(database.now)
    running = Service(
        database,
        clock=clock,
        inference=inference,
        threads=settings.study_threads,
        look_seconds=settings.look_seconds,
        owners=settings.studies_in_memory,
        timeouts=settings.timeouts,
        traces=to_collector(settings.traces) if settings.traces else None,
    )

    gate = Gate(
        database,
        running.clock,
        is_open=settings.is_loopback and not settings.oidc_issuer,
        stays_open=settings.insecure,
        defaults=defaults,
        meter=meter,
    )

    delivery = Delivery(
        running,
        settings.outbound,
        seconds=settings.webhook_seconds,
        pause=settings.webhook_retry_seconds,
        hours=settings.webhook_hours,
    )

    app = FastAPIOffline(  # FastAPI's own pages load assets from hosts that lab machines may not reach
        title="Ada-BKB service",
        description=DESCRIPTION,
        version=version("adabkb-service"),
        lifespan=partial(
            _lifespan,
            running=running,
            clock=clock,
            gate=gate,
            delivery=delivery,
            settings=settings,
            is_model_worker=is_model_worker,
        ),
        routes=ROUTES,
        docs_url=CALLS,
        redoc_url=None,
        redirect_slashes=False,
    )
    problems.install(app)
    show_missing_pages(app)
    parts = Parts(
        service=running,
        overview=Overview(running),
        gate=gate,
        provider=None if is_model_worker else _provider(settings),
        forwarding=_forwarding(app, running, settings, is_model_worker=is_model_worker),
        concurrency=_concurrency(settings),
        model_reads=ModelReads(settings.request_seconds),
        admission=CapacityLimiter(ADMISSION_THREADS),
        large_requests=FairQueue(1),
        charts=FairQueue(CHARTS),
        restores=FairQueue(1),
        routes=[route for route in ROUTES if isinstance(route, APIRoute)],
        connection_limits=_connection_limits(settings),
        file_limits=Limits(settings.file_limit, settings.files_limit),
        refusal_log=RefusalLog(),
        outbound=settings.outbound,
        study_metrics=settings.study_metrics,
    )
    set_parts(app, parts)
    site.install(app, CALLS, site.find_pages())
    _add_middleware(app, settings, running)
    app.openapi = lambda: document(app, settings.root_path)  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _lifespan(
    app: FastAPI,
    running: Service,
    clock: SteadyClock,
    gate: Gate,
    delivery: Delivery,
    settings: Settings,
    *,
    is_model_worker: bool,
) -> AsyncIterator[None]:
    """Open what the application needs, and close it in reverse order, also if the start fails."""
    async with AsyncExitStack() as opened:
        if running.traces is not None:
            opened.push_async_callback(run_sync, running.traces.close)
        opened.callback(running.database.close)
        await run_sync(migration.prepare, running.database)
        await run_sync(gate.close_if_tokens)
        await run_sync(running.inference.open)
        opened.push_async_callback(run_sync, running.inference.close)
        await run_sync(running.open)
        opened.push_async_callback(run_sync, running.close)
        opened.push_async_callback(running.changes.close)
        await run_sync(warn_of_clock, running)
        await run_sync(clamp_leases, running)
        while is_model_worker and running.is_loading:  # until then, it could not answer requests of servers
            await asyncio.sleep(LOADING_POLL_SECONDS)
        opened.enter_context(threadpool_limits(settings.blas_threads))
        opened.push_async_callback(run_sync, _store_uses, gate)
        opened.callback(delivery.close)
        sweeper = _sweeper(running, clock, gate, delivery, settings)
        sweeper.start()
        opened.push_async_callback(run_sync, sweeper.stop)
        opened.callback(parts_of(app).refusal_log.flush)
        await opened.enter_async_context(parts_of(app).forwarding or nullcontext())
        yield


def _forwarding(app: FastAPI, running: Service, settings: Settings, *, is_model_worker: bool) -> Forwarding | None:
    """Return the forwarding of requests; None on SQLite, where each server itself performs all requests that it
    receives."""
    if running.database.is_sqlite:
        return None
    answer_seconds = settings.timeouts.outcome + MAX_SECONDS
    own_version = version("adabkb-service")
    forwarding = Forwarding(app, running.database.url, own_version, answer_seconds, is_model_worker=is_model_worker)
    running.servers = lambda: len(forwarding.servers)
    running.follows = lambda study_id: forwarding.other(study_id) is None
    running.model_workers = lambda: len(forwarding.model_workers)
    return forwarding


def _provider(settings: Settings) -> Provider | None:
    config = settings.provider
    return None if config is None else Provider(config)


def _concurrency(settings: Settings) -> Concurrency:
    limits = {name for kind in KINDS for name in (kind.user_setting, kind.setting) if name is not None}
    return Concurrency({name: getattr(settings, name) for name in limits})


def _connection_limits(settings: Settings) -> ConnectionLimits:
    return ConnectionLimits(
        connections=settings.connections,
        header_bytes=settings.header_limit,
        header_seconds=settings.header_seconds,
        body_seconds=settings.body_seconds,
        idle_seconds=settings.idle_seconds,
        stall_seconds=settings.stall_seconds,
    )


def _add_middleware(app: FastAPI, settings: Settings, running: Service) -> None:
    """Add the middleware from the innermost to the outermost."""
    app.add_middleware(BodyLimitMiddleware, limit=settings.body_limit, total=settings.bodies_limit)
    app.add_middleware(GZipMiddleware, minimum_size=LARGE, compresslevel=COMPRESSION)  # except event streams
    app.add_middleware(HeadMiddleware)
    app.add_middleware(OriginMiddleware, hosts=listed(settings.hosts), origins=listed(settings.origins))
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=listed(settings.origins),
            allow_methods=CORS_METHODS,
            allow_headers=CORS_REQUEST_HEADERS,
            expose_headers=CORS_RESPONSE_HEADERS,
        )
    if running.traces is not None:
        app.add_middleware(TracingMiddleware, traces=running.traces)
    app.add_middleware(RequestMiddleware, metrics=running.metrics)
    app.add_middleware(PrefixMiddleware, prefix=settings.root_path)


def _inference(settings: Settings, database: Database, charge: Charge) -> Inference:
    capacity = settings.model_cache_megabytes * 2**20
    if not settings.model_processes:
        return in_this_process(database, capacity, charge, settings.decision_seconds)
    return WorkerPool(
        settings.database,
        settings.model_processes,
        blas_threads=settings.blas_threads,
        capacity=capacity // settings.model_processes,
        lock_seconds=settings.lock_seconds,
        charge=charge,
        memory_megabytes=settings.model_process_megabytes,
        decision_seconds=settings.decision_seconds,
        stop_seconds=settings.model_stop_seconds,
        supervision=Supervision(settings.model_restart_seconds, settings.model_down_seconds),
    )


def _sweeper(running: Service, clock: SteadyClock, gate: Gate, delivery: Delivery, settings: Settings) -> Sweeper:
    late_seconds = settings.sweep_seconds + settings.sweep_late_seconds

    def expire_leases() -> None:
        sweep(running)
        running.sweep_late_at = time.monotonic() + late_seconds

    running.sweep_late_at = time.monotonic() + late_seconds
    often, seldom = 0.0, settings.tidy_seconds
    deliver = Job("starts deliveries to webhooks", lambda _: delivery.round(), often)
    return Sweeper(
        [
            Job("ends access without a token once a token exists", lambda _: gate.close_if_tokens(), often),
            Job("expires leases", lambda _: expire_leases(), often),
            *([deliver] if settings.send_webhooks else []),
            Job("removes the content of deleted studies", lambda _: remove_abandoned(running), often),
            Job("corrects the clock", lambda _: follow(clock), seldom),
            Job(
                "deletes old idempotency keys",
                lambda since: forget_keys(running, settings.idempotency_hours, since),
                seldom,
            ),
            Job(
                "empties the trash and deletes old sessions and audit entries",
                lambda since: empty_trash(running, since),
                seldom,
            ),
            Job("stores when tokens were used", lambda _: gate.store_uses(), seldom),
        ],
        settings.sweep_seconds,
    )


def _store_uses(gate: Gate) -> None:
    """Store when tokens were used, at the end. If the database does not answer, the end does not wait for it."""
    with suppress(AdaBKBError):
        gate.store_uses()
