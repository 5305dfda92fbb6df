"""Reads of models: limited in number and time, and cancelled when the client disconnects.

They wait for a model on separate threads, so that threads remain for admission, readiness checks and writes. Decision
0037 has the reasons for the limits, and measurements.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, TypeVar

import anyio
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Depends, Request, Response
from pydantic import BaseModel
from starlette.requests import ClientDisconnect

from adabkb_service.api.disconnect import disconnected
from adabkb_service.api.parts import parts_of
from adabkb_service.errors import Busy
from adabkb_service.operations.reader import READER, Reader

T = TypeVar("T")

MAX_RUNNING = 64
"""The maximum number of reads of a server that hold a thread."""
MAX_RUNNING_PER_STUDY = 4
"""The maximum number of reads of one study that hold a thread. The study's model answers them one after the other."""
MAX_WAITING_PER_STUDY = 32
"""The maximum number of reads of one study that wait for a thread."""

BUSY = "Too many reads of models are in progress; try again."


@dataclass
class _StudyReads:
    """The reads of one study: their limiter and their number."""

    limiter: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(MAX_RUNNING_PER_STUDY))
    reads: int = 0


class ModelReads:
    """All reads of a server's models. Only its event loop uses it."""

    def __init__(self, seconds: float) -> None:
        """Args:
        seconds: the time limit of a read, from its arrival to the response.
        """
        self._seconds = seconds
        self._at_work = CapacityLimiter(MAX_RUNNING)
        self._threads = CapacityLimiter(math.inf)
        """Without a limit, because a read first takes a place from the limiters of its study and of the server."""
        self._studies: dict[str, _StudyReads] = {}

    async def answer(self, request: Request, study_id: str, work: Callable[[], T]) -> T | None:
        """Run ``work``, which asks a study's model, and return its result; None if the client has disconnected.

        Raises:
            Busy: too many reads wait, or this one has waited for too long.
            AdaBKBError: an error of ``work``.
        """
        of_study = self._studies.setdefault(study_id, _StudyReads())
        if of_study.reads >= MAX_RUNNING_PER_STUDY + MAX_WAITING_PER_STUDY:
            raise Busy(BUSY)
        of_study.reads += 1
        reader, leaving = Reader(self._seconds), asyncio.ensure_future(disconnected(request))
        try:
            with anyio.CancelScope() as scope:
                leaving.add_done_callback(lambda _: _leave(reader, scope))
                async with AsyncExitStack() as places:
                    await self._take_places(places, of_study, reader)
                    return await run_sync(_as(reader, work), limiter=self._threads)
            return None
        finally:
            leaving.cancel()
            of_study.reads -= 1
            if not of_study.reads:
                del self._studies[study_id]

    async def _take_places(self, places: AsyncExitStack, of_study: _StudyReads, reader: Reader) -> None:
        try:
            with anyio.fail_after(reader.seconds_left):
                await places.enter_async_context(of_study.limiter)
                await places.enter_async_context(self._at_work)
        except TimeoutError as error:
            raise Busy(BUSY) from error


def _leave(reader: Reader, scope: anyio.CancelScope) -> None:
    reader.leave()
    scope.cancel()


def _as(reader: Reader, work: Callable[[], T]) -> Callable[[], T]:
    """Return ``work``, to be run in a context that names its reader."""

    def for_reader() -> T:
        context = contextvars.copy_context()
        context.run(READER.set, reader)
        return context.run(work)

    return for_reader


class Reading:
    """Reads a model for an endpoint: ``await reading(operation, study_id, ...)``."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def __call__(self, operation: Callable[..., Any], study_id: str, *arguments: Any) -> Response:
        """Return the response of an operation of the service. A view is rendered as JSON on the thread of the read; a
        response is passed on unchanged.

        Raises:
            Busy: see ``ModelReads``.
            AdaBKBError: an error of the operation.
            ClientDisconnect: the client has disconnected.
        """
        parts = parts_of(self._request.app)

        def work() -> Response:
            found = operation(parts.service, study_id, *arguments)
            return rendered(found) if isinstance(found, BaseModel) else found

        answer = await parts.model_reads.answer(self._request, study_id, work)
        if answer is None:
            raise ClientDisconnect
        return answer

    async def unless_busy(self, operation: Callable[..., Response], study_id: str) -> Response:
        """Return the response of an operation, as ``__call__`` does. If too many reads wait, the operation runs with no
        time left for the model, so that it responds without it.

        Raises:
            AdaBKBError: an error of the operation.
        """
        try:
            return await self(operation, study_id)
        except Busy:
            parts = parts_of(self._request.app)
            async with parts.charts.slot(self._request):
                return await run_sync(_as(Reader(0.0), partial(operation, parts.service, study_id)))


def rendered(view: BaseModel) -> Response:
    """Return a view as a response. Call it on a thread if the view may be large."""
    return Response(view.model_dump_json(), media_type="application/json")


async def _reading(request: Request) -> Reading:
    return Reading(request)


ReadingDep = Annotated[Reading, Depends(_reading)]
