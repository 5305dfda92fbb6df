"""A short chaos run with two servers, with the same faults and checks as ``python -m tests.acceptance.chaos``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.acceptance.chaos.databases import SETUPS, empty
from tests.acceptance.chaos.storm import RunPlan, run
from tests.waiting import TIMEOUT_SECONDS

SHORT = RunPlan(
    clients=16,
    seed=3,
    studies=4,
    budgets=range(20, 41),
    replays=1,
    rest=1.0,
    once=True,
    recovery_seconds=TIMEOUT_SECONDS,
    return_seconds=2 * TIMEOUT_SECONDS,
)
"""About twenty seconds, or longer on a busy machine. With this seed, models are killed after they have been used.
Operations take most of the time; some hundreds are enough to have some in progress at each fault.
"""


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "name",
    [
        "postgresql-2",
        "postgresql-2-workers-2",
        "sqlite-2",
    ],
)
def test_no_fault_loses_or_duplicates_a_result(name: str) -> None:
    setup = SETUPS[name]
    with (
        tempfile.TemporaryDirectory(prefix="adabkb-chaos-", ignore_cleanup_errors=True) as folder,
        empty(setup.database, Path(folder)) as store,
    ):
        outcome = run(store, setup, SHORT)
    assert outcome.violations == []
    assert outcome.kills >= 1
    assert outcome.answered >= 100
    assert outcome.observations > 0
