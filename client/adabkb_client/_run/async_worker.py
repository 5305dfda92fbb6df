"""Runs an async function over the trials of a study, in several tasks of one event loop."""

import asyncio
import inspect
import signal
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TypeVar

from adabkb_client._async_study_methods import AsyncStudy
from adabkb_client._calls import Steps
from adabkb_client._records import Answer, RunReport, Trial
from adabkb_client._run.evaluation import Evaluation, Expected, Result, names_at_trial
from adabkb_client._run.idle_workers import IdleWorkers
from adabkb_client._run.options import Options
from adabkb_client._run.progress import Progress, StudyProgress
from adabkb_client._run.run_state import RunState, stoppable
from adabkb_client._run.work_loop import work
from adabkb_client._trial import AsyncLeasedTrial, AsyncObjective
from adabkb_client._trial_calls import stop_seconds
from adabkb_client.errors import AdaBKBError, ConnectionFailed, Unavailable, WrongResult

T = TypeVar("T")


async def run(study: AsyncStudy, function: AsyncObjective, options: Options) -> RunReport:
    """Evaluate trials until the study or this run ends: see ``AsyncStudy.run``."""
    info = await study.info()
    evaluation = Evaluation(function, options.pass_trial, Expected.of_study(info), options.catch)
    conditional = [parameter["name"] for parameter in info.parameters if parameter.get("when")]
    evaluation.check(names_at_trial(info), conditional)
    over = asyncio.Event()
    with (
        Progress(study.id, info.trial_budget, StudyProgress.of(info), visible=options.progress) as shown,
        _cancelled_by_signals(),
    ):
        state = RunState(study.id, options, shown, over)
        io = _IO(study, evaluation, state, over)
        with stoppable(state):  # the tasks inherit the context variable
            try:
                async with asyncio.TaskGroup() as tasks:
                    for _ in range(options.workers):
                        tasks.create_task(_work(state, io))
            finally:
                await io.release_left()
    if state.error:
        raise state.error
    return state.report(await study.recommendation())


async def _work(state: RunState, io: "_IO") -> None:
    try:
        await work(state, io)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # a failure of the server, or sys.exit; failures of the function are counted
        state.fail(error)


class _IO:
    """The ``WorkerIO`` of the tasks, whose calls await."""

    def __init__(self, study: AsyncStudy, evaluation: Evaluation, state: RunState, over: asyncio.Event) -> None:
        self._study = study
        self._asked = study._transport.until(over)
        self._stop_seconds = stop_seconds()
        self._evaluation = evaluation
        self._state = state
        self._over = over
        self._idle = IdleWorkers[AsyncLeasedTrial](state)
        self._turn = asyncio.Lock()
        self._calling_back = asyncio.Lock()

    async def lease(self, wait: float) -> AsyncLeasedTrial | None:
        if not self._idle.join():
            return None
        try:
            async with self._turn:
                await asyncio.sleep(0)  # other tasks may join at the same moment
                if count := self._idle.request_size():
                    await self._ask(count, wait)
                trial = self._idle.take()
                if trial is None:
                    await self.release_left()
                return trial
        finally:  # before the next task's turn, which begins at the next await
            self._idle.leave()

    async def _ask(self, count: int, wait: float) -> None:
        """Lease trials for the idle tasks; none if the run ends meanwhile."""
        asked = asyncio.create_task(self._receive(self._state.options.request(self._study._calls, count, wait)))
        try:
            await asyncio.shield(asked)
        except asyncio.CancelledError:  # the server may be issuing trials at this moment
            self._over.set()
            with suppress(AdaBKBError):
                await asked
            raise
        except (ConnectionFailed, Unavailable):
            if not self._over.is_set():  # after the end of the run, calls are not retried, so the error means nothing
                raise

    async def _receive(self, request: Steps[list[Trial]]) -> None:
        trials = await self._asked.perform(request)
        self._idle.received([AsyncLeasedTrial(self._study, each) for each in trials])

    async def release_left(self) -> None:
        """Release the trials that no task has taken before the end of the run."""
        for trial in self._idle.left():
            with suppress(AdaBKBError):
                await trial.release()

    async def release(self, trial: AsyncLeasedTrial) -> None:
        await trial.release()

    def kept(self, trial: AsyncLeasedTrial) -> AsyncLeasedTrial:
        return trial

    async def evaluate(self, trial: AsyncLeasedTrial) -> Result | Answer:
        begun, returned = monotonic(), self._evaluation.begin(trial)
        if not inspect.isawaitable(returned):
            raise WrongResult(
                f"the function must be async (async def), but it returned {returned!r}, which cannot be awaited. Use "
                "Study.run() of Client for a blocking function"
            )
        try:
            return self._evaluation.result(await _await_program(returned), trial, begun)
        except Exception as error:
            return self._evaluation.outcome_of(trial, error)

    async def observe(self, trial: AsyncLeasedTrial, result: Result) -> None:
        sent = asyncio.create_task(trial.observe(**result._asdict()))
        try:
            await asyncio.shield(sent)
        except asyncio.CancelledError:  # the evaluation is done, so its result should not be lost
            with suppress(AdaBKBError, TimeoutError):
                await asyncio.wait_for(sent, self._stop_seconds)
            raise

    async def fail(self, trial: AsyncLeasedTrial, reason: str) -> None:
        await trial.fail(reason)

    async def call_back(self, trial: Trial) -> None:
        async with self._calling_back:
            for callback in self._state.options.callbacks:
                called = callback(self._study, trial)
                if inspect.isawaitable(called):
                    await _await_program(called)

    async def active(self) -> list[Trial]:
        return [trial async for trial in self._study.trials("active")]

    async def wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), seconds)


async def _await_program(awaitable: Awaitable[T]) -> T:
    """Await an awaitable of the program.

    Raises:
        RuntimeError: it was cancelled although this task was not. Without this error, the cancellation would look like
            that of the task itself.
    """
    try:
        return await awaitable
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise RuntimeError("the function awaited something that was cancelled, although the run was not") from error


@contextmanager
def _cancelled_by_signals() -> Iterator[None]:
    """Make SIGTERM and SIGINT cancel the block, so that leases are released, and then end the program.

    As in the blocking client, this works only in the main thread of a program without its own handlers.
    ``asyncio.run`` has its own handler for SIGINT, which then stays and also cancels the block.
    """
    loop, task, received = asyncio.get_running_loop(), asyncio.current_task(), list[signal.Signals]()

    def cancel(number: signal.Signals) -> None:
        received.append(number)
        if task is not None:
            task.cancel()

    handled = []
    defaults = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    for number, default in defaults.items():
        if signal.getsignal(number) is default:
            with suppress(NotImplementedError, RuntimeError, ValueError):  # ValueError: it is not the main thread
                loop.add_signal_handler(number, cancel, number)
                handled.append(number)
    try:
        yield
    except asyncio.CancelledError:
        if not received:
            raise
        if received[0] == signal.SIGINT:
            raise KeyboardInterrupt from None
        raise SystemExit(128 + signal.SIGTERM) from None
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
