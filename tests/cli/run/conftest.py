from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adabkb_client import Client, Study
from adabkb_service.cli import evaluation, processes
from tests.cli.conftest import creator
from tests.cli.shell import adabkb
from tests.servers import server_on
from tests.waiting import PATIENCE, wait_for


@pytest.fixture(scope="package")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server for the tests of this folder."""
    with server_on(f"sqlite:///{tmp_path_factory.mktemp('run')}/a.db", sweep_seconds=0.1) as address:
        yield address


@pytest.fixture(scope="package")
def create(address: str) -> Iterator[Callable[..., Study]]:
    with Client(address) as client:
        yield creator(client)


@pytest.fixture(autouse=True)
def _waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program prints is waited for to the end."""
    monkeypatch.setattr(processes, "PIPE_PATIENCE", PATIENCE)


@pytest.fixture
def _waits_for_a_line(monkeypatch: pytest.MonkeyPatch, _waits: None) -> None:
    """What a program prints is waited for to the first line of each output, as the end may never come."""

    class Output(processes.Output):
        def wait(self, patience: float) -> None:
            wait_for(lambda: self._end)
            super().wait(patience)

    monkeypatch.setattr(evaluation, "Output", Output)
    monkeypatch.setattr(processes, "PIPE_PATIENCE", 0.1)
    monkeypatch.setenv("ADABKB_STOP_SECONDS", "0.1")


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
