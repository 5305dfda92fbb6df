from collections.abc import Iterator

import pytest

from adabkb_client import Client, Float, Study
from tests.client.faults import Proxy, proxy


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
