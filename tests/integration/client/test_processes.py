"""``study.run(..., processes=True)``: a function that breaks its process does not break the run."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from adabkb_client import Algorithm, Client, Float, Study, Trial, WorkerDied, WorkerLost
from tests.integration.client import objectives
from tests.integration.client.leases import LEASE_SECONDS, wait_for_renewal
from tests.waiting import wait_for

BUDGET = 6


@pytest.fixture
def study(client: Client) -> Study:
    random: Algorithm = {"kind": "random"}  # no model, which a run has no use for
    return client.create_study("s", {"x": Float(0, 1)}, direction="maximize", budget=BUDGET, seed=1, algorithm=random)


def test_so_many_processes_evaluate_and_this_one_does_not(study: Study, tmp_path: Path) -> None:
    present = tmp_path / "present"
    present.mkdir()
    report = study.run(partial(objectives.in_company, present), workers=2, processes=True)
    assert (report.completed, report.failed, report.reason) == (BUDGET, 0, "budget")
    evaluators = {observation.value for observation in study.observations()}
    assert len(evaluators) == 2
    assert os.getpid() not in evaluators
    assert {observation.std_error for observation in study.observations()} == {0.5}


def test_a_function_that_crashes_the_interpreter_fails_its_trial_and_the_process_is_replaced(study: Study) -> None:
    report = study.run(objectives.crash_on_the_left, processes=True, max_failures=BUDGET)
    trials = list(study.trials())
    left = [trial for trial in trials if trial.parameters["x"] < 0.5]
    assert 0 < len(left) < BUDGET
    assert [trial for trial in trials if trial.state == "failed"] == left
    assert (report.completed, report.failed) == (BUDGET - len(left), len(left))
    assert left[0].reason == (
        f"WorkerDied: the worker process was ended by SIGSEGV while it evaluated trial {left[0].number}"
    )


@pytest.mark.long
def test_each_process_sees_one_device_before_it_imports_the_program(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    present = tmp_path / "present"
    present.mkdir()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    study.run(partial(objectives.device, present), processes=2, gpus=[3, "5"])
    assert {observation.value for observation in study.observations()} == {3.0, 5.0}
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_devices_need_processes(study: Study) -> None:
    with pytest.raises(ValueError, match="gpus needs processes, such as processes=1: the threads"):
        study.run(objectives.parabola, gpus=[0])
    with pytest.raises(ValueError, match=r"gpus must be a list of devices, such as \[0, 1\]"):
        study.run(objectives.parabola, processes=True, gpus="01")


@pytest.mark.long
def test_processes_that_die_one_after_the_other_stop_the_run(study: Study) -> None:
    with pytest.raises(WorkerLost, match="was ended by SIGKILL"):
        study.run(objectives.killed, processes=True, max_failures=2)
    assert [(trial.state, trial.attempt) for trial in study.trials()] == [("released", 2)]


def test_a_trial_whose_process_was_killed_is_issued_again(study: Study, tmp_path: Path) -> None:
    report = study.run(partial(objectives.killed_once, tmp_path / "killed"), processes=True)
    assert (report.completed, report.failed) == (BUDGET, 0)
    assert [trial.attempt for trial in study.trials()] == [2, *[1] * (BUDGET - 1)]
    assert next(iter(study.trials())).state == "completed"


@pytest.mark.long
def test_a_trial_whose_process_is_killed_in_each_attempt_fails(study: Study) -> None:
    with pytest.raises(WorkerDied, match="was ended by SIGKILL"):
        study.run(objectives.killed, processes=True, max_failures=study.info().max_attempts)
    [trial] = study.trials()
    assert (trial.state, trial.attempt) == ("failed", study.info().max_attempts)


@pytest.mark.long
def test_the_death_of_a_process_can_be_named_among_the_failures_to_continue_after(study: Study) -> None:
    report = study.run(objectives.exits, processes=True, max_failures=1, n_trials=2, catch=WorkerDied)
    assert (report.failed, report.reason) == (2, "n_trials")


@pytest.mark.long
def test_a_lease_is_renewed_although_the_function_holds_the_interpreters_lock(study: Study, tmp_path: Path) -> None:
    def let_go() -> None:
        wait_for(lambda: list(study.trials("active")))
        wait_for_renewal(study)
        pipe.open("w").close()

    os.mkfifo(pipe := tmp_path / "pipe")
    with ThreadPoolExecutor(1) as elsewhere:
        renewed = elsewhere.submit(let_go)
        held = partial(objectives.without_the_lock, pipe)
        report = study.run(held, processes=True, n_trials=1, lease_seconds=LEASE_SECONDS)
        renewed.result()
    assert report.completed == 1
    assert [event.kind for event in study.events()] == ["created", "suggested", "observed"]


def test_an_exception_arrives_as_it_was_raised_with_the_place_where(
    study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    report = study.run(objectives.divide_by_zero, processes=True, n_trials=1, catch=ZeroDivisionError)
    assert report.failed == 1
    assert "return x / 0" in caplog.text
    with pytest.raises(FileNotFoundError, match=r"missing\.csv"):
        study.run(objectives.misses_a_file, processes=True, max_failures=1)
    with pytest.raises(RuntimeError, match=r"OnTheLeft: .* is on the left, as it happens"):
        study.run(objectives.raise_what_cannot_be_pickled, processes=True, max_failures=1)


@pytest.mark.long
def test_the_trial_is_passed_to_a_process_too(study: Study) -> None:
    study.run(objectives.number_of, processes=True, n_trials=2, pass_trial=True)
    assert [trial.value for trial in study.trials()] == [
        trial.number + trial.parameters["x"] for trial in study.trials()
    ]


@pytest.mark.long
def test_attributes_set_in_a_process_reach_the_callbacks(study: Study) -> None:
    noted: list[object] = []
    study.run(
        objectives.number_of,
        processes=True,
        n_trials=1,
        pass_trial=True,
        callbacks=[lambda _, trial: noted.append(trial.attributes["process"])],
    )
    assert noted == [trial.attributes["process"] for trial in study.trials()]
    assert os.getpid() not in noted


def nested() -> Callable[[float], float]:
    return lambda x: x


@pytest.mark.parametrize("processes", [pytest.param(True, marks=pytest.mark.long), False])
def test_what_the_function_reports_itself_is_counted(study: Study, *, processes: bool) -> None:
    report = study.run(objectives.settle, processes=processes, pass_trial=True, n_trials=3)
    assert (report.completed, report.failed, report.reason) == (1, 1, "n_trials")
    assert [trial.state for trial in study.trials()] == ["completed", "failed", "released"]


@pytest.mark.long
def test_the_function_may_have_a_pool_of_processes(study: Study) -> None:
    assert study.run(objectives.sum_of_squares, processes=True, n_trials=1).completed == 1


def test_pools_of_joblib_end_with_the_run(study: Study, tmp_path: Path) -> None:
    (folder := tmp_path / "started").mkdir()
    assert study.run(partial(objectives.with_joblib, folder), processes=1, n_trials=1).completed == 1
    started = [int(file.name) for file in folder.iterdir()]
    assert len(started) == 2
    assert not any(map(is_running, started))


def test_a_crash_ends_the_programs_that_the_function_has_started(study: Study, tmp_path: Path) -> None:
    (folder := tmp_path / "started").mkdir()
    with pytest.raises(WorkerDied):
        study.run(partial(objectives.crash_with_a_child, folder), processes=1, max_failures=1)
    [started] = [int(file.name) for file in folder.iterdir()]
    wait_for(lambda: not is_running(started), seconds=20.0)


def is_running(process: int) -> bool:
    """Whether a process runs. It does not if it has ended, but was not reaped."""
    try:
        status = Path(f"/proc/{process}/stat").read_text() if Path("/proc").exists() else "(?) ?"
        os.kill(process, 0)
    except (ProcessLookupError, FileNotFoundError):
        return False
    return status.rpartition(") ")[2][0] != "Z"


@pytest.mark.parametrize("function", [lambda x: x, nested()])
def test_a_function_that_cannot_be_pickled_is_refused_before_any_trial_is_issued(
    study: Study, function: Callable[[float], float]
) -> None:
    with pytest.raises(TypeError, match="Define it at the top level of a module"):
        study.run(function, processes=True)
    assert not list(study.trials())


UNGUARDED = """
import sys
from adabkb_client import Client
from tests.integration.client.objectives import parabola
Client(sys.argv[1]).study("s").run(parabola, processes=True)
"""


@pytest.mark.long
def test_a_script_without_the_main_guard_gets_a_hint(server: str, study: Study, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    done = subprocess.run(
        [sys.executable, script, server],
        env={**os.environ, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert 'below `if __name__ == "__main__":`' in done.stderr.splitlines()[-1]
    assert not list(study.trials())


@pytest.mark.long
def test_a_program_from_standard_input_is_told_to_become_a_file(server: str, study: Study) -> None:
    done = subprocess.run(
        [sys.executable, "-", server],
        input=UNGUARDED,
        env={**os.environ, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1].endswith("from standard input has none, so save it in a file, and start that.")
    assert not list(study.trials())


TYPED = """
import sys
from adabkb_client import Client
def function(x):
    return x
