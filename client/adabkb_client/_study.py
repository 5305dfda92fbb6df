"""A study: its calls, and methods that use them to evaluate trials."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from adabkb_client import _frames as frames
from adabkb_client import _notebook as notebook
from adabkb_client._lease import LeasedTrial, exit_on_sigterm
from adabkb_client._leased import LEASE_SECONDS
from adabkb_client._models import Parameters, RunReport
from adabkb_client._resource import StudyResource
from adabkb_client._run import run_state
from adabkb_client._run.asked import Asking, Space
from adabkb_client._run.asked import Objective as AskingObjective
from adabkb_client._run.evaluation import Objective
from adabkb_client._run.frames import shortened
from adabkb_client._run.options import Callback, Context, Options
from adabkb_client.errors import AdaBKBError

if TYPE_CHECKING:
    import pandas as pd

    from adabkb_client.plots import Plots


class Study(StudyResource):
    """A study on the server. The object holds no state, so many processes may work on one study."""

    @contextmanager
    def trial(
        self,
        *,
        lease_seconds: float = LEASE_SECONDS,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        wait: float = 0.0,
    ) -> Iterator[LeasedTrial]:
        """Lease a trial for the block, and renew the lease until the block ends.

        An exception fails the trial with its text. KeyboardInterrupt, SIGTERM (in the main thread, if the program has
        no handler) and programming errors (ImportError, NameError, SyntaxError, an invalid result) release the trial.
        The exception always propagates.

        Args:
            lease_seconds: how long the trial stays with this process after the last heartbeat. A thread sends
                heartbeats; code that holds the interpreter lock for longer needs a longer lease.
            fixed: as in ``suggest``.
            context: as in ``suggest``.
            wait: as in ``suggest``.

        Raises:
            Invalid, NoTrialAvailable, StudyComplete: as ``suggest``.
        """
        with (
            exit_on_sigterm(),
            self.lease(lease_seconds=lease_seconds, fixed=fixed, context=context, wait=wait) as leased,
        ):
            yield leased

    def lease(
        self,
        *,
        lease_seconds: float = LEASE_SECONDS,
        fixed: Parameters | None = None,
        context: Parameters | None = None,
        wait: float = 0.0,
    ) -> LeasedTrial:
        """Lease a trial if a ``with`` block is not possible: call its ``start()``, and at the end its ``close()``.

        Between these calls, report the result with ``observe`` or ``fail``, or give an exception to ``close(error)``.

        Args:
            lease_seconds: as in ``trial``.
            fixed: as in ``suggest``.
            context: as in ``suggest``.
            wait: as in ``suggest``.

        Raises:
            Invalid, NoTrialAvailable, StudyComplete: as ``suggest``.
        """
        trial = self.suggest(lease_seconds=lease_seconds, fixed=fixed, context=context, wait=wait)
        return LeasedTrial(self, trial)

    def run(
        self,
        function: Objective,
        *,
        n_trials: int | None = None,
        timeout: float | None = None,
        workers: int = 1,
        processes: bool = False,
        engine: Literal["ray", "dask"] | None = None,
        resources: Mapping[str, Any] | None = None,
        gpus: Sequence[int | str] | None = None,
        callbacks: Sequence[Callback] = (),
        catch: type[Exception] | tuple[type[Exception], ...] = (),
        pass_trial: bool = False,
        max_failures: int = 5,
        progress: bool = True,
        lease_seconds: float = LEASE_SECONDS,
        fixed: Parameters | None = None,
        context: Context = None,
    ) -> RunReport:
        """Evaluate trials with a function until the study or this run ends.

        The run waits while the study is paused, and while other workers evaluate the last trials. Results are stored
        one by one, so you can interrupt a run and start it again: it continues the study.

        Args:
            function: called with the parameters by name, by ``workers`` workers in parallel; returns the value, or a
                dict such as ``{"value": 0.1, "std_error": 0.01}`` or ``{"value": 0.1, "metrics": {"latency_ms": 12}}``.
                An exception fails the trial and is logged, unless it is a programming error: see Raises.
            n_trials: the maximum number of trials that this run evaluates, including failed ones. None means no limit.
            timeout: seconds after which this run starts no further trial. Running evaluations are finished, and trials
                that a cluster has not started are released. None means no limit.
            workers: number of threads or processes that evaluate, or of parallel evaluations on the cluster.
            processes: evaluate in processes instead of threads. Then a function that holds the interpreter lock does
                not slow down others, and a crash of the interpreter fails only one trial: the process is replaced. The
                function must be picklable, and a script must make this call below ``if __name__ == "__main__":``.
            engine: evaluate on a cluster: "ray" uses the cluster of ``ray.init`` or RAY_ADDRESS, "dask" that of the
                program's ``distributed.Client`` or DASK_SCHEDULER_ADDRESS. This process renews the leases and reports
                the results. The trial of a lost process or node is released and issued again; it counts only towards
                ``max_failures``. A warning is logged if the cluster has completed no evaluation for half a minute.
            resources: resources of one evaluation, as arguments of the engine: those of ``ray.remote``, such as
                ``{"num_gpus": 1}``, or those of Dask's ``submit``, such as ``{"resources": {"GPU": 1}}``.
            gpus: CUDA devices for ``processes=True``, such as ``[0, 1]`` or their UUIDs. Each process gets one of them
                in CUDA_VISIBLE_DEVICES, which is set before it imports the program. If there are more processes than
                devices, they share the devices evenly.
            callbacks: called as ``callback(study, trial)`` after each trial that this run has completed or failed, one
                at a time, in the thread that reported the trial. An exception in a callback stops the run.
            catch: exceptions of these classes fail the trial and never stop the run, even if they are programming
                errors. They neither count towards ``max_failures`` nor reset that count. The study counts them like
                others: ``failure_limit`` failures in a row pause it.
            pass_trial: call ``function(trial)`` with the leased trial, which has ``parameters``, ``number`` and
                ``attributes``; ``trial.report(step, value)`` reports an intermediate value, and returns True if early
                stopping ends the trial.
            max_failures: the run stops with the last error after this many failures in a row.
            progress: show a progress bar in a terminal or notebook. Elsewhere each result is one line of the log
                (logger "adabkb_client", level INFO), on standard error unless the program has set up logging.
            lease_seconds: as in ``trial``.
            fixed: as in ``suggest``: this run takes only trials with these values. It ends with the reason
                "fixed_exhausted" when all points with these values have been issued.
            context: the values of the study's context parameters, or a function that returns them and is called before
                each request for a trial. A run with such a function continues when all points of one context have been
                issued.

        Returns:
            What this run did, why it ended, and the recommendation.

        Raises:
            TypeError: the function does not accept the study's parameters (or the trial), returned an invalid result,
                or cannot be sent to a process.
            ImportError, NameError, SyntaxError: the function raised it. After such a programming error the run stops at
                once, and its trial is released instead of failed. AttributeError, KeyError, TypeError, Invalid: the
                same, if the function has returned no result in this run yet. Later, such an error may be specific to
                one point, so it fails the trial.
            WorkerDied: the last of ``max_failures`` failures in a row was a worker process that ended.
            WorkerLost: the last of ``max_failures`` failures in a row was a lost process or node of the cluster.
            ConnectionError: ``engine`` found no cluster.
            Exception: the last error, after ``max_failures`` failures in a row; or the error of a callback.
            NoTrialAvailable: the study was paused because ``failure_limit`` trials failed in a row; ``resume``
                continues it.
            ConnectionFailed: the server was down for longer than the client's ``retry_for``.
        """
        options = Options(
            n_trials,
            timeout,
            workers,
            callbacks,
            catch,
            pass_trial,
            max_failures,
            progress,
            lease_seconds,
            fixed,
            processes,
            engine,
            resources,
            context,
            gpus,
        )
        from adabkb_client._run import worker  # noqa: PLC0415 (only a run needs threads and processes)

        try:
            return worker.run(self, function, options)
        except Exception as error:
            raise shortened(error)  # noqa: B904 - it is the same error

    def optimize(
        self,
        objective: AskingObjective,
        *,
        n_trials: int | None = None,
        timeout: float | None = None,
        workers: int = 1,
        processes: bool = False,
        gpus: Sequence[int | str] | None = None,
        callbacks: Sequence[Callback] = (),
        catch: type[Exception] | tuple[type[Exception], ...] = (),
        max_failures: int = 5,
        progress: bool = True,
        lease_seconds: float = LEASE_SECONDS,
    ) -> RunReport:
        """Evaluate trials with an objective that requests its parameters, as in Optuna.

        The objective calls ``trial.suggest_float("x", 1e-3, 1, log=True)``, ``suggest_int`` and
        ``suggest_categorical``. Parameters that the study lacks are added to its space. The objective may also call
        ``trial.report(value, step)``, ``trial.should_prune()`` and ``trial.set_user_attr(name, value)``. See the page
        "Coming from Optuna".

        Args:
            objective: takes a trial, and returns what a function of ``run`` returns.
            n_trials, timeout, workers, processes, gpus, callbacks, catch, max_failures, progress, lease_seconds: as in
                ``run``.

        Returns:
            What this run did, why it ended, and the recommendation.

        Raises:
            TypeError: as ``run``; or the objective requests no parameter.
            ValueError: the objective requests a parameter with a range or choices that differ from the study's.
            Invalid: the objective requests a parameter that the study lacks, and the space cannot be edited.
            Exception: as ``run``.
        """
        asking = Asking(objective, Space(self))
        return self.run(
            asking,
            n_trials=n_trials,
            timeout=timeout,
            workers=workers,
            processes=processes,
            gpus=gpus,
            callbacks=callbacks,
            catch=catch,
            pass_trial=True,
            max_failures=max_failures,
            progress=progress,
            lease_seconds=lease_seconds,
        )

    def stop(self) -> None:
        """End the run that calls this from a callback or from the function: it starts no further trial.

        A signal handler may also call it if the main thread called ``run``. Running evaluations are finished, and the
        report's ``reason`` is "stopped".

        Raises:
            RuntimeError: the caller is not part of a run (a function in a worker process cannot end its run).
        """
        run_state.stop()

    @property
    def plot(self) -> "Plots":
        """The figures of the study, such as ``study.plot.history()``: see ``Plots``.

        Raises:
            ImportError: matplotlib is not installed.
        """
        try:
            from adabkb_client.plots import Plots  # noqa: PLC0415 (an optional dependency)
        except ImportError as error:
            raise ImportError("study.plot needs matplotlib: pip install 'adabkb-client[plot]'") from error
        return Plots(self)

    def _repr_html_(self) -> str:
        try:
            return notebook.study(self._transport.perform(self._calls._glance()))
        except (AdaBKBError, RuntimeError) as error:  # RuntimeError: the client is closed
            return f"<b>Study {escape(self.id)}</b>: {escape(str(error))}"

    def to_frame(self) -> "pd.DataFrame":
        """Return the trials and the results as a pandas frame, with the columns of ``export("csv")`` (docs/http.md).

        Each trial has a row, whatever its state; one with replicates has a row per result. Results at your own points
        follow. ``duration_seconds`` is from the start of the attempt to its end. A cell that does not apply is missing,
        such as the value of a failed trial.

        Raises:
            ImportError: pandas is not installed.
        """
        trials = list(self.trials())  # before the results, so that each of them has its trial
        return frames.of_study(self.info(), trials, self.observations())
