"""Queries that find and replace the name of a user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Table,
    Text,
    bindparam,
    cast,
    delete,
    func,
    or_,
    select,
    union,
    update,
)

from adabkb_service.storage.tables import (
    audit,
    events,
    files,
    grants,
    observations,
    people,
    tokens,
    trash,
    trials,
)

Kind = Literal["events", "trials", "results", "files"]
NAMED: dict[Kind, tuple[Table, Column[int], ColumnElement[Any]]] = {
    "events": (events, events.c.seq, events.c.payload["user"].as_string()),
    "trials": (trials, trials.c.number, trials.c.reported_by),
    "results": (observations, observations.c.seq, observations.c.reported_by),
    "files": (files, files.c.number, files.c.user),
}
"""Rows of a study that may name a user: their table, and the columns with their number and the name."""


def is_known(connection: Connection, user: str) -> bool:
    """Whether a token, a right, a deleted study or a person who has logged in has this user name."""
    known = union(
        select(tokens.c.user).where(tokens.c.user == user),
        select(grants.c.user).where(grants.c.user == user),
        select(trash.c.owner).where(or_(trash.c.owner == user, trash.c.deleted_by == user)),
        select(people.c.user).where(people.c.user == user),
    )
    return connection.execute(known.limit(1)).first() is not None


def owned_studies(connection: Connection, user: str) -> list[str]:
    """The ids of the studies that a user owns."""
    query = select(grants.c.study_id).where(grants.c.user == user, grants.c.right == "own")
    return list(connection.execute(query.order_by(grants.c.study_id)).scalars())


def studies_with(connection: Connection, user: str) -> list[str]:
    """The ids of the studies whose log, trials, results or files name a user. Reads the whole log of each study."""
    found = union(*(select(table.c.study_id).where(name == user) for table, _, name in NAMED.values()))
    return sorted(connection.execute(found).scalars())


def numbers_in_study(connection: Connection, study_id: str, kind: Kind, user: str) -> list[int]:
    """The numbers of the rows of a kind in a study that name a user, in order. Reads all rows of the kind."""
    table, number, name = NAMED[kind]
    query = select(number).where(table.c.study_id == study_id, name == user).order_by(number)
    return list(connection.execute(query).scalars())


def replace_in_rows(
    connection: Connection, study_id: str, kind: Kind, numbers: Sequence[int], user: str, other: str
) -> int:
    """Replace the name of a user in the rows of a kind with these numbers, except in events. Return their number."""
    table, number, name = NAMED[kind]
    rows = table.c.study_id == study_id, number.in_(numbers), name == user
    return connection.execute(update(table).where(*rows), {str(name.key): other}).rowcount


def payloads_with(
    connection: Connection, study_id: str, numbers: Sequence[int], user: str
) -> dict[int, dict[str, Any]]:
    """Seq -> payload of those of these events that name a user."""
    _, number, name = NAMED["events"]
    theirs = select(number, events.c.payload).where(events.c.study_id == study_id, number.in_(numbers), name == user)
    return {row.seq: row.payload for row in connection.execute(theirs)}


def replace_payloads(connection: Connection, study_id: str, payloads: Mapping[int, Mapping[str, Any]]) -> None:
    """Replace the payloads of events of a study, by seq."""
    if payloads:
        this = update(events).where(events.c.study_id == study_id, events.c.seq == bindparam("its_seq"))
        connection.execute(this, [{"its_seq": seq, "payload": payload} for seq, payload in payloads.items()])


def replace_in_tokens(connection: Connection, user: str, other: str, now: datetime) -> int:
    """Revoke all tokens, links and sessions of a user, and replace the user's name in them and the names of the tokens.
    Return the number of tokens."""
    theirs = tokens.c.user == user
    values = {"user": other, "name": other, "id_token": None}
    connection.execute(update(tokens).where(theirs, tokens.c.revoked_at.is_(None)), {"revoked_at": now})
    named = update(tokens).where(tokens.c.name == user, tokens.c.user != user)
    connection.execute(named, {"name": other})
    return connection.execute(update(tokens).where(theirs), values).rowcount


def last_revocation(connection: Connection, user: str) -> datetime | None:
    """When the last of a user's tokens, links and sessions was revoked; None if none was."""
    query = select(func.max(tokens.c.revoked_at)).where(tokens.c.user == user)
    found: datetime | None = connection.execute(query).scalar_one()
    return found


def replace_in_rights(connection: Connection, user: str, other: str) -> int:
    """Give the studies of a user to another name, and remove the shares with the user. Return the number of rights."""
    shares = connection.execute(delete(grants).where(grants.c.user == user, grants.c.right != "own")).rowcount
    return shares + connection.execute(update(grants).where(grants.c.user == user), {"user": other}).rowcount


def replace_in_trash(connection: Connection, user: str, other: str) -> int:
    """Replace the name of a user beside the content of deleted studies, and turn off the webhooks of those that the
    user owned. Return the number of studies changed."""
    columns = trash.c.id, trash.c.owner, trash.c.deleted_by, trash.c.rights, trash.c.webhooks
    changed = 0
    for row in connection.execute(select(*columns)).all():
        rights = {other if name == user else name: right for name, right in row.rights.items()}
        owner, by = (other if name == user else name for name in (row.owner, row.deleted_by))
        if (owner, by, rights) != (row.owner, row.deleted_by, row.rights):
            hooks = [{**each, "is_on": False} for each in row.webhooks] if row.owner == user else row.webhooks
            values = {"owner": owner, "deleted_by": by, "rights": rights, "webhooks": hooks}
            connection.execute(update(trash).where(trash.c.id == row.id), values)
            changed += 1
    return changed


def forget_person(connection: Connection, user: str) -> int:
    """Delete the person with a user name. Return the number of people deleted."""
    return connection.execute(delete(people).where(people.c.user == user)).rowcount


def audit_entries(connection: Connection, user: str, after: int, limit: int) -> list[tuple[int, dict[str, Any]]]:
    """At most ``limit`` entries of the audit log with numbers above ``after`` that may name a user, in order: number,
    and the columns ``subject``, ``user``, ``address`` and ``detail``."""
    quoted = func.replace(cast(audit.c.detail, Text), f'"{user}"', "") != cast(audit.c.detail, Text)
    named = or_(audit.c.user == user, audit.c.subject == user, quoted)
    query = select(audit.c.id, audit.c.subject, audit.c.user, audit.c.address, audit.c.detail, audit.c.action)
    found = connection.execute(query.where(audit.c.id > after, named).order_by(audit.c.id).limit(limit))
    return [(row.id, {name: value for name, value in row._mapping.items() if name != "id"}) for row in found]


def replace_audit_entry(connection: Connection, number: int, columns: Mapping[str, Any]) -> None:
    """Replace columns of an entry of the audit log."""
    connection.execute(update(audit).where(audit.c.id == number), dict(columns))