Client(sys.argv[1]).study("s").run(function, processes=True)
"""


@pytest.mark.long
def test_a_function_that_a_process_cannot_load_is_refused_before_any_trial_is_issued(server: str, study: Study) -> None:
    done = subprocess.run([sys.executable, "-c", TYPED, server], capture_output=True, text=True, check=False)
    assert "WrongFunction: a worker process cannot load the function" in done.stderr
    assert not list(study.trials())


PROGRAM = """
import sys
from adabkb_client import Client
from tests.integration.client.objectives import sleep
if __name__ == "__main__":
    Client(sys.argv[1]).study("s").run(sleep, workers=2, processes=True)
"""


@pytest.mark.parametrize(
    "name", ["SIGTERM", *(pytest.param(name, marks=pytest.mark.long) for name in ("SIGINT", "SIGKILL"))]
)
def test_an_interrupted_run_gives_its_trials_back_and_leaves_no_process_behind(
    server: str, study: Study, name: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, server],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["evaluating\n"] * 2
        if name == "SIGKILL":
            process.kill()
        else:
            os.killpg(process.pid, signal.Signals[name])  # to the process group, as terminals and service managers do
        process.wait(timeout=60)
        assert process.stdout.read() == ""  # the shared pipe closes when all processes have ended
    states = [trial.state for trial in study.trials()]
    assert states == ["active" if name == "SIGKILL" else "released"] * 2


@pytest.mark.long
def test_a_process_that_is_killed_while_it_is_idle_is_replaced(study: Study) -> None:
    seen: list[int] = []

    def kill_it(_: Study, __: Trial) -> None:
        seen.append(int(study.observations()[-1].value or 0))
        os.kill(seen[-1], signal.SIGKILL)
        os.waitid(os.P_PID, seen[-1], os.WEXITED | os.WNOWAIT)  # it has ended, but is not reaped

    report = study.run(objectives.in_another_process, processes=True, n_trials=3, callbacks=[kill_it])
    assert report.completed == 3
    assert len(set(seen)) == 3
