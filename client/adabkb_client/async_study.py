"""A study whose calls are awaited: the same procedures as ``resource.py``, and what is built on them."""

import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from adabkb_client import async_worker, run_state
from adabkb_client.async_lease import AsyncLeasedTrial
from adabkb_client.async_transport import AsyncTransport
from adabkb_client.calls import Listing, Steps, documented
from adabkb_client.evaluation import AsyncObjective
from adabkb_client.frames import shortened
from adabkb_client.leased import LEASE_SECONDS
from adabkb_client.models import Parameters, Trial
from adabkb_client.options import Callback, Context, Options, RunReport
from adabkb_client.study_calls import StudyCalls

log = logging.getLogger("adabkb_client")

if TYPE_CHECKING:
    from adabkb_client.plots import AsyncPlots

P = ParamSpec("P")
T = TypeVar("T")


def awaited(
    steps: Callable[Concatenate[StudyCalls, P], Steps[T]],
) -> Callable[Concatenate["AsyncStudy", P], Coroutine[Any, Any, T]]:
    """Make a method of a procedure, with its arguments and its docstring."""

    async def method(self: "AsyncStudy", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._transport.perform(steps(self._calls, *args, **kwargs))

    documented(method, steps)
    return method


def streamed(
    listing: Callable[Concatenate[StudyCalls, P], Listing[T]],
) -> Callable[Concatenate["AsyncStudy", P], AsyncIterator[T]]:
    """Make a method of a list, which yields its items as they are read."""

    def method(self: "AsyncStudy", /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self._transport.each(listing(self._calls, *args, **kwargs))

    documented(method, listing, AsyncIterator)
    return method


class AsyncStudy:
    """A study on the server, as ``Study``, for programs that run in an event loop."""

    def __init__(self, transport: AsyncTransport, study_id: str) -> None:
        self.id = study_id
        self._transport = transport
        self._calls = StudyCalls(study_id)

    def __repr__(self) -> str:
        return f"<AsyncStudy {self.id!r}>"

    info = awaited(StudyCalls.info)
    best = awaited(StudyCalls.best)
    update = awaited(StudyCalls.update)
    change_catalogue = awaited(StudyCalls.change_catalogue)
    pause = awaited(StudyCalls.pause)
    resume = awaited(StudyCalls.resume)
    delete = awaited(StudyCalls.delete)

    access = awaited(StudyCalls.access)
    share = awaited(StudyCalls.share)
    unshare = awaited(StudyCalls.unshare)
    give = awaited(StudyCalls.give)
    link = awaited(StudyCalls.link)
    unlink = awaited(StudyCalls.unlink)

    observe = awaited(StudyCalls.observe)
    add_result = awaited(StudyCalls.add_result)
    observe_many = awaited(StudyCalls.observe_many)
    fail = awaited(StudyCalls.fail)
    heartbeat = awaited(StudyCalls.heartbeat)
    release = awaited(StudyCalls.release)
    settle = awaited(StudyCalls.settle)
    report = awaited(StudyCalls.report)
    report_many = awaited(StudyCalls.report_many)
    deliver_reports = awaited(StudyCalls.deliver_reports)
    curve = streamed(StudyCalls.curve)
    retry = awaited(StudyCalls.retry)
    retry_failed = awaited(StudyCalls.retry_failed)
    annotate = awaited(StudyCalls.annotate)
    queue = awaited(StudyCalls.queue)
    repeat = awaited(StudyCalls.repeat)
    trials = streamed(StudyCalls.trials)
    why = awaited(StudyCalls.why)

    observations = streamed(StudyCalls.observations)
    correct = awaited(StudyCalls.correct)
    exclude = awaited(StudyCalls.exclude)
    include = awaited(StudyCalls.include)
    import_results = awaited(StudyCalls.import_results)
    recommendation = awaited(StudyCalls.recommendation)
    front = awaited(StudyCalls.front)
    predict = awaited(StudyCalls.predict)
    importance = awaited(StudyCalls.importance)
    validation = awaited(StudyCalls.validation)
    assessment = awaited(StudyCalls.assessment)
    slice = awaited(StudyCalls.slice)

    model = awaited(StudyCalls.model)
    tree = streamed(StudyCalls.tree)
    partition = streamed(StudyCalls.partition)
    dictionary = streamed(StudyCalls.dictionary)
    events = streamed(StudyCalls.events)
    export = awaited(StudyCalls.export)
    export_excel = awaited(StudyCalls.export_excel)

    @overload
    async def suggest(
        self,
        count: None = None,
        *,
        worker: str | None = None,
        lease_seconds: float | None = None,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        wait: float = 0.0,
    ) -> Trial: ...
    @overload
    async def suggest(
        self,
        count: int,
        *,
        worker: str | None = None,
        lease_seconds: float | None = None,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        wait: float = 0.0,
    ) -> list[Trial]: ...
    async def suggest(
        self,
        count: int | None = None,
        *,
        worker: str | None = None,
        lease_seconds: float | None = None,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        wait: float = 0.0,
    ) -> Trial | list[Trial]:
        """Lease a trial or, with ``count``, a list of up to so many: see ``Study.suggest``."""
        number = 1 if count is None else count
        steps = self._calls.suggest(
            number, worker=worker, lease_seconds=lease_seconds, fixed=fixed, context=context, wait=wait
        )
        trials = await self._transport.perform(steps)
        return trials[0] if count is None else trials

    @asynccontextmanager
    async def trial(
        self,
        *,
        lease_seconds: float = LEASE_SECONDS,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
    ) -> AsyncIterator[AsyncLeasedTrial]:
        """Lease a trial for the block, and renew the lease until its end.

        An exception fails the trial with its text; cancellation, KeyboardInterrupt, SystemExit and mistakes of the
        program (ImportError, NameError, SyntaxError, a result that is not one of the study) give it back. The exception
        propagates in each case.

        Args:
            lease_seconds: how long the trial stays with this process after a sign of life. A task gives these signs;
                code that blocks the event loop for longer than that needs a longer lease.
            fixed: as in ``suggest``.
            context: as in ``suggest``.

        Raises:
            Invalid, NoTrialAvailable, StudyComplete: as ``suggest``.
        """
        async with await self.lease(lease_seconds=lease_seconds, fixed=fixed, context=context) as leased:
            yield leased

    async def lease(
        self,
        *,
        lease_seconds: float = LEASE_SECONDS,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        wait: float = 0.0,
    ) -> AsyncLeasedTrial:
        """Lease a trial for an ``async with`` block of your own: see ``trial``, built on it, and ``suggest``."""
        trial = await self.suggest(lease_seconds=lease_seconds, fixed=fixed, context=context, wait=wait)
        return AsyncLeasedTrial(self, trial)

    async def run(
        self,
        function: AsyncObjective,
        *,
        n_trials: int | None = None,
        timeout: float | None = None,
        workers: int = 1,
        callbacks: Sequence[Callback] = (),
        catch: type[Exception] | tuple[type[Exception], ...] = (),
        pass_trial: bool = False,
        max_failures: int = 5,
        progress: bool = True,
        lease_seconds: float = LEASE_SECONDS,
        fixed: Parameters | None = None,
        context: Context = None,
    ) -> RunReport:
        """Evaluate trials with an async function until the study, or this run, is over: see ``Study.run``.

        If the run is cancelled (Ctrl-C and SIGTERM do so), its evaluations are, and their trials are given back.

        Args:
            function: an async function, called with the parameters by name by ``workers`` tasks at once; returns the
                value or a dict. An exception fails the trial and is logged, unless it is a mistake of the program. A
                function that is cancelled while the run is not fails its trial too.
            n_trials: as in ``Study.run``; so are the others, except for these two.
            timeout: seconds after which this run takes no further trial.
            workers: number of tasks that evaluate.
            callbacks: they may be async functions.
            catch: exceptions that fail the trial and never stop the run.
            pass_trial: call ``function(trial)`` with the leased trial, whose methods are to be awaited.
            max_failures: the run stops with the last error after so many failures in a row.
            progress: show a progress bar, or lines of the log.
            lease_seconds: as in ``trial``.
            fixed: take only trials with these values of parameters.
            context: as in ``Study.run``.

        Returns:
            What this run did, why it ended, and the recommendation.

        Raises:
            TypeError: the function does not take the study's parameters (or the trial), is not async, or returned
                something that is no number.
            ImportError, NameError, SyntaxError, Exception, NoTrialAvailable, ConnectionFailed: as in ``Study.run``.
        """
        how = (n_trials, timeout, workers, callbacks, catch, pass_trial, max_failures, progress, lease_seconds, fixed)
        options = Options(*how, context=context)
        try:
            return await async_worker.run(self, function, options)
        except Exception as error:
            raise shortened(error)  # noqa: B904 - it is the same error

    def stop(self) -> None:
        """End the run that calls this, from a callback or from the function: see ``Study.stop``."""
        run_state.stop()

    @property
    def plot(self) -> "AsyncPlots":
        """The figures of the study, such as ``await study.plot.history()``: see ``AsyncPlots``.

        Raises:
            ImportError: matplotlib is not installed.
        """
        try:
            from adabkb_client.plots import AsyncPlots  # noqa: PLC0415 (an optional dependency)
        except ImportError as error:
            raise ImportError("study.plot needs matplotlib: pip install 'adabkb-client[plot]'") from error
        return AsyncPlots(self)
