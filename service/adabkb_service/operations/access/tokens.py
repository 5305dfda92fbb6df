"""/v1/tokens and share links (which are tokens): create, list, change and revoke them."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from datetime import datetime

from sqlalchemy import Connection

from adabkb_service.access import secrets
from adabkb_service.access.caller import Caller
from adabkb_service.access.gate import RETURNING
from adabkb_service.access.quotas import MEGABYTE, UNLIMITED
from adabkb_service.contract.access import NewToken, Quotas, Self, Token, TokenBody, Usage
from adabkb_service.errors import FieldError, Forbidden, Invalid, TokenExists, TokenNotFound
from adabkb_service.operations.access import audit
from adabkb_service.operations.service import Service
from adabkb_service.storage import grants, people, studies, tokens, usage
from adabkb_service.storage.rows import as_values
from adabkb_service.storage.tokens import TokenRow
from adabkb_service.study.request import Key

MAX_INHERITED = 100
"""The maximum number of studies that the answer about a new token names."""


def create(service: Service, caller: Caller, body: TokenBody, key: Key | None = None) -> NewToken:
    """Create a token. Only this response contains the secret, which is not stored. So a request with a repeated
    idempotency key is refused.

    Raises:
        TokenExists: the key has already created a token.
        Invalid: the expiry time has passed, or an administrator would be restricted to some studies.
    """
    if body.studies is not None and "admin" in body.scopes:
        detail = "cannot be combined with the scope admin, which covers all studies; leave out one of them"
        raise Invalid([FieldError("/studies", detail, "admin_studies")])
    return _create(service, caller, body, key)


def create_link(
    service: Service, caller: Caller, study_id: str, expires_at: datetime | None, key: Key | None = None
) -> NewToken:
    """Create a share link: a token with which anyone can read a study. It acts for the study's owner. A request with a
    repeated idempotency key is refused.

    Raises:
        TokenExists: the key has already created a link.
        StudyNotFound: the study does not exist.
        Forbidden: the study has no owner, the owner has no valid token and has not logged in within ``RETURNING``, or
            the server requires no tokens.
        Invalid: the expiry time has passed.
    """
    if caller.user is None:
        raise Forbidden("This server needs no tokens, so share its URL instead of a link.")
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        owner = grants.owner(grants.of_study(connection, study_id))
        if owner is None:
            raise Forbidden(f"Study {study_id!r} has no owner, and a link acts for the owner; set an owner first.")
        now = service.clock()
        if not (tokens.valid_of(connection, owner, now) or people.has_logged_in(connection, owner, now - RETURNING)):
            raise Forbidden(
                f"The owner of study {study_id!r}, {owner!r}, has no valid token and has not logged in within "
                f"{RETURNING.days} days, so a link would not work. Create a token for this user, or ask them to log in."
            )
    body = TokenBody(name="link", user=owner, scopes=["read"], studies=[study_id], expires_at=expires_at)
    return _create(service, caller, body, key, link_study_id=study_id)


def page(
    service: Service, after: tuple[datetime, str] | None, limit: int, link_study_id: str | None = None
) -> tuple[list[Token], tuple[datetime, str] | None]:
    """Return a page of tokens except sessions, newest first. If ``link_study_id`` is given, the page has only the share
    links of that study. The second value returned is the ``after`` of the next page; None if this page is not full."""
    with service.database.reading() as connection:
        rows = tokens.page(connection, after, limit, link_study_id)
    return [_view(row) for row in rows], (rows[-1].created_at, rows[-1].id) if len(rows) == limit else None


def revoke(service: Service, caller: Caller, token_id: str, link_study_id: str | None = None) -> None:
    """Revoke a token. If ``link_study_id`` is given, the token must be a share link of that study.

    Raises:
        TokenNotFound: the token does not exist, or is not such a link.
    """
    with service.database.writing() as connection:
        row = tokens.find(connection, token_id)
        if row is None or (link_study_id is not None and row.link != link_study_id):
            raise TokenNotFound(token_id)
        if row.revoked_at is None or row.link is not None:
            now = service.clock()
            tokens.revoke(connection, token_id, now)
            audit.note(connection, caller, now, "token revoked", token_id, name=row.name, user=row.user)


def change(service: Service, caller: Caller, token_id: str, quotas: dict[str, float | None]) -> Token:
    """Change quotas of a token, by name; None restores the server's default.

    Raises:
        TokenNotFound: the token does not exist.
    """
    with service.database.writing() as connection:
        row = tokens.find(connection, token_id, to_change=True)
        if row is None:
            raise TokenNotFound(token_id)
        changed = replace(row, quotas=_without_none({**(row.quotas or {}), **quotas}))
        if changed != row:
            tokens.set_quotas(connection, token_id, changed.quotas)
            audit.note(connection, caller, service.clock(), "token changed", token_id, quotas=quotas)
    return _view(changed)


def own(service: Service, caller: Caller) -> Self:
    """Return the caller's identity, rights and usage."""
    used = None
    if caller.user is not None and not caller.is_link:
        with service.database.reading() as connection:
            found = usage.of_user(connection, caller.user)
        used = Usage(studies=found.studies, trials=found.trials, megabytes=found.bytes / MEGABYTE)
    return Self(
        user=caller.user,
        scope=caller.scope,
        studies=None if caller.studies is None else list(caller.studies),
        token=caller.token,
        quotas=Quotas(**asdict(caller.quotas or UNLIMITED)),
        usage=used,
    )


