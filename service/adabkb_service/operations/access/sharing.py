"""/v1/studies/{id}/access: the owner of a study, and the users with whom it is shared."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from adabkb_service.access.caller import RIGHTS, Caller
from adabkb_service.contract.access import Access
from adabkb_service.errors import FieldError, Forbidden, Invalid, json_pointer, shown
from adabkb_service.operations.access import audit
from adabkb_service.operations.service import Service
from adabkb_service.storage import grants, people, studies, tokens, webhooks
from adabkb_service.storage.grants import Right

MAX_SHARES = 1000
NEW_OWNER = "off since the study was given to another owner"
"""The error of a webhook of a former owner."""


def access(service: Service, study_id: str) -> Access:
    """Return the owner and the shares of a study.

    Raises:
        StudyNotFound: the study does not exist.
    """
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        return _view(grants.of_study(connection, study_id))


def right(service: Service, caller: Caller, study_id: str) -> Right:
    """Return the strongest right of the caller on a study that the caller may read: at most ``read`` if the token lacks
    the scope ``work``."""
    if not caller.has("work"):
        return "read"
    if caller.is_admin:
        return "own"
    with service.database.reading() as connection:
        found = grants.of_user(connection, study_id, caller.user or "")
    return max(found, key=RIGHTS.__getitem__, default="read")


def change(service: Service, caller: Caller, study_id: str, changes: dict[str, Any]) -> Access:
    """Change the owner of a study, share it, or revoke shares. If a user owned the study before, a new owner finds its
    webhooks turned off, so that the former owner gets no more messages, and its links revoked, since they acted for the
    former owner.

    Args:
        service: the service.
        caller: the user who makes the change.
        study_id: the study's id.
        changes: ``owner``, the new owner, and ``shared_with``, user -> right (None revokes it). The previous owner
            keeps no right unless ``shared_with`` gives one.

    Raises:
        StudyNotFound: the study does not exist.
        Forbidden: the request changes the owner, and the caller has a storage quota.
        Invalid: the study would be shared with its owner or with too many users, or the new owner has no token and has
            never logged in.
    """
    if "owner" in changes and caller.quotas is not None and caller.quotas.limit_storage:
        raise Forbidden("Your token has a storage quota, so only an administrator can change the owner of your study.")
    with service.database.writing() as connection:
        studies.get(connection, study_id)
        before = grants.of_study(connection, study_id)
        after = _apply(before, changes)
        if grants.owner(after) not in (None, grants.owner(before)):
            check_owner(connection, changes["owner"])
        turned_off: tuple[str, ...] = ()
        revoked: tuple[str, ...] = ()
        if after != before:
            now = service.clock()
            if grants.owner(before) not in (None, grants.owner(after)):
                turned_off = webhooks.turn_off(connection, study_id, now, NEW_OWNER)
                revoked = tokens.revoke_links(connection, study_id, now)
            grants.replace(connection, study_id, after)
            action, detail = _audit_entry(before, after)
            if turned_off:
                detail["webhooks_turned_off"] = turned_off
            if revoked:
                detail["links_revoked"] = revoked
            audit.note(connection, caller, now, action, study_id, **detail)
        given = [user for user, right in changes.get("shared_with", {}).items() if right is not None and user != "*"]
        unknown = tuple(user for user in given if _is_unknown(connection, user))
    done = {"unknown_users": unknown, "webhooks_turned_off": turned_off, "links_revoked": revoked}
    return _view(after).model_copy(update=done)


def _audit_entry(before: dict[str, Right], after: dict[str, Right]) -> tuple[str, dict[str, Any]]:
    """Return the action of an audit entry, and its detail: the new owner, if any, and user -> right of each changed
    share, None if it was revoked."""
    old, new = _view(before), _view(after)
    changed = {
        user: new.shared_with.get(user)
        for user in sorted({*old.shared_with, *new.shared_with})
        if old.shared_with.get(user) != new.shared_with.get(user)
    }
    detail = {"shared_with": changed} if changed else {}
    if new.owner != old.owner:
        return "study given", {"owner": new.owner, **detail}
    return ("study shared" if any(changed.values()) else "study unshared"), detail


def _is_unknown(connection: Connection, user: str) -> bool:
    """Return whether a user has no token and has never logged in, so that the name may be mistyped. On a server
    without tokens, no user is unknown."""
    has_none = tokens.any_exist(connection) and not tokens.has_any(connection, user)
    return has_none and people.find(connection, user) is None


def check_owner(connection: Connection, user: str) -> None:
    """Refuse an owner whom the server does not know.

    Raises:
        Invalid: there is no such user.
    """
    if _is_unknown(connection, user):
        detail = (
            f"is {shown(user)}, who has no token and has never logged in; check the name, or ask an administrator to "
            "create a token first"
        )
        raise Invalid([FieldError("/owner", detail, "owner")])


def _apply(before: dict[str, Right], changes: dict[str, Any]) -> dict[str, Right]:
    owner = changes.get("owner", grants.owner(before))
    shares = {user: right for user, right in before.items() if right != "own"} | changes.get("shared_with", {})
    if owner is not None and owner in changes.get("shared_with", {}):
        detail = "is the owner of the study, who already has full access; leave it out, or change the owner"
        raise Invalid([FieldError(json_pointer("shared_with", owner), detail, "owner")])
    remaining = {user: right for user, right in shares.items() if right is not None and user != owner}
    if len(remaining) > MAX_SHARES:
        detail = (
            f"would share the study with {len(remaining):,} users; the limit is {MAX_SHARES:,}. Share it with "
            "everybody instead: *"
        )
        raise Invalid([FieldError("/shared_with", detail, "too_many_shares")])
    return remaining if owner is None else {**remaining, owner: "own"}


def _view(rights: dict[str, Right]) -> Access:
    shared = {user: right for user, right in sorted(rights.items()) if right != "own"}
    return Access.model_validate({"owner": grants.owner(rights), "shared_with": shared})
