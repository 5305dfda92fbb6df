"""One run: servers on one database, clients and faults; then recovery, and the check."""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from adabkb_client import Client
from tests.acceptance.chaos.aftermath import finish, replay
from tests.acceptance.chaos.board import Board, Plan
from tests.acceptance.chaos.check import check
from tests.acceptance.chaos.cluster import Cluster, ServerDied, cluster
from tests.acceptance.chaos.commits import cutter
from tests.acceptance.chaos.databases import Setup, Store
from tests.acceptance.chaos.faults import RECOVERY_SECONDS, FaultSchedule, Site
from tests.acceptance.chaos.ledger import Books, Kind
from tests.acceptance.chaos.proxy import proxy
from tests.acceptance.chaos.worker import Worker

RETURN_SECONDS = 120.0
"""Seconds within which the clients must end once the faults have ended."""
PATIENT, IMPATIENT = 60.0, 1.0
"""Seconds for which a client repeats a call. Every fourth client gives up soon, and does not know the outcome."""


@dataclass(frozen=True)
class RunPlan:
    """The plan of a run. It ends after a number of kills and of answered operations, after a time, or after the last
    fault."""

    clients: int = 64
    kills: int = 200
    operations: int = 100_000
    seconds: float = float("inf")
    seed: int = 1
    studies: int = 8
    """Number of current studies at any time."""
    budgets: range = range(100, 301)
    replays: int = 10
    """Number of studies to replay."""
    rest: float = 0.0
    """Mean seconds between two operations of a client."""
    once: bool = False
    """Whether each kind of fault is injected once, and the run ends after the last one."""
    recovery_seconds: float = RECOVERY_SECONDS
    """Seconds within which a server must recover from a fault."""
    return_seconds: float = RETURN_SECONDS
    """Seconds within which the calls of all clients must end after the faults."""


@dataclass
class Outcome:
    """The outcome of a run."""

    seconds: float = 0.0
    """Duration of the part with faults."""
    kills: int = 0
    answered: int = 0
    """The number of answered operations, which the plan limits."""
    operations: Counter[Kind] = field(default_factory=Counter)
    """All, by kind."""
    fates: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    """All, by kind: those of the schedule and those of the proxy."""
    longest_recovery: float = 0.0
    """The longest time in seconds from a fault until all servers had recovered."""
    studies: int = 0
    trials: int = 0
    observations: int = 0
    events: Counter[str] = field(default_factory=Counter)
    longest_silence: float = 0.0
    violations: list[str] = field(default_factory=list)


Progress = Callable[[float, int, int], None]
"""Called with the seconds, the kills and the operations so far."""


def run(store: Store, setup: Setup, plot: RunPlan, progress: Progress = lambda *_: None) -> Outcome:
    """Run the clients and the faults, then check."""
    outcome = Outcome()
    board = Board(plot.studies, plot.seed, plot.budgets)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cutting = stack.enter_context(cutter(store.url, plot.seed)) if store.postgresql else None
        url = cutting.url if cutting else store.url
        running = stack.enter_context(cluster(url, setup.servers, setup.model_workers, folder))
        schedule = FaultSchedule(Site(running, store, cutting), plot.once, plot.recovery_seconds)
        try:
            books = _storm(running, schedule, board, plot, outcome, progress)
            with Client(running.servers[0].url) as client:
                created = _look(client, board, books, outcome)
            outcome.violations += replay(store.url, created, random.Random(plot.seed), plot.replays)
            running.check_alive()
        except ServerDied as death:
            outcome.violations.append(str(death))
        outcome.violations += running.complaints()
    return outcome


def _storm(
    running: Cluster, schedule: FaultSchedule, board: Board, plot: RunPlan, outcome: Outcome, progress: Progress
) -> Books:
    """Run the clients while faults are injected.

    Raises:
        ServerDied: a server ended by itself, or did not recover from a fault.
    """
    started = time.monotonic()
    calm, home = threading.Event(), threading.Event()
    with proxy([server.port for server in running.servers], plot.seed) as spoiler:
        workers = [
            Worker(index, spoiler.url, board, plot.seed, IMPATIENT if index % 4 == 3 else PATIENT, plot.rest)
            for index in range(plot.clients)
        ]
        books = Books([worker.ledger for worker in workers])
        with ThreadPoolExecutor(plot.clients + 1) as pool:
            nemesis = pool.submit(schedule.run, random.Random(plot.seed), calm)
            clients = [pool.submit(worker.work, home) for worker in workers]
            while not nemesis.done() and not _enough(plot, time.monotonic() - started, schedule, books):
                time.sleep(0.5)
                progress(time.monotonic() - started, schedule.kills, books.answered)
            outcome.seconds = time.monotonic() - started
            calm.set()
            death = nemesis.exception()
            outcome.faults = schedule.counts + spoiler.calm()
            home.set()
            late = wait(clients, plot.return_seconds).not_done
    outcome.kills, outcome.longest_recovery = schedule.kills, schedule.longest_recovery
    outcome.answered = books.answered
    outcome.operations, outcome.fates = books.operations, books.fates
    outcome.longest_silence = books.longest_silence()
    outcome.violations += books.surprises
    if late:
        outcome.violations.append(
            f"calls of {len(late)} clients had not ended {plot.return_seconds:.0f} s after the storm"
        )
    if death:
        raise death
    return books


def _enough(plot: RunPlan, seconds: float, schedule: FaultSchedule, books: Books) -> bool:
    reached = not plot.once and schedule.kills >= plot.kills and books.answered >= plot.operations
    return reached or seconds >= plot.seconds


def _look(client: Client, board: Board, books: Books, outcome: Outcome) -> list[Plan]:
    """Compare the stored data with the clients' records, for the studies that exist: the last ones may not have been
    created."""
    there = {info.id for info in client.studies()}
    outcome.violations += [
        f"an acknowledged study is lost: {entry}" for entry in books.created() if entry.study not in there
    ]
    plans = [plan for plan in board.plans if plan.id in there]
    finisher, records = finish(client, plans)
    outcome.violations += finisher.surprises
    entries = Books([*books.ledgers, finisher]).by_study()
    for plan, record in zip(plans, records, strict=True):
        outcome.violations += check(record, entries[plan.id], plan)
        outcome.trials += len(record.trials)
        outcome.observations += len(record.observations)
        outcome.events.update(event.kind for event in record.events)
    outcome.studies = len(plans)
    return plans
