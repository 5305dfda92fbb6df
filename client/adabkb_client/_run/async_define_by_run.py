"""Define-by-run on an event loop: each call of the objective runs in its own thread, and the loop sends its
requests."""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

from adabkb_client._async_study_methods import AsyncStudy
from adabkb_client._calls import Steps
from adabkb_client._http.async_transport import AsyncTransport
from adabkb_client._http.transport import Transport
from adabkb_client._run.define_by_run import Asking, Objective, Space
from adabkb_client._study_calls import StudyCalls
from adabkb_client._study_methods import Study
from adabkb_client._trial import AsyncLeasedTrial, LeasedTrial
from adabkb_client._trial_calls import stop_seconds
from adabkb_client.errors import WrongFunction

T = TypeVar("T")


class AsyncAsking:
    """Adapts an objective that requests its parameters to an async function of ``AsyncStudy.run``."""

    def __init__(self, study: AsyncStudy, objective: Objective) -> None:
        transport = _InThread(study._transport, asyncio.get_running_loop())
        self._study = _StudyInThread(transport, study._calls)
        self._asking = Asking(objective, Space(self._study))

    async def __call__(self, leased: AsyncLeasedTrial) -> Any:
        here = LeasedTrial(self._study, leased.trial)
        evaluated = asyncio.ensure_future(in_a_thread(partial(self._asking, here)))
        try:
            return await asyncio.shield(evaluated)
        except asyncio.CancelledError:
            if here._is_outcome_sent:  # the evaluation is done, so its result should not be lost
                with suppress(Exception):
                    await asyncio.wait_for(evaluated, stop_seconds())
            evaluated.cancel()
            raise
        finally:
            leased._continue_as(here)


class _StudyInThread(Study):
    """A study for use in a thread; the event loop sends its requests."""

    def __init__(self, transport: "_InThread", calls: StudyCalls) -> None:
        self.id = calls.id
        self._transport = cast("Transport", transport)
        self._calls = calls


class _InThread:
    """The transport of a study in a thread: the event loop performs each procedure, and the thread waits."""

    def __init__(self, transport: AsyncTransport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop

    def perform(self, steps: Steps[T]) -> T:
        """Perform a procedure on the event loop."""
        return asyncio.run_coroutine_threadsafe(self._transport.perform(steps), self._loop).result()


async def in_a_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread of its own, which does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def call() -> None:
        try:
            settle = partial(_set, done, function())
        except StopIteration as error:  # a future cannot have StopIteration as its exception
            settle = partial(_fail, done, RuntimeError(f"the function raised StopIteration: {error}"))
        except BaseException as error:
            settle = partial(_fail, done, error)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle)

    threading.Thread(target=contextvars.copy_context().run, args=(call,), daemon=True).start()
    return await done


def _set(done: "asyncio.Future[T]", result: T) -> None:
    if not done.done():  # otherwise it was cancelled
        done.set_result(result)


def _fail(done: "asyncio.Future[Any]", error: BaseException) -> None:
    if not done.done():
        done.set_exception(error)


def check(objective: Objective) -> None:
    """Refuse an async objective.

    Raises:
        WrongFunction: the objective is async.
    """
    if inspect.iscoroutinefunction(objective):
        raise WrongFunction(
            "the objective of optimize must be a blocking function (def), which is called in a thread; run(...) takes "
            "an async function"
        )
