"""Readiness of a server. Load balancers and orchestrators send requests only to a server that is ready."""

from __future__ import annotations

import time
from collections.abc import Iterator

from adabkb_service.errors import AdaBKBError, FieldError, NotReady, SchemaMismatch
from adabkb_service.operations.service import Service
from adabkb_service.storage import migration


def check(service: Service) -> None:
    """Check the database, its schema, the sweeper and the model processes. If the last write failed, or the disk of
    PostgreSQL was full, make a test write.

    Raises:
        NotReady: at least one of these parts does not work. The error lists the parts that do not.
    """
    field_errors = [FieldError(f"/{part}", detail, "not_ready") for part, detail in _field_errors(service)]
    if field_errors:
        raise NotReady(field_errors)


def _field_errors(service: Service) -> Iterator[tuple[str, str]]:
    try:
        with service.database.reading() as connection:
            try:
                migration.check_usable(connection)
            except SchemaMismatch as error:
                yield "schema", error.detail
        if service.database.last_error is not None or service.database.is_full:
            migration.check_writing(service.database)
    except AdaBKBError as error:
        yield "database", error.detail
    late = 0.0 if service.sweep_late_at is None else time.monotonic() - service.sweep_late_at
    if late > 0.0:
        yield "sweeper", f"the check for expired leases is {late:.0f} s late; see the server's log"
    if service.is_loading:
        yield "models", "the server has started and is loading the engine; suggestions wait for it"
    elif down := service.inference.load.down:
        yield "models", f"{down} of the model processes do not run, and the server cannot start them; see its log"
