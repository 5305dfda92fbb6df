"""Queries of the dictionary: the ordinals of its points."""

from __future__ import annotations

import sqlalchemy as sa

from adabkb_service.storage import model, studies
from tests.integration.storage.rows import study


def after(connection: sa.Connection, added: list[int], removed: list[int]) -> tuple[int, ...]:
    """Change the dictionary, and return it."""
    model.write_dictionary(connection, "s", added=added, removed=removed)
    return model.read_dictionary(connection, "s")


def test_dictionary_of_a_new_study_is_empty(connection: sa.Connection) -> None:
    assert model.read_dictionary(connection, "s") == ()


def test_dictionary_is_sorted_whatever_the_order_of_writes(connection: sa.Connection) -> None:
    assert after(connection, [10, 2, 0], []) == (0, 2, 10)
    assert after(connection, [7, 1], []) == (0, 1, 2, 7, 10)


def test_points_are_added_and_removed_together(connection: sa.Connection) -> None:
    after(connection, [1, 2, 3], [])
    assert after(connection, [4, 5], [1, 3]) == (2, 4, 5)


def test_removed_point_can_be_added_again(connection: sa.Connection) -> None:
    after(connection, [1, 2], [])
    after(connection, [], [1])
    assert after(connection, [1], []) == (1, 2)


def test_one_change_can_remove_and_add_a_point(connection: sa.Connection) -> None:
    after(connection, [1], [])
    assert after(connection, [1], [1]) == (1,)


def test_empty_change_changes_nothing(connection: sa.Connection) -> None:
    after(connection, [1, 2], [])
    assert after(connection, [], []) == (1, 2)


def test_removing_a_missing_row_changes_nothing(connection: sa.Connection) -> None:
    after(connection, [1, 2], [])
    assert after(connection, [], [7]) == (1, 2)


def test_large_dictionary_is_written_and_removed_completely(connection: sa.Connection) -> None:
    """It has more points than some databases allow parameters in a statement."""
    many = list(range(3000))
    assert after(connection, many, []) == tuple(many)
    assert after(connection, [], many[:-1]) == (2999,)


def test_dictionary_belongs_to_one_study(connection: sa.Connection) -> None:
    studies.create(connection, study("S"))
    model.write_dictionary(connection, "S", added=[1, 2], removed=[])
    after(connection, [1, 2], [])
    assert after(connection, [3], [1, 2]) == (3,)
    assert model.read_dictionary(connection, "S") == (1, 2)
