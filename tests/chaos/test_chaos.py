"""The storm in short, on each set-up: the same faults and the same checks as ``python -m tests.chaos``."""

from __future__ import annotations

import pytest

from tests.chaos.storm import Plot, run

SHORT = Plot(clients=32, kills=3, operations=300, seconds=60, studies=4, budgets=range(20, 61), replays=1)
"""Some ten seconds of storm, or on a machine that has much else to do up to a minute."""


@pytest.mark.xdist_group("chaos")
@pytest.mark.parametrize(
    ("database_url", "servers"), [("postgresql", 2), ("sqlite", 1), ("sqlite", 2)], indirect=["database_url"]
)
def test_nothing_is_lost_and_nothing_done_twice_whatever_dies(database_url: str, servers: int) -> None:
    outcome = run(database_url, servers, SHORT)
    assert outcome.violations == []
    assert outcome.kills >= 2
    assert outcome.answered >= 100
    assert outcome.observations > 0
