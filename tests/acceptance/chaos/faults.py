"""The faults of servers and their database. Each is a function that injects a fault and ends it before it returns.

The available faults depend on the database. After each fault, every server must recover within ``RECOVERY_SECONDS``.
"""

from __future__ import annotations

import itertools
import os
import random
import resource
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP

from adabkb_client import AdaBKBError, Client, Float
from tests.acceptance.chaos.cluster import Cluster, Server, ServerDied
from tests.acceptance.chaos.commits import Cutter
from tests.acceptance.chaos.databases import Store

CALM_SECONDS = 2.5
"""The mean time between two faults."""
ALL_AT_ONCE = 0.25
"""Share of kills that kill all servers."""
WHILE_STARTING = 0.1
"""Share of kills that are repeated while the server starts."""
START_SECONDS = 1.5
DEAD_SECONDS = 1.0
STOPPED_SECONDS = 4.0
MODEL_STOPPED_SECONDS = 12.0
"""Suggestions wait for a model for 5 s, and these servers replace a silent model process after 8 s."""
FULL_SECONDS = 4.0
SMALL_DISK = 2**30
"""The maximum size in bytes of a disk that may be filled."""
AWAY_SECONDS = 3.0
CUT_SECONDS = 3.0
CUT_SHARE = 0.1
"""The share of commits whose connection is cut."""
RECOVERY_SECONDS = 30.0
"""After a fault, each server must commit something within this time and, if models were affected, answer from one."""


@dataclass(frozen=True)
class Site:
    """Everything that a fault can affect."""

    running: Cluster
    store: Store
    cutter: Cutter | None
    """Cuts connections to PostgreSQL."""


Fault = Callable[[Site, random.Random], int]
"""Injects a fault, and returns how often."""


def servers_killed(site: Site, dice: random.Random) -> int:
    """Kill one server or model worker, or all, with SIGKILL and start them again; sometimes kill them once more while
    they start."""
    processes = site.running.processes
    struck = processes if dice.random() < ALL_AT_ONCE else [dice.choice(processes)]
    blows = 2 if dice.random() < WHILE_STARTING else 1
    for blow in range(blows):
        if blow:
            time.sleep(dice.uniform(0.0, START_SECONDS))
        for server in struck:
            server.end(SIGKILL)
        time.sleep(dice.uniform(0.0, DEAD_SECONDS))
        for server in struck:
            server.start()
    for server in struck:
        server.wait_ready()
    return blows * len(struck)


def server_stopped(site: Site, dice: random.Random) -> int:
    """Suspend and resume a server, like a long pause of its machine. The other servers continue, and it resumes with
    old state.
    """
    server = dice.choice(site.running.processes)
    server.send(SIGSTOP)
    time.sleep(dice.uniform(0.5, STOPPED_SECONDS))
    server.send(SIGCONT)
    return 1


def model_processes_killed(site: Site, _: random.Random) -> int:
    """Kill the model processes of all servers, whatever they are doing."""
    processes = _model_processes(site)
    for process in processes:
        _signal(process, SIGKILL)
    return len(processes)


def model_processes_stopped(site: Site, dice: random.Random) -> int:
    """Suspend the model processes of all servers, for a time above or below the servers' timeout."""
    processes = _model_processes(site)
    for process in processes:
        _signal(process, SIGSTOP)
    time.sleep(dice.uniform(0.5, MODEL_STOPPED_SECONDS))
    for process in processes:
        _signal(process, SIGCONT)
    return len(processes)


def disk_full(site: Site, dice: random.Random) -> int:
    """Prevent files from growing: fill the disk of the database if it is small, otherwise limit the size of files."""
    is_small = shutil.disk_usage(site.store.folder).total <= SMALL_DISK
    with _filled(site.store.folder) if is_small else _limited(site, dice):
        time.sleep(dice.uniform(0.5, FULL_SECONDS))
    return 1


def postgresql_restarted(site: Site, dice: random.Random) -> int:
    """Stop PostgreSQL, in half of the cases without a clean shutdown, and start it again."""
    assert site.store.postgresql is not None
    site.store.postgresql.restart(dice.choice(["immediate", "fast"]), dice.uniform(0.0, AWAY_SECONDS))
    return 1


