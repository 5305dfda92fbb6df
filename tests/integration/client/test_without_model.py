"""Suggestions without the model are reported where the user sees them."""

from pathlib import Path

import pytest

from adabkb_client import Client, Float
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
        study.queue({"x": 0.5})
        assert study.suggest().origin == "queued"
        study.suggest()
        assert warned() == [1, 4]
        assert "(quasi-random, without the model)" in adabkb("trial", "suggest", "s", "--url", address)
