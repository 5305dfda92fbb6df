"""Runs a function over the trials of a study, in threads; each may evaluate in a separate process or on a cluster."""

import logging
import math
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from time import monotonic

from adabkb_client._records import Answer, RunReport, StudyInfo, Trial
from adabkb_client._run.cluster import Cluster, connect
from adabkb_client._run.evaluation import Evaluation, Expected, Result, names_at_trial
from adabkb_client._run.idle_workers import IdleWorkers
from adabkb_client._run.options import Options
from adabkb_client._run.processes import WorkerProcess
from adabkb_client._run.progress import Progress, StudyProgress
from adabkb_client._run.run_state import RunState, stoppable
from adabkb_client._run.work_loop import blocking, work
from adabkb_client._study_methods import Study
from adabkb_client._trial import LeasedTrial, Objective, exit_on_sigterm
from adabkb_client._trial_calls import stop_seconds
from adabkb_client.errors import AdaBKBError, ConnectionFailed, Unavailable

log = logging.getLogger("adabkb_client")

LOOK_EVERY = 0.5
"""The maximum number of seconds between two checks for signals. The system may deliver a signal to any thread, which
does not interrupt a wait of the main thread, where signals are handled."""


def run(study: Study, function: Objective, options: Options) -> RunReport:
    """Evaluate trials until the study or this run ends: see ``Study.run``."""
    info = study.info()
    evaluation = Evaluation(function, options.pass_trial, Expected.of_study(info), options.catch)
    conditional = [parameter["name"] for parameter in info.parameters if parameter.get("when")]
    evaluation.check(names_at_trial(info), conditional)
    if options.engine is None:
        return _run(study, evaluation, options, info)
    cluster = connect(options.engine, evaluation, options.resources or {})
    try:
        return _run(study, cluster, options, info)
    finally:
        cluster.close()


def _run(study: Study, evaluation: Evaluation | Cluster, options: Options, info: StudyInfo) -> RunReport:
    over = threading.Event()
    with Progress(study.id, info.trial_budget, StudyProgress.of(info), visible=options.progress) as shown:
        state = RunState(study.id, options, shown, over)
        crew = _Crew(study, evaluation, state, over, info.max_attempts)
        threads = [threading.Thread(target=crew.work, daemon=True) for _ in range(options.parallel)]
        with stoppable(state), exit_on_sigterm():  # signal handlers are called in this thread
            try:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    while thread.is_alive():
                        thread.join(LOOK_EVERY)
            except BaseException:  # Ctrl-C, SIGTERM
                crew.abandon()
                raise
    if state.error:
        raise state.error
    return state.report(study.recommendation())


