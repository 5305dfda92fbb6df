"""Reads of models: how many at a time, for how long, and not without a reader.

They wait for a model on threads of their own, so that no number of them takes a thread from admission, readiness or
writes. Decision 0037 has the limits and what was measured.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

import anyio
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Depends, Request, Response
from pydantic import BaseModel

from adabkb_service.api.disconnect import gone
from adabkb_service.errors import Busy
from adabkb_service.operations.reader import READER, Reader

T = TypeVar("T")

MOST_AT_WORK = 64
"""Reads of a server that wait on threads, ..."""
MOST_OF_STUDY = 4
"""... and of one study among them: its model answers one after the other."""
MOST_IN_LINE = 32
"""Reads of one study that wait for one of these places."""

BUSY = "Too many reads of models are in progress; try again."


@dataclass
class _Line:
    """The reads of one study."""

    limiter: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(MOST_OF_STUDY))
    reads: int = 0


class ModelReads:
    """All reads of a server's models. Used by its event loop alone."""

    def __init__(self, seconds: float) -> None:
        """For each of them, from its arrival to the answer or to the refusal."""
        self._seconds = seconds
        self._at_work = CapacityLimiter(MOST_AT_WORK)
        self._threads = CapacityLimiter(math.inf)
        """None waits for it: a read has a place before."""
        self._lines: dict[str, _Line] = {}

    async def answer(self, request: Request, study_id: str, work: Callable[[], T]) -> T | None:
        """What the work gives, which asks the model of a study; None if the reader has left.

        Raises:
            Busy: too many reads wait, or this one has waited for too long.
            AdaBKBError: what the work raises.
        """
        line = self._lines.setdefault(study_id, _Line())
        if line.reads >= MOST_OF_STUDY + MOST_IN_LINE:
            raise Busy(BUSY)
        line.reads += 1
        reader, leaving = Reader(self._seconds), asyncio.ensure_future(gone(request))
        try:
            with anyio.CancelScope() as scope:
                leaving.add_done_callback(lambda _: _leave(reader, scope))
                async with AsyncExitStack() as places:
                    await self._take_places(places, line, reader)
                    return await run_sync(_as(reader, work), limiter=self._threads)
            return None
        finally:
            leaving.cancel()
            line.reads -= 1
            if not line.reads:
                del self._lines[study_id]

    async def _take_places(self, places: AsyncExitStack, line: _Line, reader: Reader) -> None:
        try:
            with anyio.fail_after(reader.seconds_left):
                await places.enter_async_context(line.limiter)
                await places.enter_async_context(self._at_work)
        except TimeoutError as error:
            raise Busy(BUSY) from error


def _leave(reader: Reader, scope: anyio.CancelScope) -> None:
    reader.leave()
    scope.cancel()


def _as(reader: Reader, work: Callable[[], T]) -> Callable[[], T]:
    """The work for a reader."""

    def for_reader() -> T:
        context = contextvars.copy_context()
        context.run(READER.set, reader)
        return context.run(work)

    return for_reader


class Reading:
    """Lets an endpoint read a model: ``await reading(operation, study_id, ...)``."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def __call__(self, operation: Callable[..., Any], study_id: str, *arguments: Any) -> Response:
        """What an operation of the service answers, rendered on its thread. A view is rendered as JSON; a response is
        sent as it is.

        Raises:
            Busy: see ``ModelReads``.
            AdaBKBError: what the operation raises.
        """
        state = self._request.app.state
        reads: ModelReads = state.model_reads

        def work() -> Response:
            found = operation(state.service, study_id, *arguments)
            return rendered(found) if isinstance(found, BaseModel) else found

        answer = await reads.answer(self._request, study_id, work)
        return Response(status_code=400) if answer is None else answer  # which nobody reads


def rendered(view: BaseModel) -> Response:
    """A view as an answer; where it may be large, on a thread."""
    return Response(view.model_dump_json(), media_type="application/json")


async def _reading(request: Request) -> Reading:
    return Reading(request)


ReadingDep = Annotated[Reading, Depends(_reading)]
