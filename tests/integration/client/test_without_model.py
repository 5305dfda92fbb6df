"""Suggestions without the model are reported where the user sees them."""

from pathlib import Path

import pytest

from adabkb_client import Algorithm, Client, ConnectionFailed, Float
from adabkb_client._calls import Call, Steps
from tests.integration.cli.shell import adabkb
from tests.servers import server_on


def test_suggestions_without_the_model_are_logged_once_per_series(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        server_on(f"sqlite:///{tmp_path}/a.db", suggestion_seconds=1e-6) as address,
        Client(address) as client,
    ):
        study = client.create_study("s", {"x": Float(0, 1)}, direction="maximize", seed=1)

        def warned() -> list[int]:
            return [number for number in range(9) if f"point of trial {number}, which is quasi-random" in caplog.text]

        first, _ = study.suggest(), study.suggest()
        assert first.origin == "fallback"
        assert repr(first).endswith(", quasi-random>")
        assert warned() == [1]
        assert "quasi-random: it did not answer in time (" in caplog.text
        study.queue({"x": 0.5})
        assert study.suggest().origin == "queued"
        study.suggest()
        assert warned() == [1, 4]
        assert "(quasi-random, without the model)" in adabkb("trial", "suggest", "s", "--url", address)


def test_the_error_of_a_failed_model_is_in_the_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Under these settings the sum of two results at a point overflows."""
    with server_on(f"sqlite:///{tmp_path}/a.db") as address, Client(address) as client:
        algorithm: Algorithm = {"profile": "paper", "outputs": "raw"}
        study = client.create_study("s", {"x": Float(0, 1)}, direction="minimize", algorithm=algorithm)
        for _ in range(2):
            study.add_result({"x": 0.5}, -1.7e308)
        assert study.suggest(9)[-1].origin == "fallback"
        error = study.info().model["error"]
        assert error
        assert f"quasi-random: it has failed ({error})." in caplog.text
        study.exclude(2, "diverged")
        assert study.suggest(9)[-1].origin == "policy"


def test_trials_are_returned_although_the_cause_cannot_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with server_on(f"sqlite:///{tmp_path}/a.db", suggestion_seconds=1e-6) as address, Client(address) as client:
        study = client.create_study("s", {"x": Float(0, 1)}, direction="maximize", seed=1)
        steps = study._calls.suggest(1)
        call = next(steps)
        answer = client._transport.perform(_only(call))
        steps.send(answer)
        with pytest.raises(StopIteration) as end:
            steps.throw(ConnectionFailed("the server was stopped"))
        (trial,) = end.value.value
        assert trial.origin == "fallback"
        assert "quasi-random: study.info().model says whether it has failed" in caplog.text


def _only(call: Call) -> Steps[object]:
    return (yield call)
