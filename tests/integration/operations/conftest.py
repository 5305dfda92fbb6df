from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from adabkb_service.contract.study import StudyDefinition
from adabkb_service.inference.pool import in_this_process
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.storage.database import Database

SYSTEMS: dict[str, dict[str, Any]] = {
    "auto": {"profile": "auto"},
    "paper": {"profile": "paper"},
    "expected-improvement": {"profile": "paper", "index": "ei"},
    "ada-bbkb": {"kind": "ada-bbkb"},
    "ada-gp-ucb": {"kind": "ada-gp-ucb", "max_depth": 6},
    "gp-ucb": {"kind": "gp-ucb"},
    "bkb": {"kind": "bkb"},
    "random-bkb": {"kind": "random-bkb", "points": 200},
    "gp-threds": {"kind": "gp-threds", "lowest": -2, "highest": 1, "points_per_axis": 9, "patience": 5},
    "random": {"kind": "random"},
    "sobol": {"kind": "sobol"},
}
"""An ``algorithm`` of each kind, for ``definition``."""
DIFFERENT = ("auto", "paper")
"""The systems of ``make test``, one for each kind of database; ``unit/engine/test_policies.py`` tests all of them."""
OF_THE_PAPER = [name for name in SYSTEMS if name not in ("auto", "random", "sobol")]
"""The systems that support only boxes of unconditional parameters."""


class ManualClock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def database(migrated_url: str) -> Iterator[Database]:
    opened = Database(migrated_url)
    yield opened
    opened.close()


@pytest.fixture
def running(database: Database, clock: ManualClock) -> Service:
    """A service on an empty database, with a manual clock."""
    return Service(database, clock=clock)


@pytest.fixture
def time_limited(database: Database, clock: ManualClock) -> Service:
    """The same, with time for only one point per suggestion."""
    return Service(database, clock=clock, inference=in_this_process(database, decision_seconds=0.0))


@pytest.fixture
def study(running: Service) -> str:
    """The id of a small study."""
    create(running, definition())
    return "s"


def definition(**changes: object) -> StudyDefinition:
    """A study of two parameters, with changes."""
    body = {
        "id": "s",
        "direction": "minimize",
        "parameters": [
            {"name": "x", "kind": "float", "low": -1, "high": 2},
            {"name": "y", "kind": "float", "low": 0.01, "high": 100, "scale": "log"},
        ],
        "seed": 3,
        "lease_seconds": 60,
    }
    return StudyDefinition.model_validate({**body, **changes})
