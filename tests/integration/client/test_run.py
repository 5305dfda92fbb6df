"""``study.run`` uses exactly the budget, whatever evaluations, workers and the server do."""

import math
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from adabkb_client import Algorithm, Client, ConnectionFailed, Float, Study, StudyComplete
from tests.integration.client.faults import Proxy, proxy
from tests.waiting import wait_for

BUDGET = 12


@pytest.fixture
def study(client: Client) -> Study:
    random: Algorithm = {"kind": "random"}  # no model, which a run has no use for
    return client.create_study("s", {"x": Float(0, 1)}, direction="maximize", budget=BUDGET, seed=1, algorithm=random)


def parabola(x: float) -> float:
    return -((x - 0.3) ** 2)


def test_four_workers_use_exactly_the_budget_on_different_points(study: Study) -> None:
    points: list[float] = []
    together = threading.Barrier(4, timeout=60)

    def function(x: float) -> float:
        points.append(x)
        together.wait()  # passes only if four evaluations are under way at once
        return parabola(x)

    report = study.run(function, workers=4)
    assert (report.completed, report.failed, report.reason) == (BUDGET, 0, "budget")
    assert len(points) == BUDGET
    assert len(set(points[:4])) == 4
    assert report.recommendation.observed == study.best()
    with pytest.raises(StudyComplete):
        study.suggest()


def test_two_runs_at_once_share_the_budget(study: Study) -> None:
    reports = []
    other = threading.Thread(target=lambda: reports.append(study.run(parabola, workers=2)))
    other.start()
    reports.append(study.run(parabola, workers=2))
    other.join()
    assert sum(report.completed for report in reports) == BUDGET
    assert study.info().counts.completed == BUDGET


def test_a_standard_error_can_come_with_the_value(study: Study) -> None:
    study.run(lambda x: {"value": parabola(x), "std_error": 0.125})
    assert {observation.std_error for observation in study.observations()} == {0.125}


def test_failures_are_recorded_and_do_not_stop_the_run(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    calls = iter(range(BUDGET))

    def function(x: float) -> float:
        match next(calls) % 4:
            case 0:
                raise ZeroDivisionError("unlucky")
            case 1:
                return math.nan
            case _:
                return parabola(x)

    report = study.run(function)
    assert (report.completed, report.failed) == (6, 6)
    reasons = {trial.reason for trial in study.trials(state="failed")}
    assert len(reasons) == 2
    assert "ZeroDivisionError: unlucky" in reasons
    assert "unlucky" in caplog.text


def test_failures_in_a_row_stop_the_run_with_the_last_error(study: Study) -> None:
    def function(x: float) -> float:
        raise ZeroDivisionError(f"at {x}")

    with pytest.raises(ZeroDivisionError) as caught:
        study.run(function, workers=2, max_failures=3)
    assert "3 failures in a row" in caught.value.__notes__[0]
    assert 3 <= study.info().counts.failed <= 4


def test_the_run_waits_for_results_of_others_and_ends_with_the_study(study: Study) -> None:
    held = study.suggest()
    timer = threading.Timer(1.0, study.observe, (held, 0.0))
    timer.start()
    report = study.run(parabola, workers=2)
    timer.join()
    assert report.completed == BUDGET - 1
    assert study.info().state == "complete"


def test_a_study_deleted_under_a_run_ends_it(client: Client, study: Study) -> None:
    def function(x: float) -> float:
        client.delete_study("s")
        return parabola(x)

    with pytest.raises(Exception, match="404"):
        study.run(function)


PROGRAM = """
import sys, time
from adabkb_client import Client
def function(x):
    print("evaluating", flush=True)
    time.sleep(60)
with Client(sys.argv[1]) as client:
    client.study("s").run(function, workers=2)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_an_interrupted_run_gives_all_its_trials_back(server: str, study: Study, number: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, server], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["evaluating\n"] * 2
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert [trial.state for trial in study.trials()] == ["released", "released"]
    line, *traceback = said.splitlines()
    said = "the run was interrupted, and 2 trials were released. To continue, start the program again."
    assert line.endswith(f"study 's': {said}")
    assert len(traceback) < 10  # without the frames of this client's waits


RETURNS_AFTER_THE_END = """
import signal, sys, threading, time
from adabkb_client import Client
def function(x):
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    over.wait()
    return 0.5
over = threading.Event()
with Client(sys.argv[1]) as client:
    try:
        client.study("s").run(function)
    except KeyboardInterrupt:
        over.set()
        while client.study("s").info().counts.completed == 0:
            time.sleep(0.02)
"""


def test_a_result_that_comes_after_an_interrupt_is_stored(server: str, study: Study) -> None:
    """As in a notebook, where the process and the function's thread continue."""
    subprocess.run([sys.executable, "-c", RETURNS_AFTER_THE_END, server], check=True, timeout=60, capture_output=True)
    assert [trial.state for trial in study.trials()] == ["completed"]


SIGNALLED = """
import signal, sys, threading, time
from adabkb_client import Client
def function(x):
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    time.sleep(60)
with Client(sys.argv[1]) as client:
    client.study("s").run(function)
"""


@pytest.mark.long
def test_a_signal_that_another_thread_receives_ends_the_run_too(server: str, study: Study) -> None:
    done = subprocess.run([sys.executable, "-c", SIGNALLED, server], check=False, timeout=60, stderr=subprocess.DEVNULL)
    assert done.returncode == 128 + signal.SIGTERM
    assert [trial.state for trial in study.trials()] == ["released"]


@pytest.mark.long
def test_a_trial_received_at_the_end_is_released(study: Study, faulty: Proxy) -> None:
    faulty.faults.extend([None, None, "slow"])  # the study, its budget, the first trial
    command = [sys.executable, "-c", PROGRAM, faulty.url]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: list(study.trials()))
        process.send_signal(signal.SIGTERM)
        faulty.go_on.set()
        process.wait(timeout=60)
    assert {trial.state for trial in study.trials()} == {"released"}


