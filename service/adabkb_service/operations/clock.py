"""Whether the clock of a server is right, as far as the database shows."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from adabkb_service.operations.service import Service
from adabkb_service.storage import studies
from adabkb_service.study.clock import utc_now

TOLERANCE = timedelta(minutes=1)

logger = logging.getLogger(__name__)


def warn_of_clock(service: Service) -> None:
    """Warn in the log if the clock shows an earlier time than the newest change of a study, or if it differs from the
    clock of this machine. A server reads its clock once, when it starts."""
    now = service.clock()
    with service.database.reading() as connection:
        newest = studies.newest_change(connection)
    if newest is not None and newest - now > TOLERANCE:
        _warn(now, newest - now, "behind the newest change in the database", "the clock")
    here = utc_now()
    if abs(here - now) > TOLERANCE:
        _warn(now, abs(here - now), "apart from the clock of this machine", "both clocks")


def _warn(now: datetime, by: timedelta, where: str, what: str) -> None:
    logger.warning(
        "the clock of the database shows %s, %.0f s %s: leases and times of results may be wrong; "
        "set %s, then start the server again",
        now.isoformat(timespec="seconds"),
        by.total_seconds(),
        where,
        what,
    )
