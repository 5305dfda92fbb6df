from collections.abc import Iterator
from pathlib import Path

import pytest

from adabkb_client import Client, Float, Study
from tests.integration.client.faults import Proxy, proxy


@pytest.fixture(autouse=True)
def outbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of results that could not be delivered."""
    folder = tmp_path / "outbox"
    monkeypatch.setenv("ADABKB_OUTBOX", str(folder))
    return folder


@pytest.fixture(autouse=True)
def _one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that a client starts computes its models itself, which spares the start of another process."""
    monkeypatch.setenv("ADABKB_MODEL_PROCESSES", "0")


@pytest.fixture
def client(server: str) -> Iterator[Client]:
    with Client(server) as client:
        yield client


@pytest.fixture
def study(client: Client) -> Study:
    return client.create_study("s", {"x": Float(0, 1), "y": Float(1, 100, log=True)}, direction="maximize", seed=1)


@pytest.fixture
def faulty(server: str) -> Iterator[Proxy]:
    with proxy(server) as faulty:
        yield faulty
