"""Queries that find and replace the name of a user."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Text, bindparam, cast, delete, func, or_, select, union, update

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

REPORTERS = {"trials": trials, "results": observations}
"""The tables whose rows name the user who reported them."""


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
    found = union(
        select(events.c.study_id).where(events.c.payload["user"].as_string() == user),
        *(select(each.c.study_id).where(each.c.reported_by == user) for each in REPORTERS.values()),
        select(files.c.study_id).where(files.c.user == user),
    )
    return sorted(connection.execute(found).scalars())


def replace_in_study(connection: Connection, study_id: str, user: str, other: str) -> dict[str, int]:
    """Replace the name of a user in trials, results and files of a study. Return the numbers of rows, by kind."""
    counts = {
        kind: connection.execute(
            update(table).where(table.c.study_id == study_id, table.c.reported_by == user), {"reported_by": other}
        ).rowcount
        for kind, table in REPORTERS.items()
    }
    added = update(files).where(files.c.study_id == study_id, files.c.user == user)
    return counts | {"files": connection.execute(added, {"user": other}).rowcount}


def logged_by(connection: Connection, study_id: str, user: str) -> dict[int, dict[str, Any]]:
    """Seq -> payload of the events of a study that name a user."""
    theirs = events.c.study_id == study_id, events.c.payload["user"].as_string() == user
    return {row.seq: row.payload for row in connection.execute(select(events.c.seq, events.c.payload).where(*theirs))}


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