def _without_none(quotas: dict[str, float | None]) -> dict[str, float] | None:
    """Return the quotas that are not None; None if there are none."""
    return {name: value for name, value in quotas.items() if value is not None} or None


def _create(
    service: Service, caller: Caller, body: TokenBody, key: Key | None = None, link_study_id: str | None = None
) -> NewToken:
    now, minted = service.clock(), secrets.mint(None if key is None else id_of(key))
    if body.expires_at is not None and body.expires_at <= now:
        raise Invalid([FieldError("/expires_at", "must be in the future", "expired")])
    row = TokenRow(
        id=minted.id,
        digest=secrets.digest(minted.token),
        user=body.user or body.name,
        name=body.name,
        scopes=body.scopes,
        studies=body.studies,
        link=link_study_id,
        created_at=now,
        expires_at=body.expires_at,
        revoked_at=None,
        used_at=None,
        quotas=_without_none(body.quotas.changes()),
    )
    shown = _view(row)
    with service.database.writing() as connection:
        if key is not None and tokens.find(connection, row.id) is not None:
            raise TokenExists(row.id)
        inherited = [] if link_study_id is not None else _inherited(connection, row.user)
        tokens.add(connection, row)
        audit.note(connection, caller, now, "token created", row.id, **_details(shown))
    return NewToken(**dict(shown), token=minted.token, inherited_studies=tuple(inherited))


def _inherited(connection: Connection, user: str) -> list[str]:
    """Return studies on which a user has a right; none for a user whom the server knows."""
    if tokens.has_any(connection, user) or people.find(connection, user) is not None:
        return []
    return grants.studies_of(connection, user, MAX_INHERITED)


def id_of(key: Key) -> str:
    """Return the id of the token or webhook that a request with this key creates."""
    return hashlib.sha256(f"{key.scope}\n{key.name}".encode()).hexdigest()[:12]


def _view(row: TokenRow) -> Token:
    fields = {name: value for name, value in as_values(row).items() if name in Token.model_fields}
    return Token.model_validate({**fields, "quotas": row.quotas or {}})


def _details(token: Token) -> dict[str, object]:
    """Return the details of a new token for the audit log."""
    return token.model_dump(mode="json", include={"name", "user", "scopes", "studies", "link", "expires_at", "quotas"})
