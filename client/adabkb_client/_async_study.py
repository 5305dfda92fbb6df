"""A study with awaitable calls."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Never, overload

from adabkb_client import _frames as frames
from adabkb_client._async_study_methods import AsyncStudy as AsyncStudyMethods
from adabkb_client._hints import add_hints, unexpected
from adabkb_client._http.async_transport import AsyncTransport
from adabkb_client._http.transport import Connected
from adabkb_client._records import Parameters, RunReport, Trial
from adabkb_client._study import HintingStudy
from adabkb_client._study_calls import StudyCalls
from adabkb_client._trial import LEASE_SECONDS, AsyncLeasedTrial, AsyncObjective, Context

if TYPE_CHECKING:
    import pandas as pd

    from adabkb_client._run.define_by_run import AskingTrial
    from adabkb_client.plots import AsyncPlots

AsyncCallback = Callable[["AsyncStudy", Trial], object]
"""Takes the study and a trial that this run has just finished."""


class AsyncStudy(AsyncStudyMethods, HintingStudy, Connected[AsyncTransport]):
    """A study on the server, like ``Study``, for asyncio programs."""

    def __init__(self, transport: AsyncTransport, id: str) -> None:
        self.id = id
        """The id of the study, which never changes."""
        self._transport = transport
        self._calls = StudyCalls(id, transport.server.shown)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r}>"

    @overload
    async def suggest(
        self,
        count: None = None,
        *,
        worker: str | None = None,
        lease_seconds: float | None = None,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        plate: None = None,
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
        plate: Literal["open", "new"] | None = None,
        wait: float = 0.0,
    ) -> list[Trial]: ...
    @overload
    async def suggest(
        self,
        count: None = None,
        *,
        plate: Literal["open", "new"],
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
        plate: Literal["open", "new"] | None = None,
        wait: float = 0.0,
    ) -> Trial | list[Trial]:
        """Lease a trial or, with ``count`` or ``plate``, a list of trials: see ``Study.suggest``."""
        is_single = count is None and plate is None
        steps = self._calls.suggest(
            1 if is_single else count,
            worker=worker,
            lease_seconds=lease_seconds,
            fixed=fixed,
            context=context,
            plate=plate,
            wait=wait,
        )
        trials = await self._transport.perform(steps)
        return trials[0] if is_single else trials

    @asynccontextmanager
    async def trial(
        self,
        *,
        lease_seconds: float = LEASE_SECONDS,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        wait: float = 0.0,
    ) -> AsyncIterator[AsyncLeasedTrial]:
        """Lease a trial for the block, and renew the lease until the block ends.

        An exception fails the trial, and its text is the reason. Cancellation, KeyboardInterrupt, SystemExit and
        programming errors (ImportError, NameError, SyntaxError, an invalid result) release the trial. The exception
        always propagates.

        Args:
            lease_seconds: how long the trial stays with this process after the last heartbeat. A task sends heartbeats;
                if your code blocks the event loop for longer than this, give a longer lease.
            fixed: as in ``suggest``.
            context: as in ``suggest``.
            wait: as in ``suggest``.

        Raises:
            Invalid, NoTrialAvailable, StudyComplete: as ``suggest``.
        """
        async with await self.lease(lease_seconds=lease_seconds, fixed=fixed, context=context, wait=wait) as leased:
            yield leased

    async def lease(
        self,
        *,
        lease_seconds: float = LEASE_SECONDS,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        wait: float = 0.0,
    ) -> AsyncLeasedTrial:
        """Lease a trial for your own ``async with`` block: see ``suggest``. ``trial`` calls this method."""
        trial = await self.suggest(lease_seconds=lease_seconds, fixed=fixed, context=context, wait=wait)
        return AsyncLeasedTrial(self, trial)

    async def run(
        self,
        function: AsyncObjective,
        *,
        n_trials: int | None = None,
        timeout: float | None = None,
        workers: int = 1,
        callbacks: Sequence[AsyncCallback] = (),
        catch: type[Exception] | tuple[type[Exception], ...] = (),
        pass_trial: bool = False,
        max_failures: int = 5,
        progress: bool = True,
        lease_seconds: float = LEASE_SECONDS,
        fixed: Parameters | None = None,
        context: Context = None,
        **unknown: Never,
    ) -> RunReport:
        """Evaluate trials with an async function until the study or this run ends: see ``Study.run``.

        If the run is cancelled, for example by Ctrl-C or SIGTERM, its evaluations are cancelled and their trials
        released.

        Args:
            function: an async function, called with the parameters by name or, with ``pass_trial``, with the trial
                alone, by ``workers`` tasks in parallel; returns the value or a dict. An exception fails the trial
                and is logged, unless it is a programming error. If the function is cancelled but the run is not, the
                trial also fails.
            n_trials: as in ``Study.run``, like the other arguments, except for ``function`` and ``callbacks``.
            timeout: seconds after which this run starts no further trial.
            workers: the number of tasks that evaluate.
            callbacks: functions, async or not.
            catch: exceptions that fail the trial and never stop the run.
            pass_trial: call ``function(trial)``, without the parameters, with an ``AsyncLeasedTrial``, whose methods
                must be awaited. The function still returns its value, unless the trial was stopped: then it may also
                raise an exception, as in the blocking client.
            max_failures: the run stops with the last error after this many failures in a row.
            progress: show a progress bar, or log lines.
            lease_seconds: as in ``trial``.
            fixed: evaluate only trials with these values of parameters.
            context: as in ``Study.run``.

        Returns:
            What this run did, why it ended, and the recommendation.

        Raises:
            TypeError: the function does not accept the study's parameters (or the trial), is not async, or returned an
                invalid result.
            ImportError, NameError, SyntaxError, Exception, NoTrialAvailable, ConnectionFailed: as in ``Study.run``.
        """
        if unknown:
            raise unexpected(AsyncStudy.run, unknown)
        await asyncio.to_thread(import_module, "adabkb_client._run.async_worker")  # the import takes time
        from adabkb_client._run import async_worker  # noqa: PLC0415 (only runs need it)
        from adabkb_client._run.options import Options  # noqa: PLC0415
        from adabkb_client._run.tracebacks import shortened  # noqa: PLC0415

        options = Options(
            n_trials=n_trials,
            timeout=timeout,
            workers=workers,
            callbacks=callbacks,
            catch=catch,
            pass_trial=pass_trial,
            max_failures=max_failures,
            progress=progress,
            lease_seconds=lease_seconds,
            fixed=fixed,
            context=context,
        )
        try:
            return await async_worker.run(self, function, options)
        except Exception as error:
            raise shortened(error)  # noqa: B904 - it is the same error

    async def optimize(
        self,
        objective: "Callable[[AskingTrial], Any]",
        *,
        n_trials: int | None = None,
        timeout: float | None = None,
        workers: int = 1,
        callbacks: Sequence[AsyncCallback] = (),
        catch: type[Exception] | tuple[type[Exception], ...] = (),
        max_failures: int = 5,
        progress: bool = True,
        lease_seconds: float = LEASE_SECONDS,
        **unknown: Never,
    ) -> RunReport:
        """Evaluate trials with an objective that requests its parameters, as in Optuna: see ``Study.optimize``.

        The objective is a blocking function, since ``trial.suggest_float`` may need the server. Each call runs in its
        own thread. If the run is cancelled, the trials are released, but each thread runs until the objective returns.
        All other arguments are as in ``run``.

        Args:
            objective: a function of a trial, which returns what a function passed to ``run`` returns.

        Returns:
            What this run did, why it ended, and the recommendation.

        Raises:
            TypeError: the objective is async; or as in ``Study.optimize``.
            ValueError, Invalid, Exception: as in ``Study.optimize``.
        """
        if unknown:
            raise unexpected(AsyncStudy.optimize, unknown)
        await asyncio.to_thread(import_module, "adabkb_client._run.async_define_by_run")  # the import takes time
        from adabkb_client._run.async_define_by_run import AsyncAsking, check  # noqa: PLC0415 (only runs need it)

        check(objective)
        await self._prepare(objective)
        return await self.run(
            AsyncAsking(self, objective),
            n_trials=n_trials,
            timeout=timeout,
            workers=workers,
            callbacks=callbacks,
            catch=catch,
            pass_trial=True,
            max_failures=max_failures,
            progress=progress,
            lease_seconds=lease_seconds,
        )

    async def _prepare(self, objective: "Callable[[AskingTrial], Any]") -> None:
        """Do nothing, since the study exists. ``AsyncDefinedByRun`` creates it here."""

    def stop(self) -> None:
        """End the run from a callback or from the function: see ``Study.stop``."""
        from adabkb_client._run import run_state  # noqa: PLC0415 (only runs need it)

        run_state.stop()

    @property
    def plot(self) -> "AsyncPlots":
        """The figures of the study, such as ``await study.plot.history()``: see ``AsyncPlots``."""
        from adabkb_client.plots import AsyncPlots  # noqa: PLC0415 (only figures need it)

        return AsyncPlots(self)

    async def to_frame(self) -> "pd.DataFrame":
        """Return the trials and the results as a pandas frame: see ``Study.to_frame``."""
        trials = await self.trials()  # before the results, so that each result has its trial
        info, observations = await self.info(), await self.observations()
        return await asyncio.to_thread(frames.of_study, info, trials, observations)


class AsyncDefinedByRun(AsyncStudy):
    """A study from ``AsyncClient.define_by_run``. The first ``optimize`` creates it on the server: see
    ``DefinedByRun``."""

    def __init__(self, transport: AsyncTransport, definition: Mapping[str, Any]) -> None:
        super().__init__(transport, definition["id"])
        self._definition = dict(definition)

    async def _prepare(self, objective: "Callable[[AskingTrial], Any]") -> None:
        from adabkb_client._run.define_by_run import prepare  # noqa: PLC0415 (only runs need it)

        await self._transport.perform_in_threads(prepare(self._calls, self._definition, objective))


add_hints(AsyncStudy, without=("run", "optimize"))
