"""``adabkb data erase-user``: replace the name of a user by a pseudonym.

The name of a user in an event has no effect on the state of a study or on its model, so a study's log may change in
this field alone (decision 134).
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection

from adabkb_service.access.caller import Caller
from adabkb_service.access.gate import GRANT_CACHE_SECONDS
from adabkb_service.errors import FieldError, Invalid, shown
from adabkb_service.operations.access import audit
from adabkb_service.operations.access.sharing import NEW_OWNER
from adabkb_service.operations.data import trash as deleted
from adabkb_service.operations.service import Service
from adabkb_service.storage import names, people, studies, tokens, trash, webhooks
from adabkb_service.storage.database import Database
from adabkb_service.storage.event_payloads import payload_bytes
from adabkb_service.storage.pace import Pace
from adabkb_service.study.contention import repeating

ENTRIES_AT_ONCE = 500
"""The maximum number of audit entries that one transaction changes."""
WAIT_SECONDS = GRANT_CACHE_SECONDS + 1
"""Seconds after the last revocation of a token until no server accepts it."""
ERASED = "erased"
"""In place of the network address in the audit entries of the user."""
OF_USERS = ("user", "owner", "name")
"""Fields of the details in the audit log that contain the name of a user or of a token."""
OF_PERSON = ("login", "logout", "sessions ended")
"""Actions in the audit log whose subject is a user."""


@dataclass(frozen=True, slots=True)
class Erased:
    """What was replaced."""

    pseudonym: str
    replaced: dict[str, int]
    """Kind of rows -> number of rows that named the user; only kinds with such rows."""
    owned: list[str]
    """The studies of the pseudonym, which the user owned."""
    trash_until: datetime | None
    """When the last study that is in the trash now is deleted permanently. Until then, the content of a study in the
    trash may contain the name. None if the trash is empty."""


def new_pseudonym() -> str:
    """Return a random name of a former user."""
    return f"former-{secrets.token_hex(4)}"


def erase(
    service: Service, caller: Caller, user: str, pseudonym: str, *, sleep: Callable[[float], None] = time.sleep
) -> Erased | None:
    """Replace the name of a user by a pseudonym in tokens, rights, the trash, the audit log, and the logs, trials,
    results and files of studies. Revoke the user's tokens, links and sessions, remove shares with the user, and delete
    the person that the identity provider named. Turn off the webhooks of the user's studies. Servers may keep running.

    After an interruption, call it again with the same pseudonym.

    Args:
        service: the service.
        caller: who erases the name.
        user: the name.
        pseudonym: the name in its place.
        sleep: waits a number of seconds between the last revocation of a token and the change of studies. For some
            seconds, servers accept revoked tokens, so their requests may store the name.

    Returns:
        What was replaced; None if the name is nowhere in the database.

    Raises:
        Invalid: another user has the pseudonym.
    """
    with service.database.reading() as connection:
        _check_unused(connection, user, pseudonym)
    write = partial(repeating(service.timeouts.contention), service.database.write)
    counts: Counter[str] = write(partial(_erase_access, user=user, other=pseudonym, now=service.clock()))
    with service.database.reading() as connection:
        revoked_at = names.last_revocation(connection, pseudonym)
    if revoked_at is not None:
        passed = (service.clock() - revoked_at).total_seconds()
        sleep(max(0.0, min(WAIT_SECONDS, WAIT_SECONDS - passed)))
        # The user may have created or deleted studies meanwhile.
        counts += write(partial(_erase_access, user=user, other=pseudonym, now=service.clock()))
    while in_studies := _erase_in_studies(service, user, pseudonym):
        counts += in_studies
    after: int | None = 0
    while after is not None:
        changed, after = write(partial(_erase_in_audit, user=user, other=pseudonym, after=after))
        counts["audit entries"] += changed
    found = {kind: number for kind, number in counts.items() if number}
    if not found:
        return None
    with service.database.writing() as connection:
        audit.note(connection, caller, service.clock(), "user erased", pseudonym, **found)
        latest = trash.page(connection, 0, 1)
        owned = names.owned_studies(connection, pseudonym)
    until = latest[0].deleted_at + timedelta(days=deleted.DAYS) if latest else None
    return Erased(pseudonym, found, owned, until)


def _check_unused(connection: Connection, user: str, pseudonym: str) -> None:
    """Refuse the name of another user as the pseudonym.

    Raises:
        Invalid: another user has the pseudonym.
    """
    is_active = tokens.has_any(connection, pseudonym) or people.find(connection, pseudonym) is not None
    # After an interruption, only the pseudonym still has tokens and rights.
    if is_active or (names.is_known(connection, pseudonym) and names.is_known(connection, user)):
        detail = f"{shown(pseudonym)} is the name of another user; choose another pseudonym"
        raise Invalid([FieldError("/pseudonym", detail, "user")])


def _erase_access(connection: Connection, user: str, other: str, now: datetime) -> Counter[str]:
    """Erase a name from tokens, rights and the trash. Return the numbers of rows by kind."""
    for study_id in names.owned_studies(connection, user):
        webhooks.turn_off(connection, study_id, now, NEW_OWNER)
    return Counter(
        {
            "tokens, links and sessions": names.replace_in_tokens(connection, user, other, now),
            "rights": names.replace_in_rights(connection, user, other),
            "studies in the trash": names.replace_in_trash(connection, user, other),
            "people": names.forget_person(connection, user),
        }
    )


def _erase_in_studies(service: Service, user: str, other: str) -> Counter[str]:
    """Erase a name from each study that contains it now. Return the numbers of rows by kind; nothing if no study
    contains the name."""
    with service.database.reading() as connection:
        of_user = names.studies_with(connection, user)
    counts: Counter[str] = Counter()
    for study_id in of_user:
        for kind in names.NAMED:
            with service.database.reading() as connection:
                numbers = names.numbers_in_study(connection, study_id, kind, user)
            pace = Pace()
            while numbers:
                some, numbers = numbers[: pace.rows], numbers[pace.rows :]
                erase_some = partial(_erase_in_rows, service.database, pace, study_id, kind, some, user, other)
                counts[kind] += repeating(service.timeouts.contention)(erase_some)
    return counts


def _erase_in_rows(
    database: Database, pace: Pace, study_id: str, kind: names.Kind, numbers: Sequence[int], user: str, other: str
) -> int:
    """Erase a name from the rows of a kind in a study with these numbers. Return how many named the user."""
    with pace.transaction(database) as connection:
        # Servers that change the study wait for the lock: otherwise, a busy study would change during each attempt.
        study = studies.find(connection, study_id, to_change=True)
        if study is None:  # deleted
            return 0
        more = 0
        if kind == "events":
            before = names.payloads_with(connection, study_id, numbers, user)
            after = {seq: {**payload, "user": other} for seq, payload in before.items()}
            names.replace_payloads(connection, study_id, after)
            more = sum(payload_bytes(after[seq]) - payload_bytes(payload) for seq, payload in before.items())
            changed = len(after)
        else:
            changed = names.replace_in_rows(connection, study_id, kind, numbers, user, other)
        # The new version makes servers read the study again.
        is_unchanged = studies.commit_if_unchanged(connection, study, log_bytes=study.log_bytes + more)
        assert is_unchanged  # it is locked
    return changed


def _erase_in_audit(connection: Connection, user: str, other: str, after: int) -> tuple[int, int | None]:
    """Erase a name from some entries of the audit log, those with numbers above ``after``. Return how many changed, and
    the number after which to continue; None at the end."""
    found = names.audit_entries(connection, user, after, ENTRIES_AT_ONCE)
    changed = 0
    for number, columns in found:
        erased = _without(columns, user, other)
        if erased != columns:
            names.replace_audit_entry(connection, number, erased)
            changed += 1
    return changed, found[-1][0] if len(found) == ENTRIES_AT_ONCE else None


def _without(entry: dict[str, Any], user: str, other: str) -> dict[str, Any]:
    """Return the columns of an audit entry without the name of a user."""
    detail: dict[str, Any] = {
        field: other if field in OF_USERS and value == user else value for field, value in entry["detail"].items()
    }
    if shares := detail.get("shared_with"):
        detail["shared_with"] = {other if name == user else name: right for name, right in shares.items()}
    if detail.get("user") == other and "name" in detail:  # an entry about a token
        detail["name"] = other
    is_by_user, is_about_user = entry["user"] == user, entry["action"] in OF_PERSON and entry["subject"] == user
    if is_by_user or is_about_user:
        detail.pop("person", None)
    return {
        **entry,
        "subject": other if is_about_user else entry["subject"],
        "user": other if is_by_user else entry["user"],
        "address": ERASED if is_by_user else entry["address"],
        "detail": detail,
    }
