"""A study on a real server, for integrations that use one."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import optuna
import pytest

from adabkb_client import Client, Float, Int, Study


@pytest.fixture
def client(server: str) -> Iterator[Client]:
    with Client(server) as client:
        yield client


@pytest.fixture
def study(client: Client) -> Study:
    return client.create_study("s", {"x": Float(0, 1), "n of x": Int(1, 4)}, direction="maximize", budget=8, seed=1)


@pytest.fixture
def quiet_optuna() -> Iterator[None]:
    """Disable Optuna's log of trials."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)
