"""``adabkb run``: whatever ends a program or the command, no process or file is left."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.integration.cli.run.started import Create, Run, started, states
from tests.integration.client.faults import proxy
from tests.integration.client.leases import LEASE_SECONDS, wait_for_renewal
from tests.processes import is_alive
from tests.waiting import TIMEOUT_SECONDS, wait_for


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(each, marks=pytest.mark.long) for each in (signal.SIGINT, signal.SIGHUP))]
)
def test_a_signal_is_passed_to_the_program_and_the_trial_is_released(
    create: Create, address: str, folder: Path, number: signal.Signals
) -> None:
    study = create(budget=2)
    script = "trap 'touch asked-{lr}; exit 1' HUP INT TERM; sleep 60 & echo $! >$ADABKB_TRIAL.pid; wait"
    with started(address, study, script, "--workers", "2") as process:
        wait_for(lambda: len(list(folder.glob("*.pid"))) == 2)
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    assert len(list(folder.glob("asked-*"))) == 2
    assert states(study) == ["released", "released"]
    assert not [file for file in folder.glob("*.pid") if is_alive(file.read_text())]


@pytest.mark.parametrize("grace", ["0.2", pytest.param("0", marks=pytest.mark.long)])
def test_a_program_that_ignores_the_signal_is_killed_after_the_grace_period(
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


def test_a_result_printed_after_the_signal_is_stored(create: Create, address: str, folder: Path) -> None:
    study = create(budget=2)
    with started(address, study, ANSWERS_TERM) as process:
        wait_for((folder / "here").exists)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    best = study.best()
    assert best is not None
    assert best.value == 5


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
def test_a_second_signal_ends_a_command_that_waits_for_an_absent_server(
    create: Create, address: str, folder: Path
) -> None:
    study = create(budget=2)
    with proxy(address) as faulty, started(faulty.url, study, ANSWERS_TERM) as process:
        wait_for((folder / "here").exists)
        faulty.faults.append(None)  # the result is forwarded, and nothing after it
        faulty.faults.extend(["lose request"] * 1000)
        process.terminate()
        wait_for(lambda: faulty.keys("/recommendation"))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 128 + signal.SIGTERM
    assert states(study) == ["completed"]


def test_the_trial_of_a_program_ended_from_outside_is_released(create: Create, run: Run) -> None:
    study = create(budget=1)
    run(study, 'test "$ADABKB_ATTEMPT" -gt 1 || kill -TERM $$; echo 1')
    [trial] = study.trials()
    assert (trial.state, trial.attempt) == ("completed", 2)


def test_after_kill_9_nothing_is_left_but_a_lease_that_expires(create: Create, address: str, folder: Path) -> None:
    study = create(budget=1)
    script = "dirname $ADABKB_PARAMETERS >folder; sleep 60 & echo $! >child; echo $$ >pid; wait"
    with started(address, study, script, "--lease-seconds", "1") as process:
        wait_for(lambda: (folder / "pid").exists() and (folder / "pid").read_text())
        process.kill()
        wait_for(lambda: not is_alive((folder / "pid").read_text()) and not is_alive((folder / "child").read_text()))
        wait_for(lambda: not Path((folder / "folder").read_text().strip()).exists())
    wait_for(lambda: states(study) == ["expired"])


def test_what_a_program_has_started_does_not_outlive_it(create: Create, run: Run, folder: Path) -> None:
    study = create(budget=1)
    run(study, "sleep 3600 & echo $! >child; echo some words >&2; echo 1")
    assert states(study) == ["completed"]
    assert not is_alive((folder / "child").read_text())


def test_a_daemon_that_holds_the_output_open_does_not_hold_up_the_result(
    create: Create, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADABKB_STOP_SECONDS", "1")
    study = create(budget=1)
    daemon = "setsid sh -c 'echo $$ >daemon; sleep 3600' & while [ ! -s daemon ]; do sleep 0.01; done"
    run(study, f"{daemon}; echo some words >&2; echo 1")
    assert states(study) == ["completed"]
    os.killpg(int((folder / "daemon").read_text()), signal.SIGKILL)


def test_the_lease_is_renewed_while_the_program_runs(create: Create, run: Run, folder: Path) -> None:
    study = create(budget=1)

    def let_go() -> None:
        wait_for((folder / "here").exists)
        wait_for_renewal(study)
        (folder / "go").touch()

    with ThreadPoolExecutor(1) as elsewhere:
        renewed = elsewhere.submit(let_go)
        run(study, "touch here; while [ ! -e go ]; do sleep 0.01; done; echo 1", "--lease-seconds", str(LEASE_SECONDS))
        renewed.result()
    [trial] = study.trials()
    assert (trial.state, trial.attempt) == ("completed", 1)


@pytest.mark.long
def test_two_commands_share_a_study(create: Create, address: str) -> None:
    study = create(budget=4)
    two = ("--n-trials", "2")
    with started(address, study, "echo {layers}", *two) as one, started(address, study, "echo {layers}", *two) as other:
        assert (one.wait(TIMEOUT_SECONDS), other.wait(TIMEOUT_SECONDS)) == (0, 0)
    assert states(study) == ["completed"] * 4
    assert len({trial.worker for trial in study.trials()}) == 2
