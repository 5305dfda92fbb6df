"""The loop of a worker, which evaluates trials until the run is over, for both threads and tasks.

All blocking steps are methods of a ``WorkerIO``. In a task, they await. In a thread, they block and never suspend, so
``blocking`` can run the same coroutines.
"""

from collections.abc import Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Protocol, TypeVar

from adabkb_client._records import Answer, Trial
from adabkb_client._run.evaluation import Result
from adabkb_client._run.run_state import FINISHED, RunState
from adabkb_client._trial_calls import MISTAKES, MISTAKES_AT_FIRST, Leased, in_words
from adabkb_client.errors import Conflict, NoTrialAvailable, StudyComplete, WorkerLost

WAIT_SECONDS = 5.0
"""Seconds for which the server may wait for a trial. A thread that waits for the answer cannot be interrupted, so the
end of a run, as by Ctrl-C, takes at most this long."""
NO_POINT = ("fixed_exhausted", "no_plate_left")
"""Reasons for which the study issues no more points with the values of ``fixed`` and ``context``."""

T = TypeVar("T")
L = TypeVar("L", bound=Leased)


class WorkerIO(Protocol[L]):
    """The blocking steps of a worker."""

    async def lease(self, wait: float) -> L | None:
        """Request a trial, for which the server may wait; None if this run needs no further one."""

    async def release(self, trial: L) -> None:
        """Release a trial."""

    def kept(self, trial: L) -> AbstractAsyncContextManager[object]:
        """Return a context manager that renews the lease, and reports an outcome of the trial at its end."""

    async def evaluate(self, trial: L) -> Result | Answer:
        """Call the function."""

    async def observe(self, trial: L, result: Result) -> None:
        """Report a result."""

    async def fail(self, trial: L, reason: str) -> None:
        """Report a failure."""

    async def call_back(self, trial: Trial) -> None:
        """Run the callbacks, one at a time."""

    async def active(self) -> Sequence[Trial]:
        """Return the active trials."""

    async def wait(self, seconds: float) -> None:
        """Wait, but no longer than the run lasts."""


async def work(state: RunState, io: WorkerIO[L]) -> None:
    """Evaluate trials, one after the other, until the study or the run is over."""
    wait = 0.0
    while state.may_take():
        try:
            trial = await io.lease(wait)
        except StudyComplete as end:
            state.complete(end)
        except NoTrialAvailable as none:
            if none.reason in NO_POINT and not callable(state.options.context):
                state.end(none.reason)
                return
            await _wait(state, io, none, has_waited=bool(wait))
            wait = min(WAIT_SECONDS, state.remaining)
        else:
            wait = 0.0
            if trial is None:
                return
            try:
                await _handle(state, io, trial)
            finally:
                state.leave(trial)


async def _wait(state: RunState, io: WorkerIO[L], none: NoTrialAvailable, *, has_waited: bool) -> None:
    """Wait before the next request for a trial. If the server was allowed to wait for a trial, wait as long as its
    answer says, which is 0 s if it did wait. Otherwise do not wait here, since the server may do so in the next
    request."""
    seconds = state.pause(none)
    if state.progress.is_due():
        state.progress.waiting(none, [] if none.reason == "paused" else await _held_elsewhere(state, io))
    if has_waited:
        await io.wait(seconds)


async def _held_elsewhere(state: RunState, io: WorkerIO[L]) -> list[Trial]:
    """Return the active trials that this run does not evaluate."""
    before = state.under_way
    active = await io.active()
    own = before | state.under_way  # other workers of this run may have begun or ended a trial since
    return [trial for trial in active if (trial.number, trial.attempt) not in own]


async def _handle(state: RunState, io: WorkerIO[L], trial: L) -> None:
    try:
        async with io.kept(trial):
            await _evaluate(state, io, trial)
    except Exception as error:
        state.judge(trial, error)
    if trial.outcome is not None:
        finished = trial.outcome.trial
        if finished is not None and finished.state in FINISHED:
            await io.call_back(finished)
        state.conclude(trial.outcome)


async def _evaluate(state: RunState, io: WorkerIO[L], trial: L) -> None:
    """Evaluate a trial and report the result. After a programming error, the trial is released, so it does not count
    towards the budget."""
    try:
        await _report(state, io, trial)
    except (*MISTAKES, *MISTAKES_AT_FIRST) as error:
        if trial.outcome is None:
            if state.is_mistake(error):
                with suppress(Conflict):  # another worker has leased the trial
                    await io.release(trial)
            else:
                await io.fail(trial, in_words(error))
        raise


async def _report(state: RunState, io: WorkerIO[L], trial: L) -> None:
    try:
        result = await io.evaluate(trial)
    except WorkerLost:  # not raised by the function, so ``catch`` does not apply
        raise
    except state.options.catch as error:
        if trial.outcome is None:  # the function may have reported the failure itself
            await io.fail(trial, in_words(error))
        state.caught(trial, error)
    else:
        if isinstance(result, Answer):  # the function, perhaps in another process, has reported it
            trial.outcome = result
        else:
            await io.observe(trial, result)
        state.count(trial.outcome)


def blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, because everything that it awaits blocks instead."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("the coroutine has suspended")
