"""A study on the server."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Never, overload

from adabkb_client import _frames as frames
from adabkb_client import _notebook as notebook
from adabkb_client._hints import add_hints, unexpected
from adabkb_client._http.transport import Connected, Transport
from adabkb_client._records import Hinting, Parameters, RunReport, StudyInfo, Trial
from adabkb_client._study_calls import StudyCalls
from adabkb_client._study_methods import Study as StudyMethods
from adabkb_client._trial import LEASE_SECONDS, Context, LeasedTrial, Objective, exit_on_sigterm
from adabkb_client.errors import AdaBKBError

if TYPE_CHECKING:
    import pandas as pd

    from adabkb_client._run.define_by_run import AskingTrial
    from adabkb_client.plots import Plots

Callback = Callable[["Study", Trial], object]
"""Takes the study and a trial that this run has just finished."""


class HintingStudy(Hinting):
    """A study whose AttributeError says what to use instead of a method or attribute of another library."""

    _instead: ClassVar[Mapping[str, str]] = {
        "add_trial": "study.add_result(parameters, value)",
        "ask": "study.suggest()",
        "best_params": "study.best().parameters; with noise, study.recommendation().model.parameters",
        "best_trial": "study.best()",
        "best_value": "study.best().value; with noise, study.recommendation().model.mean",
        "enqueue_trial": "study.queue(parameters)",
        "get_trials": "study.trials()",
        "tell": "study.observe(trial, value)",
        "trials_dataframe": "study.to_frame()",
    }

    def _hint(self, name: str) -> str | None:
        return self._instead.get(name) or (f"study.info().{name}" if name in StudyInfo.__dataclass_fields__ else None)


class Study(StudyMethods, HintingStudy, Connected[Transport]):
    """A study on the server. The object holds no state, so many processes may work on one study."""

    def __init__(self, transport: Transport, id: str) -> None:
        self.id = id
        """The id of the study, which never changes."""
        self._transport = transport
        self._calls = StudyCalls(id, transport.server.shown)

    def __repr__(self) -> str:
        return f"<Study {self.id!r}>"

    @overload
    def suggest(
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
    def suggest(
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
    def suggest(
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
    def suggest(
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
        """Lease a trial or, with ``count`` or ``plate``, a list of trials.

        If the program ends without reporting a trial, the trial stays leased until its lease expires. ``trial`` leases
        one for a ``with`` block, which releases it if it is interrupted.

        In a study with plates, the trials of a list are on one plate. Trials of an earlier plate that were released, or
        whose lease expired, are issued first, by a call of their own.

        Args:
            count: the maximum number of trials. None means a single trial, not a list, or, with ``plate``, all trials
                of the plate, up to 100.
            worker: a name for this worker; by default the host and the process.
            lease_seconds: the duration of the lease; by default the study's.
            fixed: values of parameters to fix, such as ``{"machine": "B"}``; the server chooses the other values.
            context: the current values of all context parameters, such as ``{"humidity": 0.4}``, if the study has any.
                Those with ``context="measured"`` may be missing; for them, give the values that you expect.
            plate: in a study with plates, "open" for the rest of the last plate or, if that is full, for the next one;
                "new" for a new plate.
            wait: seconds, up to 60, that the server may wait if there is no trial at once.

        Raises:
            Invalid: a value is outside its parameter's range, the context does not fit the study, the algorithm cannot
                fix parameters, or the study has no plates.
            StudyComplete: the study will issue no more trials.
            NoTrialAvailable: there is no trial now, even after ``wait`` seconds.
        """
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
        trials = self._transport.perform(steps)
        return trials[0] if is_single else trials

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

        An exception ends the trial as described in ``LeasedTrial``. SIGTERM acts as KeyboardInterrupt does (in the main
        thread, if the program has no handler).

        Args:
            lease_seconds: how long the trial stays with this process after the last heartbeat. A thread sends
                heartbeats; if your code holds the interpreter lock for longer than this, give a longer lease.
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
        """Lease a trial for use outside of a ``with`` block: call ``start()`` of the returned object, and at the end
        ``close()``.

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
        processes: bool | int = False,
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
        **unknown: Never,
    ) -> RunReport:
        """Evaluate trials with a function until the study or this run ends.

        The run waits while the study is paused, and while other workers evaluate the last trials. Results are stored
        one by one, so you can interrupt a run and start it again: it continues the study.

        Args:
            function: called with the parameters by name or, with ``pass_trial``, with the trial alone, by ``workers``
                workers in parallel; returns the value, or a dict such as ``{"value": 0.1, "std_error": 0.01}`` or
                ``{"value": 0.1, "metrics": {"latency_ms": 12}}``. In a study with parameters that are measured with the
                result, it returns them, too: ``{"value": 0.1, "parameters": {"humidity": 0.4}}``. An exception fails
                the trial and is logged, unless it is a programming error: see Raises.
            n_trials: the maximum number of trials that this run evaluates, including failed and stopped ones. None
                means no limit.
            timeout: seconds after which this run starts no further trial. Running evaluations are finished, and trials
                that a cluster has not started are released. None means no limit.
            workers: number of threads or processes that evaluate, or of parallel evaluations on the cluster.
            processes: evaluate in this number of processes, or in ``workers`` processes if True, instead of threads.
                Then a function that holds the interpreter lock does not slow down others, and a crash of the
                interpreter fails only one trial: the process is replaced. The function must be picklable, and a script
                must make this call below ``if __name__ == "__main__":``.
            engine: evaluate on a cluster: "ray" uses the cluster of ``ray.init`` or RAY_ADDRESS, "dask" that of the
                program's ``distributed.Client`` or DASK_SCHEDULER_ADDRESS. This process renews the leases and reports
                the results. The trial of a lost process or node is released and issued again; it counts only towards
                ``max_failures``. A warning is logged if the cluster has evaluated no trial of this run for half a
                minute.
            resources: resources of one evaluation, as arguments of the engine: those of ``ray.remote``, such as
                ``{"num_gpus": 1}``, or those of Dask's ``submit``, such as ``{"resources": {"GPU": 1}}``.
            gpus: CUDA devices for ``processes``, such as ``[0, 1]`` or their UUIDs. Each process gets one of them in
                CUDA_VISIBLE_DEVICES, which is set before it imports the program. If there are more processes than
                devices, they share the devices evenly.
            callbacks: called as ``callback(study, trial)`` after each finished trial of this run, one at a time, in the
                thread that reported the trial. An exception in a callback stops the run.
            catch: exceptions of these classes fail the trial and never stop the run, even if they are programming
                errors. They neither count towards ``max_failures`` nor reset that count. They do count towards
                ``failure_limit``, which pauses the study.
            pass_trial: call ``function(trial)``, without the parameters, with a ``LeasedTrial``, which has
                ``parameters``, ``number`` and ``attributes``; ``trial.report(step, value)`` reports an intermediate
                value, and returns True if early stopping ends the trial. The function still returns its value, unless
                the trial was stopped. Then it may also raise an exception of ``catch``, or one named ``TrialPruned``,
                such as Optuna's. Any other exception is logged and counts towards ``max_failures``; the trial stays
                stopped.
            max_failures: the run stops with the last error after this many failures in a row.
            progress: show a progress bar in a terminal or notebook. Elsewhere each result is one line of the log
                (logger "adabkb_client", level INFO), on standard error unless the program has set up logging.
            lease_seconds: as in ``trial``.
            fixed: as in ``suggest``: this run takes only trials with these values. It ends with the reason
                "fixed_exhausted" when all points with these values have been issued, or with "no_plate_left" when they
                need a new plate and the budget allows none.
            context: the values of the study's context parameters, or a function that returns them and is called before
                each request for a trial. A run with such a function continues when all points of one context have been
                issued.

        Returns:
            What this run did, why it ended, and the recommendation.

        Raises:
            TypeError: the function does not accept the study's parameters (or the trial), returned an invalid result,
                or cannot be sent to a process.
            ValueError: an argument is out of range, or arguments cannot be combined.
            ImportError, NameError, SyntaxError: the function raised it. After such a programming error the run stops at
                once, and its trial is released instead of failed. AttributeError, KeyError, TypeError, Invalid: the
                same, if the function has returned no result in this run yet. Later, such an error may be specific to
                one point, so it fails the trial.
            WorkerDied: the last of ``max_failures`` failures in a row was a worker process that crashed.
            WorkerLost: the last of ``max_failures`` failures in a row was a killed worker process, or a lost process or
                node of the cluster.
            ConnectionError: ``engine`` found no cluster.
            Exception: the last error, after ``max_failures`` failures in a row; or the error of a callback.
            NoTrialAvailable: the study was paused because ``failure_limit`` trials failed in a row; ``resume``
                continues it.
            ConnectionFailed: the server was down for longer than the client's ``retry_for``.
        """
        if unknown:
            raise unexpected(Study.run, unknown)
        from adabkb_client._run import worker  # noqa: PLC0415 (only runs need it)
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
            processes=processes,
            engine=engine,
            resources=resources,
            context=context,
            gpus=gpus,
        )
        try:
            return worker.run(self, function, options)
        except Exception as error:
            raise shortened(error)  # noqa: B904 - it is the same error
        except KeyboardInterrupt as interrupt:  # its frames are those of a wait in this client
            raise interrupt.with_traceback(None) from None

    def optimize(
        self,
        objective: "Callable[[AskingTrial], Any]",
        *,
        n_trials: int | None = None,
        timeout: float | None = None,
        workers: int = 1,
        processes: bool | int = False,
        gpus: Sequence[int | str] | None = None,
        callbacks: Sequence[Callback] = (),
        catch: type[Exception] | tuple[type[Exception], ...] = (),
        max_failures: int = 5,
        progress: bool = True,
        lease_seconds: float = LEASE_SECONDS,
        **unknown: Never,
    ) -> RunReport:
        """Evaluate trials with an objective that requests its parameters, as in Optuna.

        The objective calls ``trial.suggest_float("x", 1e-3, 1, log=True)``, ``suggest_int`` and
        ``suggest_categorical``. Parameters that the study lacks are added to its space. The objective may also call
        ``trial.report(value, step)``, ``trial.should_prune()`` and ``trial.set_user_attr(name, value)``: see
        ``AskingTrial``, and the page "Coming from Optuna". All other arguments are as in ``run``.

        Args:
            objective: a function of a trial, which returns what a function passed to ``run`` returns.

        Returns:
            What this run did, why it ended, and the recommendation.

        Raises:
            TypeError: as ``run``; or the objective requests no parameter.
            ValueError: the objective requests a parameter with a range or choices that differ from the study's.
            Invalid: the objective requests a parameter that the study lacks, and the space cannot be edited.
            Exception: as ``run``.
        """
        if unknown:
            raise unexpected(Study.optimize, unknown)
        from adabkb_client._run.define_by_run import Asking, Space  # noqa: PLC0415 (only runs need it)

        self._prepare(objective)
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

    def _prepare(self, objective: "Callable[[AskingTrial], Any]") -> None:
        """Do nothing, since the study exists. ``DefinedByRun`` creates it here."""

    def stop(self) -> None:
        """End the run from a callback or from the function: it starts no further trial.

        A signal handler may also call it if the main thread called ``run``. Running evaluations are finished, and the
        report's ``reason`` is "stopped".

        Raises:
            RuntimeError: the caller is not part of a run (a function in a worker process cannot end its run).
        """
        from adabkb_client._run import run_state  # noqa: PLC0415 (only runs need it)

        run_state.stop()

    @property
    def plot(self) -> "Plots":
        """The figures of the study, such as ``study.plot.history()``: see ``Plots``."""
        from adabkb_client.plots import Plots  # noqa: PLC0415 (only figures need it)

        return Plots(self)

    def _repr_html_(self) -> str:
        try:
            return notebook.study(self._transport.perform(self._calls._glance()))
        except (AdaBKBError, RuntimeError) as error:  # RuntimeError: the client is closed
            return notebook.unreadable(self.id, error)

    def to_frame(self) -> "pd.DataFrame":
        """Return the trials and the results as a pandas frame, with the columns of ``export("csv")``.

        The columns are ``trial``, ``state``, in a study with plates ``plate``, ``parameters.NAME`` for each parameter,
        ``value``, ``std_error``, ``metrics.NAME`` and ``std_errors.NAME`` for each metric, and others such as
        ``reason``, ``worker``, ``duration_seconds`` and ``excluded``: see "Export as a table" in docs/http.md.

        Each trial has a row, whatever its state; one with replicates has a row per result. Results at your own points
        follow. ``duration_seconds`` is how long the evaluation took: see ``observe``. A cell that does not apply, such
        as the value of a failed trial, is missing, as in ``Items.to_frame``.

        Raises:
            ImportError: pandas is not installed.
        """
        trials = list(self.trials())  # before the results, so that each of them has its trial
        return frames.of_study(self.info(), trials, self.observations())


class DefinedByRun(Study):
    """A study from ``Client.define_by_run``. The first ``optimize`` creates it on the server.

    To find the first parameter, ``optimize`` calls the objective once before it creates the study. This call is
    interrupted when it requests a parameter. If the study exists with another definition, ``optimize`` raises Conflict.

    Before the study exists, all other methods raise NotFound.
    """

    def __init__(self, transport: Transport, definition: Mapping[str, Any]) -> None:
        super().__init__(transport, definition["id"])
        self._definition = dict(definition)

    def _prepare(self, objective: "Callable[[AskingTrial], Any]") -> None:
        from adabkb_client._run.define_by_run import prepare  # noqa: PLC0415 (only runs need it)

        self._transport.perform(prepare(self._calls, self._definition, objective))


add_hints(Study, without=("run", "optimize"))
