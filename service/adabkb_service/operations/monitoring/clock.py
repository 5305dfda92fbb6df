"""Compare the service's clock with the timestamps in the database, with this machine's clock and with the database's
clock."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from adabkb_service.operations.service import Service
from adabkb_service.storage import studies
from adabkb_service.study.clock import SteadyClock, utc_now

TOLERANCE = timedelta(minutes=1)

logger = logging.getLogger(__name__)


def warn_of_clock(service: Service) -> None:
    """Log a warning if the service's clock is behind the latest change of any study, or differs from this machine's
    clock."""
    now = service.clock()
    with service.database.reading() as connection:
        newest = studies.newest_change(connection)
    if newest is not None and newest - now > TOLERANCE:
        _warn(now, newest - now, "behind the newest change in the database", "the clock of the database's machine")
    here = utc_now()
    if abs(here - now) > TOLERANCE:
        _warn(now, abs(here - now), "different from the clock of this machine", "both machines' clocks")


def follow(clock: SteadyClock) -> None:
    """Adjust a server's clock to the database's clock. Log a warning if they differ by more than ``TOLERANCE``.

    Raises:
        Busy, Unavailable: the database does not answer; the clock is not adjusted.
    """
    ahead = clock.follow()
    if abs(ahead) > TOLERANCE:
        logger.warning(
            "the clock of the database was set, or this machine's clock is wrong: they differ by %.0f s. The server's "
            "clock follows the database's clock gradually. Until then, leases last between half and twice their usual "
            "time.",
            abs(ahead.total_seconds()),
        )


def _warn(now: datetime, by: timedelta, where: str, what: str) -> None:
    logger.warning(
        "the server's clock, which follows the clock of the database, shows %s, %.0f s %s. Leases and times of results "
        "may be wrong. Set %s. The server's clock follows gradually, or at once if you restart the server.",
        now.isoformat(timespec="seconds"),
        by.total_seconds(),
        where,
        what,
    )
