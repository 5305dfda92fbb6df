"""The progress output of a run."""

import io
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from adabkb_client import Client, Float, LeasedTrial, MedianRule, PatienceRule, Study
from adabkb_client._run.options import Options
from adabkb_client._run.progress import Progress, StudyProgress
from adabkb_client._run.run_state import RunState
from tests.waiting import TIMEOUT_SECONDS, wait_for

OPTIONS = Options(
    n_trials=None,
    timeout=None,
    workers=2,
    callbacks=(),
    catch=(),
    pass_trial=False,
    max_failures=5,
    progress=False,
    lease_seconds=120.0,
    fixed=None,
)


@pytest.fixture
def study(client: Client) -> Study:
    return client.create_study("s", {"x": Float(0, 1)}, direction="maximize", budget=3, seed=1)


def test_each_result_is_one_line_of_the_log(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "adabkb_client")
    values = iter([0.5, 0.25, 0.75])
    study.run(lambda **_: next(values))
    assert [record.message for record in caplog.records] == [
        "trial 1: 0.5, best 0.5, 1 of 3",
        "trial 2: 0.25, best 0.5, 2 of 3",
        "trial 3: 0.75, best 0.75, 3 of 3",
    ]


def test_answers_in_another_order_never_decrease_the_progress(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    """Threads may receive the answers of the server in another order."""
    caplog.set_level("INFO", "adabkb_client")
    first, second = study.suggest(2)
    answers = [study.observe(first, 0.25), study.observe(second, 0.75)]
    with Progress("s", 3, StudyProgress(0, 0, None), visible=False) as shown:
        state = RunState("s", OPTIONS, shown, threading.Event())
        for answer in reversed(answers):
            state.count(answer)
        state.count(study.observe(study.suggest(), 0.5))
    assert [record.message for record in caplog.records] == [
        "trial 2: 0.75, best 0.75, 2 of 3",
        "trial 1: 0.25, best 0.75, 2 of 3",
        "trial 3: 0.5, best 0.75, 3 of 3",
    ]


def test_with_early_stopping_a_line_has_no_total_as_stopped_trials_count_less(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    rule = MedianRule(9)
    study = client.create_study("e", {"x": Float(0, 1)}, direction="maximize", budget=3, early_stopping=rule)
    caplog.set_level("INFO", "adabkb_client")
    study.run(lambda **_: 0.5, n_trials=1)
    assert [record.message for record in caplog.records] == ["trial 1: 0.5, best 0.5, 1 finished"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_counts_trials_that_fail_or_are_stopped(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def function(trial: LeasedTrial) -> None:
        if trial.number == 1:
            raise ArithmeticError
        if trial.number == 2:
            trial.fail("no convergence")
            return
        step = 1
        while not trial.report(step, 0.5):
            step += 1
        if trial.number == 4:
            raise ArithmeticError

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    rule = PatienceRule(9, no_gain_for=2)
    study = client.create_study("e", {"x": Float(0, 1)}, direction="maximize", budget=9, early_stopping=rule)
    report = study.run(function, pass_trial=True, n_trials=5, max_failures=9)
    assert (report.completed, report.failed, report.stopped) == (0, 2, 3)
    shown = re.findall(r"e: (\d+)trial .*?failed=(\d+)", terminal.getvalue())
    assert list(dict.fromkeys(shown)) == [("0", "0"), ("1", "1"), ("2", "2"), ("3", "2"), ("4", "2"), ("5", "2")]


def test_a_run_of_a_complete_study_logs_why_it_does_nothing(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    study.run(lambda x: x)
    caplog.clear()
    caplog.set_level("INFO", "adabkb_client")
    assert study.run(lambda x: x, workers=2).completed == 0
    (said,) = [record.message for record in caplog.records]
    assert said.startswith("study 's' issues no trial (budget): its budget is used up; raise it with study.update(")


PROGRAM = """
import sys, logging
from adabkb_client import Client
if sys.argv[2] == "own":
    logging.basicConfig(level=logging.WARNING)
if sys.argv[2] == "level":
    logging.getLogger("adabkb_client").setLevel(logging.WARNING)
with Client(sys.argv[1]) as client:
    client.study("s").run(lambda x: x, progress=sys.argv[2] != "silent")
"""


@pytest.mark.parametrize(
    ("mode", "lines"),
    [("usual", 3), *(pytest.param(mode, 0, marks=pytest.mark.long) for mode in ("silent", "own", "level"))],
)
def test_without_a_terminal_each_result_is_one_line_on_standard_error(
    server: str, study: Study, mode: str, lines: int
) -> None:
    """Unless the program disables it or has set up logging."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, server, mode], capture_output=True, text=True, check=True)
    assert len(done.stderr.splitlines()) == lines
    assert done.stderr.count(" of 3\n") == lines
    assert study.info().state == "complete"


def test_a_run_names_the_worker_that_it_waits_for(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "adabkb_client")
    held = study.suggest(worker="node7:123")
    assert held.leased_until is not None

    def waits() -> list[str]:
        said = [record.getMessage() for record in caplog.records]  # another thread may not have set ``message`` yet
        return [each for each in said if each.startswith("waiting")]

    def tell() -> None:
        wait_for(waits)
        study.observe(held, 0.0)

    with ThreadPoolExecutor(1) as elsewhere:
        told = elsewhere.submit(tell)
        study.run(lambda x: x)
        told.result()
    assert waits() == [
        f"waiting for trial 1 (held by node7:123 until {held.leased_until.astimezone():%H:%M}); "
        "study.release(number) releases a trial that is not being evaluated"
    ]


def test_a_run_says_that_it_waits_for_a_trial_of_the_same_process(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """The program has leased it before the run, so that nobody evaluates it."""
    study = client.create_study("held", {"x": Float(0, 1)}, direction="maximize", budget=1)
    held = study.suggest()
    caplog.set_level("INFO", "adabkb_client")
    assert study.run(lambda x: x, timeout=1.0).reason == "timeout"
    (said,) = [record.message for record in caplog.records if record.message.startswith("waiting")]
    assert said.startswith(f"waiting for trial 1 (held by {held.worker} until ")


def test_a_trial_that_was_issued_twice_counts_once(client: Client) -> None:
    """Both evaluations return a result, the first one after the second one has begun."""
    study = client.create_study("twice", {"x": Float(0, 1)}, direction="maximize", budget=1)
    again = threading.Event()

    def function(trial: LeasedTrial) -> float:
        if trial.trial.attempt == 1:
            study.release(trial.number)
            assert again.wait(TIMEOUT_SECONDS)
        else:
            again.set()
            wait_for(lambda: study.info().counts.completed == 1)
        return 0.5

    report = study.run(function, workers=2, pass_trial=True)
    assert len(study.observations()[:]) == 2
    assert report.completed == 1


def test_a_run_does_not_wait_for_itself(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    study = client.create_study("one", {"x": Float(0, 1)}, direction="maximize", budget=1)

    def function(x: float) -> float:
        """Return once the other worker, which got no trial, has requested the active trials."""
        wait_for(lambda: any("state=active" in record.getMessage() for record in caplog.records))
        return x

    assert study.run(function, workers=2, progress=False).completed == 1
    assert not [record.message for record in caplog.records if record.message.startswith("waiting for")]
