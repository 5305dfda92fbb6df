"""A client of the chaos run: it works like a normal worker, and also makes every mistake that workers can make."""

from __future__ import annotations

import random
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from adabkb_client import Answer, Client, Parameters, ResultItem, Study, Trial
from tests.acceptance.chaos.board import EDITED, MAX_STEPS, Board, Plan, objective
from tests.acceptance.chaos.ledger import Ledger
from tests.acceptance.chaos.session import Session

MAX_HELD = 4
"""The maximum number of trials that a worker holds."""
REMEMBERED = 20
"""The number of results that a worker may report or correct again."""
CALL_SECONDS = 10.0


@dataclass
class Job:
    """A trial that a worker holds."""

    plan: Plan
    study: Study
    trial: Trial
    step: int = 0
    """The last step whose report was sent."""


@dataclass(frozen=True)
class Reported:
    """An acknowledged result."""

    job: Job
    value: float
    observation: int


class Worker:
    """One client; ``work`` is run by one thread."""

    def __init__(self, index: int, url: str, board: Board, seed: int, patience: float, rest: float = 0.0) -> None:
        self.ledger = Ledger(f"worker-{index}")
        self._dice = random.Random(f"{seed} {index}")
        self._board = board
        self._url = url
        self._patience = patience
        self._rest = rest
        self._values = distinct_values(index)
        self._studies: dict[str, Study] = {}
        self._held: list[Job] = []
        self._failed: deque[Job] = deque(maxlen=REMEMBERED)
        self._reported: deque[Reported] = deque(maxlen=REMEMBERED)

    def work(self, over: threading.Event) -> None:
        """Perform operations until the run is over."""
        mix = {
            self._ask: 25,
            self._observe: 32,
            self._observe_many: 3,
            self._observe_again: 5,
            self._contradict: 4,
            self._add_result: 4,
            self._renew: 8,
            self._report: 12,
            self._fail: 2,
            self._retry: 1,
            self._release: 3,
            self._release_and_observe: 1,
            self._correct: 2,
            self._exclude: 1,
            self._queue: 2,
            self._pause: 0.2,
            self._edit: 2,
            self._look: 4,
            self._list: 1,
        }
        actions, weights = list(mix), list(mix.values())
        # Without an outbox, so that every request is in the worker's records.
        with Client(self._url, timeout=CALL_SECONDS, retry_for=self._patience, outbox=False) as client:
            self._session = Session(client, self.ledger)
            while not over.is_set():
                try:
                    self._dice.choices(actions, weights)[0]()
                except Exception:  # a bug of the client or of this program, which must be reported
                    self.ledger.surprises.append(f"{self.ledger.worker}: {traceback.format_exc()}")
                    over.wait(1.0)
                if self._rest:
                    over.wait(self._dice.expovariate(1 / self._rest))

    # Trials

    def _ask(self) -> None:
        if len(self._held) >= MAX_HELD:
            return
        if chosen := self._choose():
            plan, study = chosen
            made = self._session.suggest(study, self._dice.randint(1, 3))
            self._held += [Job(plan, study, trial) for trial in made.answer or ()]
            if made.over:
                self._board.complete(plan)
            elif made.reason == "paused" and self._dice.random() < 0.2:  # the worker that paused it may have given up
                self._session.resume(study)

    def _renew(self) -> None:
        if self._held:
            job = self._held[-1]
            if self._session.heartbeat(job.study, job.trial) == "refused" and self._dice.random() < 0.5:
                self._held.remove(job)  # the other half of the workers still report the result

    def _report(self) -> None:
        """Report up to three values at once. A step is never reported with two values."""
        if self._held and (job := self._held[-1]).step < MAX_STEPS:
            last = min(job.step + self._dice.randint(1, 3), MAX_STEPS)
            steps, job.step = range(job.step + 1, last + 1), last
            reports = tuple((step, self._value(job.trial.parameters)) for step in steps)
            made = self._session.report(job.study, job.trial, reports)
            if made.answer or (made.fate == "refused" and self._dice.random() < 0.5):
                self._held.remove(job)

    def _fail(self) -> None:
        if (job := self._take()) and self._session.fail(job.study, job.trial) == "acknowledged":
            self._failed.append(job)

    def _retry(self) -> None:
        if self._failed:
            job = self._failed.pop()
            self._session.retry(job.study, job.trial)

    def _release(self) -> None:
        if job := self._take():
            self._session.release(job.study, job.trial)

    def _release_and_observe(self) -> None:
        if job := self._take():
            self._session.release(job.study, job.trial)
            self._report_result(job)

    def _queue(self) -> None:
        if chosen := self._choose():
            plan, study = chosen
            self._session.queue(study, plan.point(self._dice))

    # Results

    def _observe(self) -> None:
        if job := self._take():
            self._report_result(job)

    def _observe_many(self) -> None:
        """Report a batch: the trials held in one study, a point, and an item that must be refused."""
        if not self._held:
            return
        first = self._held[-1]
        jobs = [job for job in self._held if job.study is first.study]
        self._held = [job for job in self._held if job.study is not first.study]
        point = first.plan.point(self._dice)
        contradicted = [known.job for known in self._reported if known.job.study is first.study][:1]
        items = [self._item(job) for job in (*jobs, *contradicted)]
        fates = self._session.observe_many(first.study, [*items, {"parameters": point, "value": self._value(point)}])
        for job, item, fate in zip(jobs, items, fates, strict=False):
            self._remember(job, float(item["value"]), fate.answer)

    def _add_result(self) -> None:
        if chosen := self._choose():
            plan, study = chosen
            point = plan.point(self._dice)
            self._session.add_result(study, point, self._value(point))

    def _observe_again(self) -> None:
        if known := self._recall():
            self._session.observe(known.job.study, known.job.trial, known.value)

    def _contradict(self) -> None:
        if known := self._recall():
            self._session.contradict(known.job.study, known.job.trial, self._value(known.job.trial.parameters))

    def _correct(self) -> None:
        if known := self._recall():
            self._reported.remove(known)  # only once: a late repetition of a correction must change nothing
            self._session.correct(known.job.study, known.observation, self._value(known.job.trial.parameters))

    def _exclude(self) -> None:
        if known := self._recall():
            self._session.exclude(known.job.study, known.observation)

    # The study

    def _pause(self) -> None:
        if chosen := self._choose():
            _, study = chosen
            self._session.pause(study)
            self._session.resume(study)

    def _edit(self) -> None:
        if chosen := self._choose():
            plan, study = chosen
            if plan.may_be_edited:
                self._session.edit(study, EDITED, plan.edit(self._dice))

    def _look(self) -> None:
        if chosen := self._choose():
            plan, study = chosen
            point = plan.point(self._dice)
            looks: list[Callable[[], object]] = [
                study.info,
                study.info,
                study.recommendation,
                study.model,
                lambda: study.predict([point]),
            ]
            self._session.read(study, self._dice.choice(looks))

    def _list(self) -> None:
        if chosen := self._choose():
            self._session.read_trials(chosen[1])

    def _choose(self) -> tuple[Plan, Study] | None:
        """Return one of the current studies, which is created if necessary; None if that failed."""
        plan = self._board.pick(self._dice)
        if plan.id not in self._studies:
            study = self._session.create(plan)
            if study is None:
                return None
            self._studies[plan.id] = study
        return plan, self._studies[plan.id]

    def _take(self) -> Job | None:
        """Return a trial to finish: mostly the newest, so that the leases of others expire."""
        if not self._held:
            return None
        return self._held.pop(-1 if self._dice.random() < 0.8 else 0)

    def _recall(self) -> Reported | None:
        return self._dice.choice(self._reported) if self._reported else None

    def _report_result(self, job: Job) -> None:
        value = self._value(job.trial.parameters)
        self._remember(job, value, self._session.observe(job.study, job.trial, value))

    def _remember(self, job: Job, value: float, answer: Answer | None) -> None:
        if answer is not None and answer.observation is not None:
            self._reported.append(Reported(job, value, answer.observation.seq))

    def _item(self, job: Job) -> ResultItem:
        """A trial's result as an item of a batch."""
        return {"trial": job.trial.number, "attempt": job.trial.attempt, "value": self._value(job.trial.parameters)}

    def _value(self, parameters: Parameters) -> float:
        return round(objective(parameters), 5) + next(self._values)


def distinct_values(worker: int) -> Iterator[float]:
    """Return increments for results rounded to five digits, so that no two results of any workers are equal."""
    return (number * 1e-12 for number in range(worker * 100_000, (worker + 1) * 100_000))
