"""The composition root: settings in, an application out."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from importlib.metadata import version
from typing import Any

from anyio.to_thread import run_sync
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi_offline import FastAPIOffline
from threadpoolctl import threadpool_limits

from adabkb_service.api import events, model, observations, problems, studies, system, trials
from adabkb_service.api.middleware import BodyLimitMiddleware, RequestMiddleware
from adabkb_service.operations.lease import sweep
from adabkb_service.operations.service import Service, service
from adabkb_service.settings import Settings
from adabkb_service.storage import idempotency, migration
from adabkb_service.storage.database import Database

logger = logging.getLogger(__name__)

ROUTERS = [module.router for module in (studies, trials, observations, model, events, system)]

DESCRIPTION = """Ask/tell Gaussian-process optimization: one Ada-BKB study per id.

Ask with `POST /v1/studies/{id}/suggest`, evaluate the point, tell with `POST /v1/studies/{id}/observe`.
Every error is an `application/problem+json` document with a stable `code`.
"""


def create_app(settings: Settings) -> FastAPI:
    """An application on the database of the settings, which is opened when the application starts.

    Raises:
        ValueError: the database URL is none of ours.
    """
    database = Database(settings.database)
    running = service(database, model_cache_size=settings.model_cache_size)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_sync(migration.prepare, database)
        with threadpool_limits(settings.blas_threads), _sweeping(running, settings):
            yield
        database.close()

    app = FastAPIOffline(  # a lab's machines may not reach the network that FastAPI's own pages load from
        title="Ada-BKB service",
        description=DESCRIPTION,
        version=version("adabkb-service"),
        lifespan=lifespan,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = running
    app.state.routes = [route for router in ROUTERS for route in router.routes]
    for router in ROUTERS:
        app.include_router(router)
    problems.install(app)
    app.add_middleware(BodyLimitMiddleware, limit=settings.body_limit)
    app.add_middleware(RequestMiddleware, metrics=running.metrics)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


@contextmanager
def _sweeping(running: Service, settings: Settings) -> Iterator[None]:
    """Expire leases, and forget old idempotency keys, in a thread of its own."""
    stop = threading.Event()

    def loop() -> None:
        while not stop.wait(settings.sweep_seconds):
            try:
                sweep(running)
                with running.database.writing() as connection:
                    idempotency.forget(connection, running.clock() - timedelta(hours=settings.idempotency_hours))
            except Exception:
                logger.exception("the sweep failed; it is tried again in %s s", settings.sweep_seconds)

    thread = threading.Thread(target=loop, name="sweeper", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document, with our problems in place of its validation errors."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemas = document["components"]["schemas"]
        schemas.pop("HTTPValidationError", None)
        schemas.pop("ValidationError", None)
        schemas["Problem"] = problems.Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas["Fault"] = schemas["Problem"].pop("$defs")["Fault"]
        app.openapi_schema = document
    return app.openapi_schema
