"""Authenticate and authorize requests by their tokens. Grants are cached for some seconds; denials are not, so new
permissions take effect at once on every server."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from cachetools import TTLCache
from sqlalchemy import Connection

from adabkb_service.access.caller import SCOPE_FOR, SCOPES, Caller, Need, is_enough
from adabkb_service.access.meter import Meter
from adabkb_service.access.quotas import UNLIMITED, Quotas
from adabkb_service.access.secrets import digest, id_of, is_same
from adabkb_service.errors import Forbidden, NotOwner, StudyNotFound, Unauthorized
from adabkb_service.storage import audit, grants, people, tokens
from adabkb_service.storage.audit import AuditRow
from adabkb_service.storage.database import Database
from adabkb_service.storage.tokens import TokenRow
from adabkb_service.study.clock import Clock

GRANT_CACHE_SECONDS = 4.0
"""How long a grant is cached. For that long, other servers still accept a revoked token or share, and requests that
read a deleted study. Event streams check twice a second, so they end within 5 s."""
MAX_CACHED_GRANTS = 10_000
RETURNING = timedelta(days=90)
"""Links to a person's studies work for this long after their last login, even if the person has no valid token or
session."""
MAX_REFUSAL_KINDS = 100
"""The maximum number of kinds of refusals that are counted separately between two writes of the audit log. Refusals of
further kinds are counted together by their reason."""

RefusalKind = tuple[str, str, str | None]
"""Address, reason, and the id in the token."""


class Gate:
    """Checks the tokens of a database and their rights.

    Args:
        database: the database of the tokens.
        clock: current time, for expiry.
        is_open: whether every request is allowed while no token exists.
        stays_open: whether every request is allowed even if tokens exist.
        defaults: quotas of tokens without their own; they do not apply to administrators.
        meter: counts what tokens spend.
        timer: current time in seconds, for the cache.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        is_open: bool,
        stays_open: bool = False,
        defaults: Quotas = UNLIMITED,
        meter: Meter | None = None,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.is_open = is_open or stays_open
        """Whether requests need no token."""
        self.refusals = Refusals()
        self.meter = meter or Meter()
        self._database = database
        self._clock = clock
        self._stays_open = stays_open
        self.defaults = defaults
        """Quotas of tokens without their own."""
        self._guard = threading.Lock()
        self._rights_changes = 0
        """Number of calls of ``rights_changed``."""
        self._allowed: TTLCache[tuple[str, Need, str | None], Caller] = TTLCache(
            MAX_CACHED_GRANTS, GRANT_CACHE_SECONDS, timer
        )
        self._used: set[str] = set()

    def close_if_tokens(self) -> None:
        """Require tokens from now on if any exist."""
        if self.is_open and not self._stays_open:
            with self._database.reading() as connection:
                self.is_open = not tokens.any_exist(connection)

    def cached_caller(self, token: str, need: Need, study_id: str | None) -> Caller | None:
        """Return the caller with a token, if the same grant is cached."""
        return self._cached_caller(digest(token), need, study_id)

    def cached_caller_by_id(self, token_id: str, need: Need, study_id: str | None) -> Caller | None:
        """Return the caller with a token that another server has checked, if the same grant is cached."""
        return self._cached_caller(token_id, need, study_id)

    def _cached_caller(self, key: str, need: Need, study_id: str | None) -> Caller | None:
        with self._guard:
            caller = self._allowed.get((key, need, study_id))
            if caller is not None and caller.token is not None:
                self._used.add(caller.token)
        return caller

    def admit(self, token: str | None, need: Need, study_id: str | None, address: str) -> Caller:
        """Check a token and its rights in the database. Return the caller.

        Args:
            token: as sent; None without one.
            need: right that the route requires.
            study_id: study of the request, if any.
            address: network address of the sender.

        Raises:
            Unauthorized: the token is missing, unknown, expired or revoked.
            Forbidden: the token lacks the right.
            StudyNotFound: the study does not exist, or the caller may not read it.
        """
        try:
            return self._admit(lambda connection: _row_of(connection, token), digest(token or ""), need, study_id)
        except Unauthorized as refusal:
            self.refusals.note(address, refusal.reason, None if token is None else id_of(token))
            raise

    def admit_by_id(self, token_id: str, need: Need, study_id: str | None) -> Caller:
        """Check in the database the rights of a token that another server has checked, and return the caller.

        Args:
            token_id: the id of the token.
            need, study_id: see ``admit``.

        Raises:
            Unauthorized, Forbidden, StudyNotFound: see ``admit``.
        """
        return self._admit(lambda connection: _row_by_id(connection, token_id), token_id, need, study_id)

    def _admit(self, find: Callable[[Connection], TokenRow], key: str, need: Need, study_id: str | None) -> Caller:
        """Return the authorized caller with the token that ``find`` returns. The grant is cached under ``key``, unless
        rights have changed while it was read."""
        with self._guard:
            rights_changes = self._rights_changes
        with self._database.reading() as connection:
            row = find(connection)
            caller = self._caller(connection, row)
            _check(connection, caller, need, study_id)
            if need != "read":
                self.meter.read_storage(connection, caller)
        with self._guard:
            self._used.add(row.id)
            if rights_changes == self._rights_changes:
                self._allowed[key, need, study_id] = caller
        return caller

    def rights_changed(self) -> None:
        """Drop all cached grants, and require tokens from now on if any exist."""
        with self._guard:
            self._rights_changes += 1
            self._allowed.clear()
        self.close_if_tokens()

    def store_uses(self) -> None:
        """Store which tokens were used since the last call, and which requests were refused. If this fails, the next
        call stores them.

        Raises:
            Busy, Unavailable: as for ``Database.writing``.
        """
        now = self._clock()
        with self._guard:
            used, self._used = self._used, set()
        refused = self.refusals.take(now)
        if not (used or refused):
            return
        try:
            self._database.write(lambda connection: _store(connection, used, refused, now))
        except Exception:
            with self._guard:
                self._used |= used
            self.refusals.put_back(refused)
            raise

    def _caller(self, connection: Connection, row: TokenRow) -> Caller:
        now = self._clock()
        caller = _valid_caller(row, now)
        if row.is_session:
            caller = replace(caller, person=people.find(connection, row.user))
        paying = _paying_token(connection, row, now)
        quotas = Quotas.of(paying.quotas, UNLIMITED if caller.is_admin else self.defaults)
        payer = paying.id if paying.quotas else f"user {row.user}"
        return replace(caller, quotas=None if quotas.are_none else quotas, payer=payer)


