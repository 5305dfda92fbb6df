"""A study with awaitable calls, and methods that use them to evaluate it."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from adabkb_client import _frames as frames
from adabkb_client._async_lease import AsyncLeasedTrial
from adabkb_client._async_resource import AsyncStudyResource
from adabkb_client._leased import LEASE_SECONDS
from adabkb_client._models import Parameters, RunReport
from adabkb_client._run import async_worker, run_state
from adabkb_client._run.evaluation import AsyncObjective
from adabkb_client._run.frames import shortened
from adabkb_client._run.options import Callback, Context, Options

log = logging.getLogger("adabkb_client")

if TYPE_CHECKING:
    import pandas as pd

    from adabkb_client.plots import AsyncPlots


class AsyncStudy(AsyncStudyResource):
    """A study on the server, like ``Study``, for asyncio programs."""

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

        An exception fails the trial with its text. Cancellation, KeyboardInterrupt, SystemExit and programming errors
        (ImportError, NameError, SyntaxError, an invalid result) release it. The exception always propagates.

        Args:
            lease_seconds: how long the trial stays with this process after the last heartbeat. A task sends heartbeats;
                code that blocks the event loop for longer needs a longer lease.
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
        """Lease a trial for your own ``async with`` block, see ``suggest``; ``trial`` uses it."""
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
        """Evaluate trials with an async function until the study or this run ends: see ``Study.run``.

        If the run is cancelled, for example by Ctrl-C or SIGTERM, its evaluations are cancelled and their trials
        released.

        Args:
            function: an async function, called with the parameters by name, by ``workers`` tasks in parallel; returns
                the value or a dict. An exception fails the trial and is logged, unless it is a programming error. If
                the function is cancelled but the run is not, the trial also fails.
            n_trials: as in ``Study.run``, like the other arguments, except for ``function`` and ``callbacks``.
            timeout: seconds after which this run starts no further trial.
            workers: the number of tasks that evaluate.
            callbacks: functions, async or not.
            catch: exceptions that fail the trial and never stop the run.
            pass_trial: call ``function(trial)`` with the leased trial, whose methods must be awaited.
            max_failures: the run stops with the last error after this many failures in a row.
            progress: show a progress bar, or lines of the log.
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

    async def to_frame(self) -> "pd.DataFrame":
        """Return the trials and the results as a pandas frame: see ``Study.to_frame``."""
        trials = await self.trials()  # before the results, so that each result has its trial
        return frames.of_study(await self.info(), trials, await self.observations())
