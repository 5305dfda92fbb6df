"""/v1/usage: the storage that each user uses, with the user's quotas."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from adabkb_service.access.quotas import MEGABYTE, UNLIMITED, Quotas
from adabkb_service.contract.access import StorageQuotas, UserUsage
from adabkb_service.operations.service import Service
from adabkb_service.storage import tokens, usage


def page(service: Service, defaults: Quotas, after: str, limit: int) -> tuple[list[UserUsage], str | None]:
    """Return the usage of a page of users, ordered by name.

    Args:
        service: the service.
        defaults: the quotas of tokens without their own.
        after: the last name of the previous page; empty for the first page.
        limit: the maximum number of users.

    Returns:
        The users of the page, and the ``after`` of the next page; None if this page is not full.
    """
    with service.database.reading() as connection:
        now = service.clock()
        users = usage.users(connection, after, limit)
        found = usage.of_users(connection, users)
        items = [
            UserUsage(
                user=user,
                studies=used.studies,
                trials=used.trials,
                megabytes=used.bytes / MEGABYTE,
                quotas=_quotas(connection, user, defaults, now),
            )
            for user, used in found.items()
        ]
    return items, users[-1] if len(users) == limit else None


def _quotas(connection: Connection, user: str, defaults: Quotas, now: datetime) -> StorageQuotas | None:
    """Return the largest quotas among a user's valid tokens; None without one."""
    rows = tokens.valid_of(connection, user, now)
    each = [Quotas.of(row.quotas, UNLIMITED if "admin" in row.scopes else defaults) for row in rows]
    if not each:
        return None
    return StorageQuotas(
        studies=_largest([quotas.studies for quotas in each]),
        trials=_largest([quotas.trials for quotas in each]),
        megabytes=_largest([quotas.megabytes for quotas in each]),
    )


def _largest(limits: list[float | None] | list[int | None]) -> float | None:
    known = [limit for limit in limits if limit is not None]
    return max(known) if len(known) == len(limits) else None