def commits_cut(site: Site, dice: random.Random) -> int:
    """Cut connections to PostgreSQL during COMMIT."""
    assert site.cutter is not None
    before = site.cutter.cut(CUT_SHARE)
    time.sleep(dice.uniform(0.5, CUT_SECONDS))
    return site.cutter.cut(0.0) - before


OF_SERVERS: dict[Fault, int] = {servers_killed: 10, server_stopped: 2}
OF_MODELS: dict[Fault, int] = {model_processes_killed: 2, model_processes_stopped: 2}
ON_SQLITE: dict[Fault, int] = {disk_full: 2}
ON_POSTGRESQL: dict[Fault, int] = {postgresql_restarted: 2, commits_cut: 2}
"""Faults by weight."""


class FaultSchedule:
    """Injects one fault after the other, and checks that the servers recover from each.

    Args:
        site: what the faults affect.
        once: whether to inject every kind of fault once, in random order; otherwise, faults are drawn by weight without
            end.
        recovery_seconds: the time within which a server must recover from a fault.
    """

    def __init__(self, site: Site, once: bool = False, recovery_seconds: float = RECOVERY_SECONDS) -> None:
        self._recovery_seconds = recovery_seconds
        self.counts: Counter[str] = Counter()
        self.longest_recovery = 0.0
        self._site = site
        self._once = once
        self._budgets = itertools.count(1)

    @property
    def kills(self) -> int:
        """The number of kills of servers."""
        return self.counts[_name(servers_killed)]

    def run(self, dice: random.Random, over: threading.Event) -> None:
        """Inject faults until the run is over or no fault is left; all servers have recovered then.

        Raises:
            ServerDied: a server ended without having been killed, did not start or did not recover in time.
        """
        for fault in self._faults(dice):
            if over.wait(dice.expovariate(1 / CALM_SECONDS)):
                return
            self.counts[_name(fault)] += fault(self._site, dice)
            ended = time.monotonic()
            self._site.running.check_alive()
            for server in self._site.running.servers:
                self._check_at_work(server, fault)
            self.longest_recovery = max(self.longest_recovery, time.monotonic() - ended)

    def _faults(self, dice: random.Random) -> Iterator[Fault]:
        mix = {**OF_SERVERS, **OF_MODELS, **(ON_POSTGRESQL if self._site.store.postgresql else ON_SQLITE)}
        if self._once:
            yield from dice.sample(list(mix), len(mix))
        else:
            while True:
                yield from dice.choices(list(mix), list(mix.values()))

    def _check_at_work(self, server: Server, fault: Fault) -> None:
        """Make a server commit something in a separate study and, after a fault of models, query its model."""
        try:
            with Client(server.url, timeout=self._recovery_seconds, retry_for=self._recovery_seconds) as client:
                study = client.create_study("recovery", {"x": Float(0, 1)}, direction="minimize")
                study.update(budget=next(self._budgets))
                if fault in OF_MODELS:
                    study.predict([{"x": 0.5}])
        except AdaBKBError as error:
            raise ServerDied(
                f"the server on port {server.port} was not at work again after {_name(fault)}: {error}"
            ) from error


def _name(fault: Fault) -> str:
    return fault.__name__.replace("_", " ")


def _model_processes(site: Site) -> list[int]:
    """The model processes of all servers; a server that computes models itself has none."""
    return [process for server in site.running.processes for process in server.model_processes()]


def _signal(process: int, number: int) -> None:
    with suppress(ProcessLookupError):  # it has ended by itself, or its server has replaced it
        os.kill(process, number)


@contextmanager
def _filled(folder: Path) -> Iterator[None]:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    yield
    filler.unlink()


@contextmanager
def _limited(site: Site, dice: random.Random) -> Iterator[None]:
    """Limit the size of files to a position in the write-ahead log, so that a transaction may be half written."""
    log = site.store.folder / "adabkb.db-wal"
    _limit_files(site, dice.randint(1, max(log.stat().st_size, 1) if log.exists() else 1))
    yield
    _limit_files(site, resource.RLIM_INFINITY)


def _limit_files(site: Site, size: int) -> None:
    for server in site.running.processes:
        for process in server.processes():
            with suppress(ProcessLookupError):
                resource.prlimit(process, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
