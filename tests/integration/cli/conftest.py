from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from adabkb_client import Client, Float, Int, Study
from tests.servers import server_on

PARAMETERS = {"lr": Float(0.001, 1, log=True), "layers": Int(1, 5)}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server for the tests of a module."""
    with server_on(f"sqlite:///{tmp_path_factory.mktemp('server')}/a.db", sweep_seconds=0.1) as address:
        yield address


@pytest.fixture(scope="module")
def module_client(address: str) -> Iterator[Client]:
    with Client(address) as client:
        yield client


@pytest.fixture(scope="module")
def create(module_client: Client) -> Callable[..., Study]:
    return creator(module_client)


def creator(client: Client) -> Callable[..., Study]:
    """Return a function that creates studies with unique ids."""
    numbers = count(1)

    def create(**settings: Any) -> Study:
        settings = {"parameters": PARAMETERS, "direction": "maximize", "seed": 1, **settings}
        return client.create_study(f"s{next(numbers)}", **settings)

    return create
