"""Parameters of several routes, and answers with the data of charts and forms."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import Depends, Query, Request, Response
from starlette.requests import ClientDisconnect

from adabkb_service.api.parts import parts_of
from adabkb_service.operations.reports.overview import Overview
from adabkb_service.page.rendering import HEADERS


async def _overview(request: Request) -> Overview:
    return parts_of(request.app).overview


OverviewDep = Annotated[Overview, Depends(_overview)]
PageNumber = Annotated[int, Query(alias="page", ge=1, le=10**6)]


def data_response(value: Any) -> Response:
    """Return a value as JSON."""
    return Response(json.dumps(value), media_type="application/json", headers=HEADERS)


async def chart(request: Request, read: Callable[[], Any]) -> Response:
    """Return the data of a chart. Only a few are computed at a time, and none for a disconnected client.

    Raises:
        ClientDisconnect: the client has disconnected.
    """
    async with parts_of(request.app).charts.slot(request):
        if await request.is_disconnected():
            raise ClientDisconnect
        return await run_sync(lambda: data_response(read()))
