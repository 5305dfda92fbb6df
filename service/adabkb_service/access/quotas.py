"""Quotas of tokens: storage, request rates and processor time of models (decision 0023)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Self

from sqlalchemy import Connection

from adabkb_service.errors import QuotaExceeded
from adabkb_service.storage import tokens, usage
from adabkb_service.storage.usage import Usage

MEGABYTE = 10**6


@dataclass(frozen=True, slots=True)
class Quotas:
    """The quotas of a token; None for no limit."""

    studies: int | None = None
    """The maximum number of studies that the token's user owns."""
    trials: int | None = None
    """The maximum number of trials, and results without a trial, in these studies."""
    megabytes: float | None = None
    """The maximum size of these studies' logs and files, and of the user's trash."""
    requests_per_second: float | None = None
    """The average rate over ``REQUESTS_WINDOW``."""
    model_seconds_per_minute: float | None = None
    """Processor time of the models of the studies that the token works on, and of its large requests."""

    @classmethod
    def of(cls, stored: Mapping[str, float] | None, defaults: Quotas) -> Self:
        """Return the quotas of a token: those that are stored for it, and the defaults of the others."""
        return cls(**{**asdict(defaults), **(stored or {})})

    @property
    def are_none(self) -> bool:
        """Whether nothing is limited."""
        return self == UNLIMITED

    @property
    def limit_storage(self) -> bool:
        """Whether storage is limited."""
        return (self.studies, self.trials, self.megabytes) != (None, None, None)

    def check(self, found: Usage, more: Usage) -> None:
        """Refuse an addition beyond the quotas.

        Args:
            found: the current usage.
            more: the addition.

        Raises:
            QuotaExceeded: the addition exceeds a quota.
        """
        for name, limit, has, adds in (
            ("studies", self.studies, found.studies, more.studies),
            ("trials", self.trials, found.trials, more.trials),
            ("megabytes", self.megabytes, found.bytes / MEGABYTE, more.bytes / MEGABYTE),
        ):
            if limit is not None and adds > 0 and has + adds > limit:
                raise QuotaExceeded(name, limit, has, adds)


UNLIMITED = Quotas()


def check_new_study(connection: Connection, user: str | None, quotas: Quotas | None, size: int) -> None:
    """Refuse a new study that exceeds its user's quotas. Other transactions that check the same user wait until this
    one ends.

    Args:
        connection: a writing transaction.
        user: owner of the new study.
        quotas: the quotas of the user's token.
        size: the size of the study's log, in bytes.

    Raises:
        QuotaExceeded: the study exceeds a quota.
    """
    if user is not None and quotas is not None and quotas.limit_storage:
        tokens.lock_user(connection, user)
        quotas.check(usage.of_user(connection, user), Usage(1, 0, size))


def check_more_bytes(connection: Connection, user: str | None, quotas: Quotas | None, size: int) -> None:
    """Refuse an addition of bytes to a study that exceeds a user's quotas. Other transactions wait as in
    ``check_new_study``.

    Raises:
        QuotaExceeded: the bytes exceed the quota.
    """
    if user is not None and quotas is not None and quotas.limit_storage:
        tokens.lock_user(connection, user)
        quotas.check(usage.of_user(connection, user), Usage(0, 0, size))