class _Crew:
    """The shared state of the worker threads; ``_lock`` guards the mutable part."""

    def __init__(
        self,
        study: Study,
        evaluation: Evaluation | Cluster,
        state: RunState,
        over: threading.Event,
        max_attempts: int,
    ) -> None:
        self.study = study
        self.state = state
        self.over = over
        self.calling_back = threading.Lock()
        self._evaluation = evaluation
        self._max_attempts = max_attempts
        self._leased: set[LeasedTrial] = set()
        self._processes: list[WorkerProcess] = []
        self._numbered = 0
        self._abandoned = False
        self._released = 0
        """The number of trials that were released since ``abandon`` was called."""
        self._lock = threading.Condition()
        self._is_asking = False
        self._idle = IdleWorkers[LeasedTrial](state)
        self._turn = threading.Lock()
        self._asked = study._transport.until(over)
        """The transport of the study, without retries of a request for a trial after the end of the run."""
        self._stop_seconds = stop_seconds()

    def work(self) -> None:
        """Evaluate trials, one after the other, until the study or the run is over."""
        with stoppable(self.state):
            try:
                if isinstance(self._evaluation, Cluster):
                    evaluate = partial(self._evaluation, is_over=lambda: self.state.is_over)
                    blocking(work(self.state, _IO(self, evaluate)))
                elif self.state.options.processes:
                    self._work_in_a_process(self._evaluation)
                else:
                    blocking(work(self.state, _IO(self, self._evaluation)))
            except BaseException as error:  # a failure of the server, or sys.exit; failures of the function are counted
                self.state.fail(error)

    def _work_in_a_process(self, evaluation: Evaluation) -> None:
        gpus = self.state.options.gpus
        with self._lock:
            number, self._numbered = self._numbered, self._numbered + 1
        gpu = None if gpus is None else str(gpus[number % len(gpus)])
        process = WorkerProcess(evaluation, self.study, self._max_attempts, gpu)
        with self._lock:
            self._processes.append(process)
            if self._abandoned:
                process.kill()
        try:
            blocking(work(self.state, _IO(self, process)))
        finally:
            process.close()

    def lease(self, wait: float) -> LeasedTrial | None:
        """Request a trial, for which the server may wait; None if this run needs no further one."""
        if not self._idle.join():
            return None
        with self._turn:
            try:
                if count := self._idle.request_size():
                    self._ask(count, wait)
                trial = self._idle.take()
                if trial is None:
                    self._release_left()
                return trial
            finally:
                self._idle.leave()

    def _ask(self, count: int, wait: float) -> None:
        """Lease trials for the idle threads; none if the run ends meanwhile."""
        steps = self.state.options.request(self.study._calls, count, wait)
        with self._lock:
            if self.over.is_set():  # ``abandon`` waits only for the requests that it finds
                return
            self._is_asking = True
        try:
            trials = [LeasedTrial(self.study, each) for each in self._asked.perform(steps)]
            self._idle.received(trials)
            with self._lock:
                self._leased.update(trials)
        except (ConnectionFailed, Unavailable):
            if not self.over.is_set():  # after the end of the run, calls are not retried, so the error means nothing
                raise
        finally:
            with self._lock:
                self._is_asking = False
                self._lock.notify_all()

    def _release_left(self) -> None:
        """Release the trials that no thread has taken before the end of the run."""
        for trial in self._idle.left():
            if not trial._is_outcome_sent:  # ``abandon`` may release it, too
                self._release(trial)

    def forget(self, trial: LeasedTrial) -> None:
        """Record that the outcome of a trial was reported."""
        with self._lock:
            if self._abandoned and trial in self._leased and trial._is("released"):
                self._released += 1
            self._leased.discard(trial)
            self._lock.notify_all()

    def abandon(self) -> None:
        """Release all trials.

        A function in a thread cannot be interrupted; if it still returns a result, the result is stored. Worker
        processes are killed, and evaluations on a cluster are cancelled. Outcomes that
        are being sent are awaited, and so is the answer to a request for trials: otherwise, a trial that the server
        issues at this moment would stay leased.
        """
        self._abandoned = True
        self.over.set()
        with self._lock:
            sent = {trial for trial in self._leased if trial._is_outcome_sent}
            leased = self._leased - sent
            processes = list(self._processes)
        releases = [threading.Thread(target=self._release, args=(trial,), daemon=True) for trial in leased]
        for release in releases:
            with suppress(KeyboardInterrupt, SystemExit):  # a second signal, while start() waits for the thread
                release.start()
        _join(releases, self._stop_seconds)
        for process in processes:
            process.kill()
        if isinstance(self._evaluation, Cluster):
            self._evaluation.cancel()
        if not self._await(lambda: not self._is_asking and not self._leased - sent, self._stop_seconds):
            log.warning(
                "study %r: waiting for answers of the server, so that no trial stays leased; interrupt again to end at "
                "once",
                self.study.id,
            )
            self._await(lambda: not self._is_asking and not self._leased - sent)
        self._await(lambda: not self._leased, self._stop_seconds)
        log.warning(
            "study %r: the run was interrupted, and %d %s released. To continue, start the program again.",
            self.study.id,
            self._released,
            "trial was" if self._released == 1 else "trials were",
        )

    def _release(self, trial: LeasedTrial) -> None:
        try:
            trial.release()
        except AdaBKBError as error:
            log.warning("trial %d of study %r not released: %s", trial.number, self.study.id, error)
        self.forget(trial)

    def _await(self, is_met: Callable[[], bool], seconds: float = math.inf) -> bool:
        """Wait until a condition is met, for at most some seconds, and return whether it is."""
        end = monotonic() + seconds
        with self._lock:
            while not is_met() and monotonic() < end:
                self._lock.wait(LOOK_EVERY)
            return is_met()


def _join(releases: Sequence[threading.Thread], seconds: float) -> None:
    """Wait for the end of releases, for at most some seconds. Further signals do not interrupt the wait: the program
    that started this one often forwards a signal that this one has received itself."""
    end = monotonic() + seconds
    for release in releases:
        while release.is_alive() and (left := end - monotonic()) > 0.0:
            with suppress(KeyboardInterrupt, SystemExit):
                release.join(min(left, LOOK_EVERY))


class _IO:
    """The ``WorkerIO`` of a thread, whose calls block."""

    def __init__(self, crew: _Crew, evaluate: Callable[[LeasedTrial], Result | Answer]) -> None:
        self._crew = crew
        self._evaluate = evaluate

    async def lease(self, wait: float) -> LeasedTrial | None:
        return self._crew.lease(wait)

    async def release(self, trial: LeasedTrial) -> None:
        try:
            trial.release()
        finally:
            self._crew.forget(trial)

    @asynccontextmanager
    async def kept(self, trial: LeasedTrial) -> AsyncIterator[None]:
        try:
            with trial:
                yield
        finally:
            self._crew.forget(trial)

    async def evaluate(self, trial: LeasedTrial) -> Result | Answer:
        return self._evaluate(trial)

    async def observe(self, trial: LeasedTrial, result: Result) -> None:
        trial.observe(**result._asdict())

    async def fail(self, trial: LeasedTrial, reason: str) -> None:
        trial.fail(reason)

    async def call_back(self, trial: Trial) -> None:
        with self._crew.calling_back:
            for callback in self._crew.state.options.callbacks:
                callback(self._crew.study, trial)

    async def active(self) -> list[Trial]:
        return list(self._crew.study.trials("active"))

    async def wait(self, seconds: float) -> None:
        self._crew.over.wait(seconds)
