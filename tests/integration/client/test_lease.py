"""The fate of a trial whose evaluation ends in one way or another."""

import signal
import subprocess
import sys

import pytest

from adabkb_client import Client, Float, Study, TrialState, _trial
from tests.integration.client.leases import LEASE_SECONDS, wait_for_renewal
from tests.waiting import TIMEOUT_SECONDS, wait_for

PROGRAM = """
import sys, time
from adabkb_client import Client
with Client(sys.argv[1]) as client, client.study(sys.argv[2]).trial():
    print("evaluating", flush=True)
    time.sleep(60)
"""


def states(study: Study) -> list[TrialState]:
    return [trial.state for trial in study.trials()]


def test_a_result_completes_the_trial(study: Study) -> None:
    with study.trial() as trial:
        trial.observe(trial.parameters["x"], std_error=0.1)
    assert states(study) == ["completed"]


def test_a_result_reported_to_the_study_is_that_of_the_block(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    with study.trial() as trial:
        study.heartbeat(trial)
        first = study.observe(trial, 1.0)
    assert study.observe(trial, 1.0).observation == first.observation
    with study.trial() as trial:
        study.fail(trial, "diverged")
    with study.trial() as trial:
        study.release(trial)
    assert states(study) == ["completed", "failed", "released"]
    assert [each.reason for each in study.trials(state="failed")] == ["diverged"]
    assert not caplog.records


def test_an_exception_fails_the_trial_with_its_text_and_continues(study: Study) -> None:
    with pytest.raises(ZeroDivisionError), study.trial():
        _ = 1 / 0
    (trial,) = study.trials()
    assert (trial.state, trial.reason) == ("failed", "ZeroDivisionError: division by zero")


def test_a_text_that_no_database_takes_still_fails_the_trial(study: Study) -> None:
    with pytest.raises(ValueError, match="poison"), study.trial():
        raise ValueError("poison \0 \ud800 " + "long" * 10_000)
    assert states(study) == ["failed"]


def test_ctrl_c_gives_the_trial_back(study: Study) -> None:
    with pytest.raises(KeyboardInterrupt), study.trial():
        raise KeyboardInterrupt
    assert states(study) == ["released"]
    assert study.suggest().number == 1


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 128 + signal.SIGTERM), pytest.param(signal.SIGINT, -signal.SIGINT, marks=pytest.mark.long)],
)
def test_a_terminated_process_releases_its_trial(server: str, study: Study, number: int, code: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, server, study.id], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "evaluating\n"
        process.send_signal(number)
        assert process.wait(timeout=60) == code
    assert states(study) == ["released"]


def test_a_program_that_handles_sigterm_itself_keeps_its_handler(study: Study) -> None:
    def own(*_: object) -> None: ...

    previous = signal.signal(signal.SIGTERM, own)
    try:
        with study.trial() as trial:
            assert signal.getsignal(signal.SIGTERM) is own
            trial.observe(1.0)
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, previous)


def test_a_block_that_ends_without_a_result_fails_the_trial(study: Study) -> None:
    with study.trial():
        pass
    assert states(study) == ["failed"]


def test_an_error_after_the_result_does_not_undo_it(study: Study) -> None:
    with pytest.raises(ZeroDivisionError), study.trial() as trial:
        _ = trial.observe(1.0) and 1 / 0
    assert states(study) == ["completed"]


def test_a_lease_is_renewed_for_as_long_as_the_evaluation_takes(study: Study) -> None:
    with study.trial(lease_seconds=LEASE_SECONDS) as trial:
        wait_for_renewal(study, 2)
        trial.observe(1.0)
    assert [(each.state, each.attempt) for each in study.trials()] == [("completed", 1)]


def test_a_renewal_after_the_own_result_is_not_logged(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "adabkb_client")
    with study.trial(lease_seconds=LEASE_SECONDS) as trial:
        trial.observe(1.0)
        assert trial._keeper is not None
        trial._keeper.join(TIMEOUT_SECONDS)  # the server has refused to renew the lease
    assert not caplog.records


def test_a_lease_that_another_worker_holds_is_logged_with_its_consequences(
    study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "adabkb_client")
    with study.trial(lease_seconds=LEASE_SECONDS) as trial:
        study.release(trial.number)
        study.suggest(worker="node7:123")
        assert trial._keeper is not None
        trial._keeper.join(TIMEOUT_SECONDS)
        trial.observe(1.0)
    (said,) = [record.message for record in caplog.records]
    assert said.startswith(
        "trial 1 of study 's': Trial 1 has been issued again (attempt 2), so attempt 1 has lost its lease."
    )
    assert said.endswith("The evaluation here continues, and its result is sent.")


def test_a_lease_is_renewed_early_enough_for_further_attempts() -> None:
    assert _trial.RENEW_AT + 5 * _trial.RENEW_AGAIN < 1


def test_the_trial_of_a_worker_that_was_killed_is_free_again_soon(server: str, study: Study) -> None:
    """Although leases of the study take an hour."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, server, study.id], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "evaluating\n"
        process.kill()
    (held,) = study.trials(state="active")
    assert held.lease_seconds == 120


@pytest.mark.long
def test_a_run_leases_for_as_long_and_renews_in_time(client: Client) -> None:
    study = client.create_study("s", {"x": Float(0, 1)}, direction="maximize", budget=2, seed=1)
    lengths: list[float] = []

    def function(x: float) -> float:
        lengths.extend(trial.lease_seconds for trial in study.trials("active"))
        return x

    study.run(function)
    assert lengths == [120, 120]
    study.update(budget=3)

    def slow(x: float) -> float:
        wait_for_renewal(study)
        return x

    study.run(slow, workers=1, lease_seconds=LEASE_SECONDS)
    assert [event.kind for event in study.events()].count("expired") == 0


def test_a_late_result_is_kept_although_another_worker_has_the_trial(client: Client) -> None:
    study = client.create_study("s", {"x": Float(0, 1)}, direction="maximize", seed=1)
    first = study.suggest(lease_seconds=0.01)
    wait_for(lambda: states(study) == ["expired"])
    second = study.suggest()
    assert (second.number, second.attempt) == (first.number, 2)
    study.observe(first, 1.0)
    study.observe(second, 2.0)
    assert [(each.attempt, each.value) for each in study.observations()] == [(1, 1.0), (2, 2.0)]


def test_frameworks_without_a_block_start_and_close_a_lease(study: Study) -> None:
    lease = study.lease(lease_seconds=LEASE_SECONDS)
    lease.start()
    wait_for_renewal(study)
    lease.observe(1.0)
    lease.close()
    study.lease().start().close(ZeroDivisionError("unlucky"))
    study.lease().close(KeyboardInterrupt())
    forgotten = study.lease().start()
    forgotten.close()
    forgotten.close(KeyboardInterrupt())  # no effect: it is already closed
    assert [(trial.state, trial.reason) for trial in study.trials()] == [
        ("completed", None),
        ("failed", "ZeroDivisionError: unlucky"),
        ("failed", "the evaluation ended without a result"),
    ]
