from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adabkb_client import Client, Study
from tests.integration.cli.conftest import creator
from tests.integration.cli.shell import adabkb
from tests.servers import server_on


@pytest.fixture(scope="package")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server for the tests of this folder."""
    with server_on(f"sqlite:///{tmp_path_factory.mktemp('run')}/a.db", sweep_seconds=0.1) as address:
        yield address


@pytest.fixture(scope="package")
def create(address: str) -> Iterator[Callable[..., Study]]:
    with Client(address) as client:
        yield creator(client)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of the command."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(address: str) -> Callable[..., str]:
    """Return a function that runs a shell script for each trial of a study, and returns the output of the command."""

    def run(study: Study, script: str, *options: str, code: int = 0) -> str:
        server = () if "--url" in options else ("--url", address)
        return adabkb("run", study.id, *server, *options, "--", "sh", "-c", script, code=code)

    return run
