"""``adabkb run``: programs in any language evaluate the trials of a study."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from adabkb_client import Bool, Categorical, Fixed, Float, Study
from adabkb_service.cli import evaluation, processes
from tests.cli.shell import adabkb
from tests.client.faults import proxy
from tests.processes import is_alive
from tests.waiting import PATIENCE, wait_for

ROOT = Path(__file__).parents[2]
ADABKB = (sys.executable, "-m", "tests.cli.patient")
Create = Callable[..., Study]


@pytest.fixture(autouse=True)
def _waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program prints is waited for to the end."""
    monkeypatch.setattr(processes, "PIPE_PATIENCE", PATIENCE)
    monkeypatch.setattr(processes, "DRAIN_PATIENCE", PATIENCE)


@pytest.fixture
def _waits_for_a_line(monkeypatch: pytest.MonkeyPatch, _waits: None) -> None:
    """What a program prints is waited for to the first line of each output, as the end may never come."""

    class Output(processes.Output):
        def wait(self, patience: float) -> None:
            wait_for(lambda: self._end)
            super().wait(patience)

    monkeypatch.setattr(evaluation, "Output", Output)
    monkeypatch.setattr(processes, "PIPE_PATIENCE", 0.1)
    monkeypatch.setattr(processes, "DRAIN_PATIENCE", 0.1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of the command."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(address: str) -> Callable[..., str]:
    """Runs a shell script for the trials of a study."""

    def run(study: Study, script: str, *options: str, code: int = 0) -> str:
        return adabkb("run", study.id, "--url", address, *options, "--", "sh", "-c", script, code=code)

    return run


Run = Callable[..., str]


@contextmanager
def started(address: str, study: Study, script: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The command as a process of its own, for what ends it."""
    command = [*ADABKB, "run", study.id, "--url", address, "--grace", str(PATIENCE), *options, "--", "sh", "-c", script]
    there = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=there, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def states(study: Study) -> list[str]:
    return [trial.state for trial in study.trials()]


def reasons(study: Study) -> list[str | None]:
    return [trial.reason for trial in study.trials()]


# What a program is told, and what it answers


def test_a_program_is_given_its_parameters_and_its_last_line_is_the_result(
    create: Create, address: str, folder: Path
) -> None:
    study = create(budget=3)
    script = folder / "train.sh"
    script.write_text('#!/bin/sh\necho "lr $2"\necho "$2 $4" >>seen\necho $4\n\n')
    script.chmod(0o755)
    said = adabkb("run", study.id, "--url", address, "--", "./train.sh", "--lr", "{lr}", "--layers", "{layers}")
    assert said.startswith(f"Study {study.id} is complete (budget); this command completed 3 trials, 0 failed. Best ")
    trials = list(study.trials())
    assert [trial.value for trial in trials] == [float(trial.parameters["layers"]) for trial in trials]
    seen = [tuple(map(float, line.split())) for line in (folder / "seen").read_text().splitlines()]
    assert seen == [(trial.parameters["lr"], trial.parameters["layers"]) for trial in trials]


def test_a_run_with_parameters_fixed_ends_when_all_their_points_are_done(create: Create, run: Run) -> None:
    study = create(parameters={"b": Bool(), "c": Categorical(["u", "v"])})
    told = run(study, "echo 1", "--fixed", "c=v", "--jobs", "2")
    assert told.startswith(f"Study {study.id} goes on; this command completed 2 trials, 0 failed.")
    assert {trial.parameters["c"] for trial in study.trials()} == {"v"}


def test_the_environment_and_the_file_have_every_parameter(create: Create, run: Run, folder: Path) -> None:
    parameters = {
        "model.lr": Float(0, 1),
        "gamma-ray": Bool(),
        "kernel": Categorical(["rbf", None, (64, 64)]),
        "data": Fixed("a b"),
    }
    study = create(parameters=parameters, budget=4)
    run(study, 'env >"$ADABKB_TRIAL.env"; cp "$ADABKB_PARAMETERS" "$ADABKB_TRIAL.json"; echo 1')
    for trial in study.trials():
        told = dict(line.partition("=")[::2] for line in (folder / f"{trial.number}.env").read_text().splitlines())
        assert json.loads((folder / f"{trial.number}.json").read_text()) == json.loads(json.dumps(trial.parameters))
        assert (told["ADABKB_STUDY"], told["ADABKB_ATTEMPT"]) == (study.id, "1")
        assert float(told["ADABKB_PARAM_model_lr"]) == trial.parameters["model.lr"]
        assert told["ADABKB_PARAM_gamma_ray"] == json.dumps(trial.parameters["gamma-ray"])
        assert told["ADABKB_PARAM_kernel"] in ("rbf", "null", "[64, 64]")
        assert told["ADABKB_PARAM_data"] == "a b"
        assert told["ADABKB_URL"].startswith("http://127.0.0.1:")
        assert not Path(told["ADABKB_PARAMETERS"]).exists(), "the folder of a trial is removed"


@pytest.mark.parametrize(
    ("script", "options", "value", "std_error"),
    [
        ("echo 0.5; echo; echo '  '", (), 0.5, None),
        ("echo 1e-3", (), 0.001, None),
        ("""echo '{{"value": 2, "std_error": 0.25}}'""", (), 2, 0.25),
        ("""echo '{{"value": 2, "std_error": null}}'""", (), 2, None),
        ('echo 7; echo 0.5 >"$ADABKB_RESULT"', (), 0.5, None),
        ("""echo '{{"value": 2, "std_error": 0.25}}' >"$ADABKB_RESULT"; echo done""", (), 2, 0.25),
        ("echo 'acc=1 loss=9'; echo 'acc=2 loss=8'; echo bye", ("--pattern", r"acc=(\d+)"), 2, None),
        ("yes | head -c 3000000; echo; echo 5", (), 5, None),
        ("exec bash -c 'exec > >(sleep 0.2; tee -a /dev/null) 2>&1; echo 5'", (), 5, None),
    ],
)
def test_a_result_is_a_number_or_json_wherever_it_is(
    create: Create, run: Run, script: str, options: tuple[str, ...], value: float, std_error: float | None
) -> None:
    study = create(budget=1)
    run(study, script, *options)
    [observation] = study.observations()
    assert (observation.value, observation.std_error) == (value, std_error)


def test_a_program_reports_its_steps_and_is_ended_when_its_trial_is_stopped(
    create: Create, run: Run, folder: Path
) -> None:
    """The second trial is worse, is told to end by SIGTERM, and what it answers then is of no consequence."""
    study = create(budget=2, early_stopping={"rule": "asha", "max_steps": 9})
    first = """echo 1 1 >>"$ADABKB_REPORTS"; echo '{{"step": 3, "value": 2}}' >>"$ADABKB_REPORTS"; echo 2"""
    later = """trap 'touch told; echo 9; exit 0' TERM; echo 1 0 >>"$ADABKB_REPORTS"; while true; do sleep 0.05; done"""
    said = run(study, f'if [ "$ADABKB_TRIAL" = 1 ]; then {first}; else {later}; fi', "--count", "2")
    assert "completed 1 trials, 0 failed, 1 were stopped" in said
    assert states(study) == ["completed", "stopped"]
    assert [(point.step, point.value) for point in study.curve(1)] == [(1, 1.0), (3, 2.0)]
    assert (folder / "told").exists()


def test_lines_that_are_no_reports_cost_nothing_but_themselves(create: Create, run: Run) -> None:
    study = create(budget=1)
    run(study, """printf '1 0.5\\nepoch 2\\n3 nan\\n4 0.25\\n' >"$ADABKB_REPORTS"; echo 1""")
    assert [(point.step, point.value) for point in study.curve(1)] == [(1, 0.5), (4, 0.25)]
    assert states(study) == ["completed"]


@pytest.mark.parametrize(
    ("script", "options", "reason"),
    [
        ("true", (), "its standard output is empty, and it wrote no file $ADABKB_RESULT"),
        ("echo 3 apples", (), "the last line of standard output is '3 apples', neither a number nor JSON such as"),
        ("echo true", (), "the last line of standard output is 'true', neither"),
        ("""echo '{{"value": 1, "error": 2}}'""", (), "neither a number nor JSON such as"),
        ("echo nan", (), "the value of the result is nan, not a finite number"),
        ("""echo '{{"value": "1"}}'""", (), "the value of the result is '1', not a finite number"),
        ('echo oops >"$ADABKB_RESULT"; echo 1', (), "the file $ADABKB_RESULT is 'oops', neither"),
        ("echo 1", ("--pattern", "acc=(.*)"), "nothing in the standard output matches --pattern 'acc=(.*)'"),
        ("echo first >&2; echo last words >&2; exit 3", (), "exit code 3: first\nlast words"),
        ("exit 3", (), "exit code 3, and nothing on standard error"),
        ("exec bash -c 'exec 2> >(sleep 0.2; cat >&2); echo why >&2; exit 3'", (), "exit code 3: why"),
        ("kill -KILL $$", (), "ended by SIGKILL, and nothing on standard error"),
    ],
)
def test_a_trial_without_a_result_fails_with_the_reason(
    create: Create, run: Run, script: str, options: tuple[str, ...], reason: str
) -> None:
    study = create(budget=1)
    assert "completed 0 trials, 1 failed" in run(study, script, *options)
    [told] = reasons(study)
    assert reason in (told or "")


def test_literal_braces_are_doubled(create: Create, run: Run) -> None:
    study = create(budget=1)
    run(study, """printf '%s' '{{"value": {layers}}}'""")
    assert study.best is not None
    assert study.best.value == study.best.parameters["layers"]


# Mistakes of the command cost no trial


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (["./absent.sh"], "cannot start the program './absent.sh' (No such file or directory); give its path, such as"),
        (["./plain.txt"], "cannot start the program './plain.txt' (Permission denied); make it executable: chmod +x"),
        (["./shebang"], "cannot start the program './shebang' (Exec format error); if it is a script, give its"),
        (["echo", "{rl}"], "the argument '{rl}' has {rl}, which is no parameter; the parameters are lr, layers. Write"),
        (["echo", "{lr"], "the argument '{lr' has a single brace; the parameters are lr, layers. Write {{ and }} for"),
    ],
)
def test_a_mistake_of_the_command_stops_it_at_once_and_costs_no_trial(
    create: Create, address: str, folder: Path, program: list[str], message: str
) -> None:
    (folder / "plain.txt").touch()
    (folder / "shebang").write_text("echo 1\n")
    (folder / "shebang").chmod(0o755)
    study = create(budget=2)
    assert message in adabkb("run", study.id, "--url", address, "--", *program, code=1)
    assert set(states(study)) <= {"released"}
    assert len(states(study)) <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pattern", "("), "--pattern '(' is no regular expression"),
        (("--pattern", "a"), "--pattern 'a' has 0 groups; put the result, and nothing else, into parentheses"),
        (("--logs", "/dev/null/x"), "cannot make the folder /dev/null/x"),
        (("--url", "nonsense"), "start one with: adabkb serve"),
    ],
)
def test_a_wrong_option_is_told_before_any_trial(
    create: Create, run: Run, options: tuple[str, ...], message: str
) -> None:
    study = create(budget=1)
    assert message in run(study, "echo 1", *options, code=1)
    assert states(study) == []


def test_an_unknown_study_is_named(address: str) -> None:
    said = adabkb("run", "nowhere", "--url", address, "--json", "--", "true", code=1)
    assert json.loads(said)["code"] == "study_not_found"


# How long, how many, how often


def test_a_count_and_jobs_share_a_budget_and_run_at_once(create: Create, run: Run, folder: Path) -> None:
    study = create(budget=9)
    together = "touch $ADABKB_TRIAL; while [ $(ls | wc -l) -lt 3 ]; do sleep 0.01; done; echo 1"
    said = json.loads(run(study, together, "--jobs", "3", "--count", "4", "--json"))
    assert (said["completed"], said["failed"]) == (4, 0)
    assert len(list(folder.iterdir())) == 4
    assert "goes on; this command completed 1 trials" in run(study, "echo 1", "--count", "1")


def test_a_program_that_takes_too_long_is_ended_with_its_children_and_the_trial_fails(
    create: Create, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = iter(["waits", "asked"])

    class Watch(threading.Event):
        """What waits for the end of the program: time does not run out before a file is there."""

        def wait(self, timeout: float | None = None) -> bool:
            wait_for((folder / next(files)).exists)
            return super().wait(timeout)

    monkeypatch.setattr(evaluation, "threading", SimpleNamespace(**{**vars(threading), "Event": Watch}))
    study = create(budget=1)
    script = "trap 'touch asked' TERM; sleep 3600 & echo $! >child; touch waits; wait; trap '' TERM; sleep 3600"
    run(study, script, "--timeout", "0.1", "--grace", "0.1")
    assert reasons(study) == ["no result after 0.1 seconds (--timeout)"]
    assert (folder / "asked").exists()
    assert not is_alive((folder / "child").read_text())


def test_exit_code_75_gives_the_trial_back_and_the_next_attempt_may_complete_it(create: Create, run: Run) -> None:
    study = create(budget=1)
    run(study, 'test "$ADABKB_ATTEMPT" -gt 1 || exit 75; echo 1')
    [trial] = study.trials()
    assert (trial.state, trial.attempt) == ("completed", 2)


def test_trials_that_are_always_given_back_stop_the_command(create: Create, run: Run) -> None:
    study = create(budget=3)
    said = run(study, "exit 75", "--max-failures", "2", code=1)
    assert "2 trials in a row were given back, this is the last: exit code 75" in said
    assert states(study) == ["released"]


def test_failures_in_a_row_stop_the_command_with_the_remedy(create: Create, run: Run) -> None:
    study = create(budget=9)
    said = run(study, "echo no space left >&2; exit 1", "--max-failures", "2", code=1)
    assert "stopped by 2 failures in a row, this is the last: exit code 1: no space left" in said
    assert f"adabkb retry {study.id}" in said
    assert states(study) == ["failed", "failed"]


def test_a_study_that_its_failures_paused_is_told_in_the_words_of_commands(create: Create, run: Run) -> None:
    study = create(budget=9, failure_limit=1)
    said = run(study, "exit 1", code=1)
    assert f"adabkb retry {study.id}, adabkb resume {study.id}" in said


def test_it_waits_while_the_study_is_paused_and_ends_when_told(create: Create, address: str) -> None:
    study = create(budget=2)
    study.pause()
    with started(address, study, "echo 1") as process:
        assert process.stderr is not None
        assert "paused" in process.stderr.readline()
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert states(study) == []


def test_it_waits_while_others_hold_the_last_trials(create: Create, run: Run) -> None:
    study = create(budget=2)
    held = study.suggest()
    timer = threading.Timer(0.5, study.observe, (held, 2.0))
    timer.start()
    assert "is complete (budget); this command completed 1 trials" in run(study, "echo 1")


def test_each_attempt_has_a_log_of_all_that_its_program_said(create: Create, run: Run, folder: Path) -> None:
    study = create(budget=1)
    run(study, "echo to stdout; echo to stderr >&2; echo 1", "--logs", "some/logs")
    log = (folder / f"some/logs/{study.id}-1-1.log").read_text()
    assert log.startswith("$ sh -c echo to stdout;")
    assert {"to stdout", "to stderr", "1"} <= set(log.splitlines())


# Nothing is left behind


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_goes_to_the_program_and_the_trial_is_given_back(
    create: Create, address: str, folder: Path, number: signal.Signals
) -> None:
    study = create(budget=2)
    script = "trap 'touch asked-{lr}; exit 1' HUP INT TERM; sleep 60 & echo $! >$ADABKB_TRIAL.pid; wait"
    with started(address, study, script, "--jobs", "2") as process:
        wait_for(lambda: len(list(folder.glob("*.pid"))) == 2)
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    assert len(list(folder.glob("asked-*"))) == 2
    assert states(study) == ["released", "released"]
    assert not [file for file in folder.glob("*.pid") if is_alive(file.read_text())]


@pytest.mark.parametrize("grace", ["0.2", "0"])
def test_a_program_that_does_not_end_when_told_is_killed_after_the_grace(
    create: Create, address: str, folder: Path, grace: str
) -> None:
    study = create(budget=2)
    script = "trap '' TERM; echo $$ >written; mv written pid; while :; do sleep 0.1; done"
    with started(address, study, script, "--grace", grace) as process:
        wait_for((folder / "pid").exists)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert states(study) == ["released"]
    assert not is_alive((folder / "pid").read_text())


ANSWERS_TERM = "trap 'echo 5; exit 0' TERM; touch here; while :; do sleep 0.05; done"


def test_a_result_that_a_program_still_brings_when_it_is_told_to_end_is_kept(
    create: Create, address: str, folder: Path
) -> None:
    study = create(budget=2)
    with started(address, study, ANSWERS_TERM) as process:
        wait_for((folder / "here").exists)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert study.best is not None
    assert study.best.value == 5


def test_after_a_signal_no_further_trial_is_asked_for_though_others_hold_some(
    create: Create, address: str, folder: Path
) -> None:
    study = create(budget=2)
    study.suggest()
    with proxy(address) as through, started(through.url, study, ANSWERS_TERM) as process:
        wait_for((folder / "here").exists)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert states(study) == ["active", "completed"]
    assert len(through.keys("/suggest")) == 1


def test_a_result_that_is_on_its_way_when_a_signal_comes_is_stored(create: Create, address: str, folder: Path) -> None:
    study = create(budget=2)
    script = "touch here; while [ ! -e go ]; do sleep 0.01; done; echo 5"
    with proxy(address) as faulty, started(faulty.url, study, script) as process:
        wait_for((folder / "here").exists)
        faulty.faults.append("late")
        (folder / "go").touch()
        wait_for(lambda: faulty.keys("/observe"))
        process.terminate()
        faulty.go_on.set()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert states(study) == ["completed"]
    assert not faulty.keys("/release")


def test_a_second_signal_ends_a_command_that_waits_for_an_absent_server(
    create: Create, address: str, folder: Path
) -> None:
    study = create(budget=2)
    with proxy(address) as faulty, started(faulty.url, study, ANSWERS_TERM) as process:
        wait_for((folder / "here").exists)
        faulty.faults.append(None)  # the result comes through, and nothing after it
        faulty.faults.extend(["lose request"] * 1000)
        process.terminate()
        wait_for(lambda: faulty.keys("/recommendation"))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 128 + signal.SIGTERM
    assert states(study) == ["completed"]


def test_a_program_that_somebody_else_ends_is_given_back(create: Create, run: Run) -> None:
    study = create(budget=1)
    run(study, 'test "$ADABKB_ATTEMPT" -gt 1 || kill -TERM $$; echo 1')
    [trial] = study.trials()
    assert (trial.state, trial.attempt) == ("completed", 2)


def test_after_kill_9_nothing_is_left_but_a_lease_that_runs_out(create: Create, address: str, folder: Path) -> None:
    study = create(budget=1)
    script = "dirname $ADABKB_PARAMETERS >folder; sleep 60 & echo $! >child; echo $$ >pid; wait"
    with started(address, study, script, "--lease-seconds", "1") as process:
        wait_for(lambda: (folder / "pid").exists() and (folder / "pid").read_text())
        process.kill()
        wait_for(lambda: not is_alive((folder / "pid").read_text()) and not is_alive((folder / "child").read_text()))
        wait_for(lambda: not Path((folder / "folder").read_text().strip()).exists())
    wait_for(lambda: states(study) == ["expired"])


@pytest.mark.usefixtures("_waits_for_a_line")
def test_what_a_program_has_started_does_not_outlive_it(create: Create, run: Run, folder: Path) -> None:
    study = create(budget=1)
    run(study, "sleep 3600 & echo $! >child; echo some words >&2; echo 1")
    assert states(study) == ["completed"]
    assert not is_alive((folder / "child").read_text())


@pytest.mark.usefixtures("_waits_for_a_line")
def test_a_daemon_that_holds_the_output_open_does_not_hold_up_the_result(
    create: Create, run: Run, folder: Path
) -> None:
    study = create(budget=1)
    daemon = "setsid sh -c 'echo $$ >daemon; sleep 3600' & while [ ! -s daemon ]; do sleep 0.01; done"
    run(study, f"{daemon}; echo some words >&2; echo 1")
    assert states(study) == ["completed"]
    os.killpg(int((folder / "daemon").read_text()), signal.SIGKILL)


def test_the_lease_is_renewed_while_the_program_runs(
    create: Create, run: Run, folder: Path, renewal: Callable[[Study], None]
) -> None:
    study = create(budget=1)

    def let_go() -> None:
        wait_for((folder / "here").exists)
        renewal(study)
        (folder / "go").touch()

    with ThreadPoolExecutor(1) as elsewhere:
        renewed = elsewhere.submit(let_go)
        run(study, "touch here; while [ ! -e go ]; do sleep 0.01; done; echo 1", "--lease-seconds", "3600")
        renewed.result()
    [trial] = study.trials()
    assert (trial.state, trial.attempt) == ("completed", 1)


def test_two_commands_share_a_study(create: Create, address: str) -> None:
    study = create(budget=4)
    two = ("--count", "2")
    with started(address, study, "echo {layers}", *two) as one, started(address, study, "echo {layers}", *two) as other:
        assert (one.wait(PATIENCE), other.wait(PATIENCE)) == (0, 0)
    assert states(study) == ["completed"] * 4
    assert len({trial.worker for trial in study.trials()}) == 2
