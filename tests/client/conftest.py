from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from adabkb_client import Client, Float, Study, async_lease, lease
from tests.client.faults import Proxy, proxy
from tests.waiting import wait_for


@pytest.fixture(autouse=True)
def outbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of results that could not be delivered."""
    folder = tmp_path / "outbox"
    monkeypatch.setenv("ADABKB_OUTBOX", str(folder))
    return folder


@pytest.fixture
def client(server: str) -> Iterator[Client]:
    with Client(server) as client:
        yield client


@pytest.fixture
def study(client: Client) -> Study:
    return client.create_study("s", {"x": Float(0, 1), "y": Float(1, 100, log=True)}, direction="maximize", seed=1)


@pytest.fixture
def renewal(monkeypatch: pytest.MonkeyPatch) -> Callable[[Study], None]:
    """Leases are renewed after a tiny part of them; waits until that of a study's only active trial was, twice."""
    for module in (lease, async_lease):
        monkeypatch.setattr(module, "RENEW_AT", 1e-5)

    def leased_until(study: Study) -> datetime | None:
        [trial] = study.trials("active")
        return trial.leased_until

    def wait(study: Study) -> None:
        for _ in range(2):
            before = leased_until(study)
            wait_for(lambda: leased_until(study) != before)  # noqa: B023 - it is called at once

    return wait


@pytest.fixture
def faulty(server: str) -> Iterator[Proxy]:
    with proxy(server) as faulty:
        yield faulty
