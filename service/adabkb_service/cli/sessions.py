"""``adabkb session``. It uses the database directly, as ``adabkb token`` does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from adabkb_service.cli.database import DatabaseUrl
from adabkb_service.cli.output import AsJson, show, table
from adabkb_service.cli.tokens import PAGE, administrator, service_on
from adabkb_service.contract.access import Person
from adabkb_service.operations.access import sessions
from adabkb_service.operations.service import Service


def list_sessions(database: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """List people who have logged in by OpenID Connect, with their scopes."""
    with service_on(database) as service:
        found = list(_all(service))
    rows = [
        [each.user, each.name, each.email or "", each.scope, f"{each.seen_at:%Y-%m-%d %H:%M}", str(each.sessions)]
        for each in found
    ]
    text = (
        table(["user", "name", "email", "scope", "last login", "sessions"], rows) if found else "Nobody has logged in."
    )
    show([each.model_dump(mode="json") for each in found], text, as_json=as_json)


def end(
    user: Annotated[str, typer.Argument(help="user name of the person", show_default=False)],
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """End all sessions of a person. Running servers notice within 5 seconds.

    To keep the person out, first remove them from their groups at the identity provider.
    """
    with service_on(database) as service:
        ended = sessions.end_all(service, administrator(), user)
    show({"ended": ended}, f"{ended} session{'' if ended == 1 else 's'} of {user} ended.", as_json=as_json)


def _all(service: Service) -> Iterator[Person]:
    after: str | None = ""
    while after is not None:
        found, after = sessions.page(service, after, PAGE)
        yield from found
