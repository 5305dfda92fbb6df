"""How much the holder of a token may store, and how fast they may ask. Decision 0023 says why so."""

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
    """That its user may own."""
    trials: int | None = None
    """In these studies, with results at points of one's own."""
    megabytes: float | None = None
    """Of these studies' logs and files, and of the user's trash."""
    requests_per_second: float | None = None
    """Over some seconds."""
    model_seconds_per_minute: float | None = None
    """Of a processor, for the models of the studies that the token works on."""

    @classmethod
    def of(cls, stored: Mapping[str, float] | None, defaults: Quotas) -> Self:
        """Those of a token, and else the defaults."""
        return cls(**{**asdict(defaults), **(stored or {})})

    @property
    def are_none(self) -> bool:
        """Whether nothing is limited."""
        return self == UNLIMITED

    @property
    def limit_storage(self) -> bool:
        """Whether what is stored is limited."""
        return (self.studies, self.trials, self.megabytes) != (None, None, None)

    def check(self, found: Usage, more: Usage) -> None:
        """Refuse what would exceed them.

        Args:
            found: what there is.
            more: what would be added.

        Raises:
            QuotaExceeded: that is too much.
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
    """Refuse another study to a user, by what the database says now. Other transactions that ask for the same user
    wait until this one has ended.

    Args:
        connection: a writing transaction.
        user: who would own the study.
        quotas: of their token.
        size: of the study's log, in bytes.

    Raises:
        QuotaExceeded: that would be too much.
    """
    if user is not None and quotas is not None and quotas.limit_storage:
        tokens.lock_user(connection, user)
        quotas.check(usage.of_user(connection, user), Usage(1, 0, size))


def check_more_bytes(connection: Connection, user: str | None, quotas: Quotas | None, size: int) -> None:
    """Refuse more bytes in a study to a user, as ``check_new_study`` does.

    Raises:
        QuotaExceeded: that would be too much.
    """
    if user is not None and quotas is not None and quotas.limit_storage:
        tokens.lock_user(connection, user)
        quotas.check(usage.of_user(connection, user), Usage(0, 0, size))
