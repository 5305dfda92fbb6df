"""Queries of cells: the tree as rows, in order of creation."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from adabkb_service.storage import model, studies
from adabkb_service.storage.tables import cells
from tests.integration.storage.rows import study


def rows(connection: sa.Connection) -> list[Any]:
    """All cells as complete rows."""
    return list(connection.execute(sa.select(cells).order_by(cells.c.id)))


def test_new_study_has_no_cells(connection: sa.Connection) -> None:
    assert model.read_cells(connection, "s") == {}


def test_cells_are_ordered_by_creation(connection: sa.Connection) -> None:
    model.write_cells(connection, "s", {"0": "leaf", "0.2": "leaf", "0.1": "leaf"})
    model.write_cells(connection, "s", {"0.10": "leaf", "0.0": "leaf"})
    assert list(model.read_cells(connection, "s")) == ["0", "0.2", "0.1", "0.10", "0.0"]


def test_known_cell_gets_the_new_status_and_keeps_its_place(connection: sa.Connection) -> None:
    model.write_cells(connection, "s", {"0": "leaf", "0.1": "leaf", "0.2": "leaf"})
    model.write_cells(connection, "s", {"0.3": "leaf", "0": "expanded", "0.2": "pruned"})
    assert list(model.read_cells(connection, "s").items()) == [
        ("0", "expanded"),
        ("0.1", "leaf"),
        ("0.2", "pruned"),
        ("0.3", "leaf"),
    ]


def test_known_cell_keeps_its_id(connection: sa.Connection) -> None:
    model.write_cells(connection, "s", {"0": "leaf"})
    [before] = rows(connection)
    model.write_cells(connection, "s", {"0": "expanded"})
    [after] = rows(connection)
    assert (after.id, after.status) == (before.id, "expanded")


def test_new_cells_come_last_when_written_with_known_ones(connection: sa.Connection) -> None:
    model.write_cells(connection, "s", {"0": "leaf", "0.1": "leaf"})
    for _ in range(5):
        model.write_cells(connection, "s", {"0.1": "leaf", "0": "leaf"})
    model.write_cells(connection, "s", {"0.9": "leaf", "0.1": "leaf", "0.8": "leaf"})
    assert list(model.read_cells(connection, "s")) == ["0", "0.1", "0.9", "0.8"]


def test_writing_no_cells_changes_nothing(connection: sa.Connection) -> None:
    model.write_cells(connection, "s", {"0": "leaf"})
    model.write_cells(connection, "s", {})
    assert model.read_cells(connection, "s") == {"0": "leaf"}


def test_many_cells_written_together_keep_their_order(connection: sa.Connection) -> None:
    keys = [f"0.{(number * 7919) % 3001}" for number in range(3001)]
    model.write_cells(connection, "s", dict.fromkeys(keys, "leaf"))
    assert list(model.read_cells(connection, "s")) == keys


def test_depth_of_a_cell_follows_from_its_key(connection: sa.Connection) -> None:
    model.write_cells(connection, "s", {"0": "leaf", "0.1": "leaf", "0.1.2.3": "leaf"})
    assert [row.depth for row in rows(connection)] == [0, 1, 3]


def test_cells_are_complete_rows_in_order_of_creation(connection: sa.Connection) -> None:
    model.write_cells(connection, "s", {"0.2": "leaf", "0.1": "pruned"})
    found = rows(connection)
    assert [(row.study_id, row.key, row.depth, row.status) for row in found] == [
        ("s", "0.2", 1, "leaf"),
        ("s", "0.1", 1, "pruned"),
    ]
    assert found[0].id < found[1].id


def test_cells_belong_to_one_study_although_ids_are_shared(connection: sa.Connection) -> None:
    studies.create(connection, study("S"))
    for number in range(3):
        model.write_cells(connection, "s", {f"0.{number}": "leaf"})
        model.write_cells(connection, "S", {f"0.{number}": "pruned"})
    assert model.read_cells(connection, "s") == dict.fromkeys(["0.0", "0.1", "0.2"], "leaf")
    assert [row.study_id for row in rows(connection)] == ["s", "S"] * 3


def test_cells_with_the_same_key_in_two_studies_are_independent(connection: sa.Connection) -> None:
    studies.create(connection, study("S"))
    model.write_cells(connection, "s", {"0": "leaf"})
    model.write_cells(connection, "S", {"0": "leaf"})
    model.write_cells(connection, "S", {"0": "expanded"})
    assert model.read_cells(connection, "s") == {"0": "leaf"}


def test_clear_deletes_cells_and_dictionary_of_one_study(connection: sa.Connection) -> None:
    studies.create(connection, study("S"))
    for name in ("s", "S"):
        model.write_cells(connection, name, {"0": "leaf"})
        model.write_dictionary(connection, name, added=[1], removed=[])
    model.clear(connection, "s")
    assert (model.read_cells(connection, "s"), model.read_dictionary(connection, "s")) == ({}, ())
    assert (model.read_cells(connection, "S"), model.read_dictionary(connection, "S")) == ({"0": "leaf"}, (1,))


def test_tree_can_be_written_again_after_clear(connection: sa.Connection) -> None:
    for keys in (["0", "0.1", "0.2"], ["0", "0.2", "0.1"]):
        model.clear(connection, "s")
        model.write_cells(connection, "s", dict.fromkeys(keys, "leaf"))
        assert list(model.read_cells(connection, "s")) == keys
