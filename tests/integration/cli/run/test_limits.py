"""``adabkb run``: limits on time, trials and failures; devices, waiting and logs."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path

import pytest

from tests.integration.cli.run.started import Create, Run, reasons, started, states
from tests.processes import is_alive


def test_a_count_and_jobs_share_a_budget_and_run_at_once(create: Create, run: Run, folder: Path) -> None:
    study = create(budget=9)
    together = "touch $ADABKB_TRIAL; while [ $(ls | wc -l) -lt 3 ]; do sleep 0.01; done; echo 1"
    said = json.loads(run(study, together, "--workers", "3", "--n-trials", "4", "--json"))
    assert (said["completed"], said["failed"]) == (4, 0)
    assert len(list(folder.iterdir())) == 4
    assert "is not complete; this command completed 1 trial" in run(study, "echo 1", "--n-trials", "1")


@pytest.mark.usefixtures("folder")
def test_each_program_sees_the_device_that_has_the_fewest_programs(create: Create, run: Run) -> None:
    """Two programs run at once, so each has its own device."""
    study = create(budget=6)
    together = "touch $ADABKB_TRIAL; while [ $(ls | wc -l) -lt 2 ]; do sleep 0.01; done; echo $CUDA_VISIBLE_DEVICES"
    run(study, together, "--workers", "2", "--gpus", "3,5")
    assert {observation.value for observation in study.observations()} == {3.0, 5.0}
    assert "--gpus '3,' has an empty name" in run(study, "echo 1", "--gpus", "3,", code=1)


def test_a_program_that_takes_too_long_is_ended_with_its_children_and_the_trial_fails(
    create: Create, run: Run, folder: Path
) -> None:
    study = create(budget=1)
    script = "trap 'touch asked' TERM; sleep 3600 & echo $! >child; wait; trap '' TERM; sleep 3600"
    run(study, script, "--trial-timeout", "2", "--grace", "1", code=1)
    assert reasons(study) == ["no result after 2 s (--trial-timeout)"]
    assert (folder / "asked").exists()
    assert not is_alive((folder / "child").read_text())


@pytest.mark.usefixtures("folder")
def test_after_the_timeout_the_running_trial_is_completed_and_no_other_starts(create: Create, run: Run) -> None:
    study = create(budget=5)
    said = json.loads(run(study, "sleep 1; echo 1", "--timeout", "0.5", "--json"))
    assert (said["reason"], said["completed"]) == ("timeout", 1)
    assert states(study) == ["completed"]


def test_exit_code_75_gives_the_trial_back_and_the_next_attempt_may_complete_it(create: Create, run: Run) -> None:
    study = create(budget=1)
    run(study, 'test "$ADABKB_ATTEMPT" -gt 1 || exit 75; echo 1')
    [trial] = study.trials()
    assert (trial.state, trial.attempt) == ("completed", 2)
    assert [each.payload["reason"] for each in study.events() if each.kind == "released"] == ["exit code 75"]


def test_repeatedly_released_trials_stop_the_command(create: Create, run: Run) -> None:
    study = create(budget=3)
    said = run(study, "exit 75", "--max-failures", "2", code=1)
    assert "2 trials in a row were released; reason of the last one: exit code 75" in said
    assert states(study) == ["released"]


def test_failures_in_a_row_stop_the_command_with_the_remedy(create: Create, run: Run) -> None:
    study = create(budget=9)
    said = run(study, "echo no space left >&2; exit 1", "--max-failures", "2", code=1)
    assert "stopped after 2 failures in a row; the last one: exit code 1: no space left" in said
    assert f"adabkb trial retry {study.id} --failed" in said
    assert states(study) == ["failed", "failed"]


def test_failures_with_a_caught_exit_code_do_not_stop_the_command(create: Create, run: Run) -> None:
    study = create(budget=3)
    script = 'test "$ADABKB_TRIAL" -gt 2 || exit 3; echo 1'
    said = json.loads(run(study, script, "--max-failures", "1", "--catch", "3", "--json"))
    assert (said["completed"], said["failed"]) == (1, 2)
    assert "is not an exit code of a failure" in run(study, script, "--catch", "75", code=1)


def test_a_study_paused_by_failures_is_explained_with_commands(create: Create, run: Run) -> None:
    study = create(budget=9, failure_limit=1)
    said = run(study, "exit 1", code=1)
    assert f"adabkb trial retry {study.id} --failed, adabkb study resume {study.id}" in said


@pytest.mark.long
def test_it_waits_while_the_study_is_paused_and_ends_on_a_signal(create: Create, address: str) -> None:
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
    assert "is complete (budget); this command completed 1 trial" in run(study, "echo 1")


def test_each_attempt_has_a_log_of_its_programs_output(create: Create, run: Run, folder: Path) -> None:
    study = create(budget=1)
    run(study, "echo to stdout; echo to stderr >&2; echo 1", "--logs", "some/logs")
    log = (folder / f"some/logs/{study.id}-1-1.log").read_text()
    assert log.startswith("$ sh -c echo to stdout;")
    assert {"to stdout", "to stderr", "1"} <= set(log.splitlines())
