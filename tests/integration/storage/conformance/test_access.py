"""Tokens, grants, the trash and the audit log."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from adabkb_service.errors import Contention
from adabkb_service.storage import audit, containers, grants, studies, tokens, trash
from adabkb_service.storage.audit import AuditRow
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import studies as table
from adabkb_service.storage.tables import trash as deleted
from tests.integration.storage.rows import NOW, TICK, deletion, study, token
from tests.integration.storage.writes import add_to_trash

A, B, C = ("a" * 12, "b" * 12, "c" * 12)


def test_token_is_found_as_added(connection: sa.Connection) -> None:
    row = token(A, studies=["s", "vision-*"], expires_at=NOW + TICK, scopes=["read", "work"])
    assert not tokens.any_exist(connection)
    tokens.add(connection, row)
    assert tokens.find(connection, A) == row
    assert tokens.find(connection, B) is None
    assert tokens.any_exist(connection)


def test_duplicate_token_raises_contention(database: Database) -> None:
    with database.writing() as connection:
        tokens.add(connection, token(A))
    with pytest.raises(Contention), database.writing() as connection:
        tokens.add(connection, token(A))


def test_tokens_are_listed_newest_first_and_links_separately(connection: sa.Connection) -> None:
    for name, later in ((A, 0), (B, 2), (C, 1)):
        tokens.add(connection, token(name, created_at=NOW + later * TICK, link="s" if name == A else None))
    first = tokens.page(connection, None, 2)
    assert [row.id for row in first] == [B, C]
    assert [row.id for row in tokens.page(connection, (first[-1].created_at, C), 2)] == [A]
    assert [row.id for row in tokens.page(connection, None, 2, link_study_id="s")] == [A]


def test_token_is_revoked_once_and_links_together(connection: sa.Connection) -> None:
    for name, link in ((A, None), (B, "s"), (C, "t")):
        tokens.add(connection, token(name, link=link))
    tokens.revoke(connection, A, NOW)
    tokens.revoke(connection, A, NOW + TICK)
    tokens.revoke_links(connection, "s", NOW + TICK)
    tokens.note_use(connection, {A, C}, NOW)
    found = {row.id: (row.revoked_at, row.used_at) for row in tokens.page(connection, None, 9)}
    assert found == {A: (NOW, NOW), B: (NOW + TICK, None), C: (None, NOW)}


def test_only_links_revoked_together_are_restored_together(connection: sa.Connection) -> None:
    for name, link in ((A, "s"), (B, "s"), (C, "t")):
        tokens.add(connection, token(name, link=link))
    tokens.revoke(connection, A, NOW)
    for linked in ("s", "t"):
        tokens.revoke_links(connection, linked, NOW + TICK)
    assert tokens.restore_links(connection, "s", NOW + TICK) == 1
    found = {row.id: row.revoked_at for row in tokens.page(connection, None, 9)}
    assert found == {A: NOW, B: None, C: NOW + TICK}


def test_grants_are_replaced_together(connection: sa.Connection) -> None:
    grants.replace(connection, "s", {"ann": "own", "*": "read", "bob": "work"})
    assert sorted(grants.of_user(connection, "s", "bob")) == ["read", "work"]
    assert grants.of_user(connection, "s", "eve") == ["read"]
    grants.replace(connection, "s", {"bob": "own"})
    assert grants.of_study(connection, "s") == {"bob": "own"}
    assert grants.of_user(connection, "s", "ann") == grants.of_user(connection, "t", "bob") == []
    assert grants.owner(grants.of_study(connection, "t")) is None


def test_studies_are_found_by_reader_and_id_prefix(connection: sa.Connection) -> None:
    """Wildcards of SQL patterns are treated literally."""
    for name, rights in (("a_1", {"ann": "own"}), ("a-1", {"bob": "own", "ann": "read"}), ("b", {"*": "work"})):
        studies.create(connection, study(name))
        grants.replace(connection, name, rights)  # type: ignore[arg-type]

    def seen(*conditions: sa.ColumnElement[bool]) -> set[str]:
        return {row.id for row in studies.bounded_page(connection, None, 10, *conditions).rows}

    assert seen(grants.visible_to("ann")) == {"a_1", "a-1", "b"}
    assert seen(grants.visible_to("bob")) == {"a-1", "b"}
    assert seen(grants.named(table.c.id, ["a_*"])) == {"a_1"}
    assert seen(grants.named(table.c.id, ["a-1", "b*", "nowhere"])) == {"a-1", "b"}
    assert seen(grants.visible_to("eve"), grants.named(table.c.id, ["a*"])) == set()


def test_trash_numbers_deletions_and_deletes_old_ones(connection: sa.Connection) -> None:
    for name, days in (("s", 0), ("t", 1), ("s", 2)):
        add_to_trash(connection, deletion(name, deleted_at=NOW + timedelta(days=days)), name.encode())
    last, middle, first = trash.page(connection, 0, 10)
    assert [row.study_id for row in (first, middle, last)] == ["s", "t", "s"]
    assert trash.page(connection, last.id or 0, 10, deleted.c.study_id == "s") == [first]
    assert list(trash.content(connection, middle.container)) == [b"t"]
    assert trash.oldest(connection) == NOW
    assert trash.forget(connection, NOW + timedelta(days=3), 1) == 1
    assert trash.forget(connection, NOW + TICK, 1) == 0
    assert trash.remove(connection, middle)
    assert not trash.remove(connection, middle)
    assert trash.page(connection, 0, 10) == [last]
    assert {*containers.removable(connection, NOW, 10)} == {first.container, middle.container}


def test_audit_log_is_listed_newest_first(connection: sa.Connection) -> None:
    entries = [
        AuditRow(NOW, "study deleted", "s", "ann", A, "192.0.2.1", {"deletion": 1}),
        AuditRow(NOW + TICK, "refused", "unknown", None, None, "192.0.2.2", count=7),
    ]
    audit.add(connection, entries)
    (last, second), (first, one) = audit.page(connection, 0, 10)
    assert [one, second] == entries
    assert [number for number, _ in audit.page(connection, last, 10)] == [first]
    assert audit.forget(connection, NOW + 2 * TICK, 1) == 1
    assert audit.forget(connection, NOW + TICK, 1) == 0
    assert audit.page(connection, 0, 10) == [(last, second)]
