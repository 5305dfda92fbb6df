"""The profile of the engine: its hash is that of the points, and its threads are those of a server."""

from __future__ import annotations

import pytest

from benchmarks.profile_engine import SPACES, profile


@pytest.mark.parametrize("space", SPACES)
def test_a_search_has_a_profile_of_the_engine_and_a_repeatable_hash(space: str) -> None:
    statistics, digest = profile(space, 8)
    functions = {function for _, _, function in vars(statistics)["stats"]}
    assert {"suggestions", "limit"} <= functions, "the search asks the engine, with limited threads"
    assert profile(space, 8)[1] == digest
    assert profile(space, 7)[1] != digest
