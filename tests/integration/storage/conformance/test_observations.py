"""Queries of observations: by number, by trial, and the best one."""

from __future__ import annotations

import math
from collections.abc import Collection

import pytest
import sqlalchemy as sa

from adabkb_service.errors import ObservationNotFound
from adabkb_service.storage import observations, studies, trials
from adabkb_service.storage.rows import ObservationRow
from tests.integration.storage.rows import observation, study, trial


def seqs(rows: list[ObservationRow]) -> list[int]:
    return [row.seq for row in rows]


def best(connection: sa.Connection, without: Collection[int] = ()) -> tuple[int | None, int | None]:
    """The smallest and the largest observation that counts."""
    found = [observations.best(connection, "s", maximize=maximize, without=without) for maximize in (False, True)]
    smallest, largest = (None if row is None else row.seq for row in found)
    return smallest, largest


def test_missing_observation_raises_not_found(connection: sa.Connection) -> None:
    with pytest.raises(ObservationNotFound, match="7"):
        observations.get(connection, "s", 7)


def test_get_returns_the_observation_of_that_number_and_study(connection: sa.Connection) -> None:
    studies.create(connection, study("S"))
    observations.add(connection, [observation(1, 0.1), observation(2, 0.2), observation(2, 0.3, "S")])
    assert observations.get(connection, "s", 2) == observation(2, 0.2)
    with pytest.raises(ObservationNotFound):
        observations.get(connection, "S", 1)


def test_change_sets_value_error_and_exclusion(connection: sa.Connection) -> None:
    observations.add(connection, [observation(1, 0.1)])
    row = observation(1, -0.5, std_error=0.25, excluded=True)
    observations.change(connection, [row])
    assert observations.get(connection, "s", 1) == row


def test_change_can_be_undone(connection: sa.Connection) -> None:
    observations.add(connection, [observation(1, 0.1)])
    observations.change(connection, [observation(1, -0.5, std_error=0.25, excluded=True)])
    observations.change(connection, [observation(1, 0.1)])
    assert observations.get(connection, "s", 1) == observation(1, 0.1)


def test_change_keeps_point_trial_and_attempt(connection: sa.Connection) -> None:
    trials.add(connection, [trial(1), trial(2)])
    row = observation(1, trial=1, attempt=1)
    observations.add(connection, [row])
    observations.change(connection, [observation(1, trial=2, attempt=2, parameters={})])
    assert observations.get(connection, "s", 1) == row


def test_change_of_several_rows_updates_each(connection: sa.Connection) -> None:
    observations.add(connection, [observation(seq) for seq in (1, 2, 3)])
    rows = [observation(3, 0.3, excluded=True), observation(1, 0.1, std_error=0.25)]
    observations.change(connection, rows)
    assert observations.page(connection, "s", 0, 10) == [rows[1], observation(2), rows[0]]


def test_change_affects_one_observation_of_one_study(connection: sa.Connection) -> None:
    studies.create(connection, study("S"))
    others = [observation(2, 0.2), observation(1, 0.3, "S")]
    observations.add(connection, [observation(1, 0.1), *others])
    observations.change(connection, [observation(1, 0.9)])
    assert [observations.get(connection, row.study_id, row.seq) for row in others] == others


def test_trial_can_have_any_number_of_results_in_order(connection: sa.Connection) -> None:
    trials.add(connection, [trial(number) for number in (1, 2, 3)])
    owners = {5: 3, 2: 2, 4: 3, 1: 3, 3: None}
    observations.add(connection, [observation(seq, trial=owner) for seq, owner in owners.items()])
    assert [seqs(observations.of_trial(connection, "s", number)) for number in (1, 2, 3)] == [[], [2], [1, 4, 5]]


def test_results_of_a_trial_belong_to_one_study(connection: sa.Connection) -> None:
    for name in ("s.b", "S"):
        studies.create(connection, study(name))
        trials.add(connection, [trial(1, name)])
        observations.add(connection, [observation(1, study_id=name, trial=1)])
    assert observations.of_trial(connection, "s", 1) == []


def test_results_of_a_trial_include_excluded_ones(connection: sa.Connection) -> None:
    trials.add(connection, [trial(1)])
    row = observation(1, trial=1, attempt=1, excluded=True)
    observations.add(connection, [row])
    assert observations.of_trial(connection, "s", 1) == [row]


def test_there_is_no_best_without_results(connection: sa.Connection) -> None:
    assert best(connection) == (None, None)


def test_only_result_is_best(connection: sa.Connection) -> None:
    row = observation(1, 0.5, std_error=0.1)
    observations.add(connection, [row])
    for maximize in (False, True):
        assert observations.best(connection, "s", maximize=maximize, without=[]) == row


def test_best_is_the_smallest_or_the_largest(connection: sa.Connection) -> None:
    observations.add(connection, [observation(seq, value) for seq, value in enumerate([0.5, -2.0, 10.0, 9.0], start=1)])
    assert best(connection) == (2, 3)


def test_earliest_of_equal_results_is_best(connection: sa.Connection) -> None:
    """In any order of insertion."""
    observations.add(connection, [observation(seq, 1.0) for seq in (4, 2, 3)])
    assert best(connection) == (2, 2)


def test_best_can_leave_out_given_results(connection: sa.Connection) -> None:
    """For any number of excluded numbers, whether they exist or not."""
    observations.add(connection, [observation(seq, float(seq)) for seq in (1, 2, 3)])
    assert best(connection, []) == (1, 3)
    assert best(connection, [1]) == best(connection, {1: "as a key"}) == (2, 3)
    assert best(connection, {3, 1}) == (2, 2)
    assert best(connection, [2, 7]) == (1, 3)
    assert best(connection, range(2, 3000)) == (1, 1)
    assert best(connection, [1, 2, 3]) == (None, None)


def test_zeros_of_either_sign_are_equal(connection: sa.Connection) -> None:
    observations.add(connection, [observation(1, 0.0), observation(2, -0.0), observation(3, 0.0)])
    assert best(connection) == (1, 1)


def test_results_that_differ_by_the_last_bit_are_distinct(connection: sa.Connection) -> None:
    observations.add(connection, [observation(1, 0.3), observation(2, math.nextafter(0.3, 1)), observation(3, 0.3)])
    assert best(connection) == (1, 2)


def test_excluded_result_is_not_best(connection: sa.Connection) -> None:
    extreme = [observation(1, 1e300, excluded=True), observation(2, -1e300, excluded=True)]
    observations.add(connection, [*extreme, observation(3, 0.0)])
    assert best(connection) == (3, 3)


def test_there_is_no_best_if_all_results_are_excluded(connection: sa.Connection) -> None:
    observations.add(connection, [observation(1, excluded=True)])
    assert best(connection) == (None, None)


def test_corrections_change_the_best(connection: sa.Connection) -> None:
    observations.add(connection, [observation(1, 5.0), observation(2, 5.0)])
    observations.change(connection, [observation(1, 5.0, excluded=True)])
    assert best(connection) == (2, 2)
    observations.change(connection, [observation(1, 5.0)])
    assert best(connection) == (1, 1)


def test_best_belongs_to_one_study(connection: sa.Connection) -> None:
    for name in ("s.b", "S"):
        studies.create(connection, study(name))
        observations.add(connection, [observation(1, 100.0, name), observation(2, -100.0, name)])
    assert best(connection) == (None, None)