def test_trials_received_together_at_the_end_are_released(study: Study, faulty: Proxy) -> None:
    """One thread asks for all idle ones. After a signal, none of them takes a trial of the answer."""
    faulty.faults.extend([None, None, "slow", "slow"])  # the study, its budget, a first trial, trials for the others
    command = [sys.executable, "-c", PROGRAM.replace("workers=2", "workers=5"), faulty.url]
    environment = {**os.environ, "ADABKB_STOP_SECONDS": "0.1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(lambda: list(study.trials()))
        first, faulty.go_on = faulty.go_on, threading.Event()
        first.set()  # by now, the other threads wait while the first one asks
        wait_for(lambda: len(list(study.trials())) == 5)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert "interrupt again to end at once" in process.stderr.readline()  # so it has handled the signal
        faulty.go_on.set()
        process.stderr.read()
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert {trial.state for trial in study.trials()} == {"released"}


@pytest.mark.long
def test_a_trial_received_long_after_the_end_is_released(study: Study, faulty: Proxy) -> None:
    faulty.faults.extend([None, None, "slow"])  # the study, its budget, the first trial
    environment = {**os.environ, "ADABKB_STOP_SECONDS": "0.1"}
    command = [sys.executable, "-c", PROGRAM, faulty.url]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: list(study.trials()))
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert "interrupt again to end at once" in process.stderr.readline()
        faulty.go_on.set()
        assert "and 1 trial was released. To continue" in process.stderr.read()
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert [trial.state for trial in study.trials()] == ["released"]


@pytest.mark.long
def test_a_second_signal_does_not_interrupt_the_releases(study: Study, faulty: Proxy) -> None:
    """As with Ctrl-C, if a program that started this one forwards it."""
    faulty.faults.extend([None] * 4)  # the study, its budget, two trials
    faulty.faults.append("late")
    command = [sys.executable, "-c", PROGRAM, faulty.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["evaluating\n"] * 2
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: faulty.keys("/release"))
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        faulty.go_on.set()
        process.wait(timeout=60)
    assert [trial.state for trial in study.trials()] == ["released", "released"]


RETURNS_AT_ONCE = """
import sys
from adabkb_client import Client
with Client(sys.argv[1]) as client:
    client.study("s").run(lambda x: x)
"""


@pytest.mark.long
def test_a_result_that_is_being_sent_at_the_end_is_awaited(study: Study, faulty: Proxy) -> None:
    faulty.faults.extend([None, None, None, "slow"])  # the study, its budget, the first trial, its result
    with subprocess.Popen([sys.executable, "-c", RETURNS_AT_ONCE, faulty.url], stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: list(study.trials("completed")))
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        faulty.go_on.set()
        process.wait(timeout=60)
    assert not faulty.keys("/release")


class Server:
    """A server process that can be killed and restarted. It computes models itself."""

    def __init__(self, database: str) -> None:
        self.database = database
        self.start()

    def start(self) -> None:
        command = [str(Path(sys.executable).with_name("adabkb")), "serve", "--port", "0", "--database", self.database]
        environment = {**os.environ, "ADABKB_MODEL_PROCESSES": "0"}
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]

    def kill(self) -> None:
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def mortal(other_sqlite: str) -> Iterator[Server]:
    server = Server(other_sqlite)
    yield server
    server.kill()


def test_a_server_killed_in_the_middle_of_a_run_loses_nothing(mortal: Server) -> None:
    """It is restarted at another port behind a proxy, so that its address for the client stays the same."""
    with proxy(mortal.url) as door, Client(door.url) as client:
        study = client.create_study("s", {"x": Float(0, 1)}, direction="maximize", budget=BUDGET, seed=1)
        lock = threading.Lock()
        values: list[float] = []
        restarted: list[Future[None]] = []

        def restart(before: int) -> None:
            wait_for(lambda: len(door.sent) > before)  # a request has failed
            mortal.start()
            door.upstream = mortal.url

        def function(x: float) -> float:
            with lock:
                values.append(parabola(x))
                if len(values) == 5:
                    mortal.kill()
                    restarted.append(elsewhere.submit(restart, len(door.sent)))
            return parabola(x)

        with ThreadPoolExecutor(1) as elsewhere:
            report = study.run(function, workers=2)
        restarted[0].result()
        assert (report.completed, report.failed) == (BUDGET, 0)
        assert Counter(observation.value for observation in study.observations()) == Counter(values)
        assert [trial.state for trial in study.trials()] == ["completed"] * BUDGET


@pytest.mark.long
def test_a_server_that_stays_away_ends_the_run_with_the_connections_error(mortal: Server) -> None:
    with Client(mortal.url, retry_for=0.5) as client:
        study = client.create_study("s", {"x": Float(0, 1)}, direction="maximize", budget=BUDGET, seed=1)

        def function(x: float) -> float:
            mortal.kill()
            return parabola(x)

        with pytest.raises(ConnectionFailed):
            study.run(function)