def _row_of(connection: Connection, token: str | None) -> TokenRow:
    """Return the row of a token, after checking the secret.

    Raises:
        Unauthorized: the token is missing or unknown.
    """
    if token is None:
        raise Unauthorized("The request has no token.", "missing")
    if not token:
        raise Unauthorized("The header must be Authorization: Bearer adabkb_..., with the word Bearer.", "unknown")
    token_id = id_of(token)
    row = None if token_id is None else tokens.find(connection, token_id)
    if row is None or not is_same(row.digest, token):
        raise _unknown()
    return row


def _row_by_id(connection: Connection, token_id: str) -> TokenRow:
    """Return the row of a token.

    Raises:
        Unauthorized: the token is unknown.
    """
    row = tokens.find(connection, token_id)
    if row is None:
        raise _unknown()
    return row


def _unknown() -> Unauthorized:
    return Unauthorized("There is no such token.", "unknown")


def _shown(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def _valid_caller(row: TokenRow, now: datetime) -> Caller:
    """Return the caller with a token; without quotas.

    Raises:
        Unauthorized: the token is revoked or expired.
    """
    if row.revoked_at is not None:
        ended = "Your session was ended" if row.is_session else "The token was revoked"
        raise Unauthorized(f"{ended} at {_shown(row.revoked_at)}.", "revoked")
    if row.expires_at is not None and row.expires_at <= now:
        expired = "Your session expired" if row.is_session else "The token expired"
        raise Unauthorized(f"{expired} at {_shown(row.expires_at)}.", "expired")
    studies = None if row.studies is None else tuple(row.studies)
    scope = max(row.scopes, key=SCOPES.__getitem__)
    return Caller(row.user, scope, studies, row.id, is_link=row.link is not None)


def _paying_token(connection: Connection, row: TokenRow, now: datetime) -> TokenRow:
    """Return the token whose quotas apply. For a link, it is the token of the study's owner that allows the fewest
    requests. If the owner has no valid token but has logged in recently, it is the link itself.

    Raises:
        Unauthorized: the owner has no valid token, and has not logged in recently.
    """
    if row.link is None:
        return row
    found = tokens.valid_of(connection, row.user, now)
    if not found and people.has_logged_in(connection, row.user, now - RETURNING):
        return row
    if not found:
        reason = (
            "This link does not work now, because the study's owner has no valid token, and has not logged in "
            "recently; ask the owner to log in, or to get a token."
        )
        raise Unauthorized(reason, "revoked")
    return min(found, key=lambda each: (each.quotas or {}).get("requests_per_second", math.inf))


def _check(connection: Connection, caller: Caller, need: Need, study_id: str | None) -> None:
    scope = SCOPE_FOR[need]
    if not caller.has(scope):
        raise Forbidden(f"This requires a token with the scope {scope}; the request's token has {caller.scope}.", scope)
    if study_id is None or caller.is_admin:
        return
    rights = grants.of_user(connection, study_id, caller.user or "") if caller.reaches(study_id) else []
    if not rights:
        raise StudyNotFound(study_id)
    if not is_enough(rights, need):
        if need == "own":
            raise NotOwner(f"Study {study_id!r} is shared with you, but only its owner may do this.")
        raise Forbidden(f"Study {study_id!r} is shared with you, but you may only read it.")


def _store(connection: Connection, used: set[str], refused: list[AuditRow], now: datetime) -> None:
    if used:
        tokens.note_use(connection, used, now)
    if refused:
        audit.add(connection, refused)


class Refusals:
    """Counts requests without a valid token until they are stored in the audit log, so that a flood of them does not
    fill the disk."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._counts: Counter[RefusalKind] = Counter()

    def note(self, address: str, reason: str, token_id: str | None) -> None:
        """Count a refusal."""
        with self._guard:
            self._add((address, reason, token_id), 1)

    def put_back(self, rows: list[AuditRow]) -> None:
        """Count again the refusals that could not be stored."""
        with self._guard:
            for row in rows:
                self._add((row.address, row.subject, row.token), row.count)

    def _add(self, kind: RefusalKind, count: int) -> None:
        is_known = kind in self._counts or len(self._counts) < MAX_REFUSAL_KINDS
        self._counts[kind if is_known else ("many", kind[1], None)] += count

    def take(self, now: datetime) -> list[AuditRow]:
        """Return the audit entries for refusals since the last call."""
        with self._guard:
            counts, self._counts = self._counts, Counter()
        return [
            AuditRow(now, "refused", reason, None, token_id, address, count=count)
            for (address, reason, token_id), count in counts.items()
        ]
