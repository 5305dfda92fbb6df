"""``Prefer: wait=SECONDS`` (RFC 7240) on suggest: if there is no trial, the request waits for one, so that workers need
not poll."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Depends, Header, Request

from adabkb_service.access.caller import Caller
from adabkb_service.access.concurrency import WAITS
from adabkb_service.api.admission import readmit
from adabkb_service.api.disconnect import disconnected
from adabkb_service.api.forwarding import decline
from adabkb_service.api.parts import parts_of
from adabkb_service.contract.answers import Suggested
from adabkb_service.study.changes import Changes
from adabkb_service.study.request import Outcome

MAX_SECONDS = 60
"""The maximum wait. Proxies close a connection that is silent for longer."""
_WAIT = re.compile(r'(?:^|,)\s*wait\s*=\s*"?([0-9]{1,9})"?\s*(?=[,;]|$)', re.IGNORECASE)

Ask = Callable[[], Awaitable[Outcome[Suggested]]]


async def _wait(
    prefer: Annotated[
        str | None,
        Header(
            alias="Prefer",
            description=f"wait=SECONDS, up to {MAX_SECONDS}: how long to wait if there is no trial at once",
        ),
    ] = None,
) -> int:
    """Return the seconds to wait. A preference that cannot be honored is ignored, as RFC 7240 requires; the response
    then lacks Preference-Applied."""
    found = _WAIT.search(prefer or "")
    return 0 if found is None else min(int(found[1]), MAX_SECONDS)


WaitDep = Annotated[int, Depends(_wait)]


async def long_poll(
    changes: Changes, study_id: str, request: Request, caller: Caller, ask: Ask, seconds: int
) -> tuple[Outcome[Suggested], bool]:
    """Ask for trials until there is one, the study can issue none, or the time is over.

    Returns:
        The outcome, and whether the request was allowed to wait. It is not if it names no time, if the server is
        stopping, or if too many requests are already waiting, of this user or in total.

    Raises:
        AdaBKBError: a request is refused, possibly after a wait.
        Declined: this server is stopping, and another one forwarded the request.
    """
    outcome, deadline = await ask(), time.monotonic() + seconds
    if seconds and changes.is_closing and _may_get_trial_later(outcome):
        decline(request)
    concurrency = parts_of(request.app).concurrency
    if not seconds or changes.is_closing or concurrency.is_full(WAITS, caller):
        return outcome, False
    if not _may_get_trial_later(outcome):
        return outcome, True
    leaving = asyncio.ensure_future(disconnected(request))  # a client that has disconnected must not get a trial
    try:
        with concurrency.hold(WAITS, caller), changes.waiting(study_id, for_trial=True) as notified:
            while True:  # ask again first: the study may have changed before this request was registered
                outcome = await _ask_once(ask, notified)
                if not _may_get_trial_later(outcome):
                    return outcome, True
                if not await _is_notified(notified, leaving, deadline - time.monotonic()):
                    return _with_immediate_retry(outcome), True
                if changes.is_closing:
                    decline(request)
                    return outcome, False
                await readmit(request)
    finally:
        leaving.cancel()


async def _ask_once(ask: Ask, notified: asyncio.Event) -> Outcome[Suggested]:
    """Return the outcome of one request. If it ends this wait, the next waiter is notified, too: there may be more
    trials, or the study may have been deleted."""
    notified.clear()  # subscribe first, so that no notification is missed
    outcome = None
    try:
        outcome = await ask()
    finally:
        if outcome is None or not _may_get_trial_later(outcome):
            notified.set()
    return outcome


def _may_get_trial_later(outcome: Outcome[Suggested]) -> bool:
    """Return whether there is no trial now, but may be one later."""
    return outcome.view.retry_after is not None


def _with_immediate_retry(outcome: Outcome[Suggested]) -> Outcome[Suggested]:
    """Return the outcome with ``retry_after`` 0, since the server has already waited."""
    return replace(outcome, view=outcome.view.model_copy(update={"retry_after": 0.0}))


async def _is_notified(notified: asyncio.Event, leaving: asyncio.Future[None], seconds: float) -> bool:
    """Wait for a notification. Return False if the time is over or the client disconnects first."""
    woken: asyncio.Future[Any] = asyncio.ensure_future(notified.wait())
    await asyncio.wait({woken, leaving}, timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED)
    woken.cancel()
    return notified.is_set() and not leaving.done()
