"""``adabkb data erase-user``. It uses the database directly, as ``adabkb token`` does."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated

import typer

from adabkb_service.cli.database import DatabaseUrl
from adabkb_service.cli.output import AsJson, fail, show
from adabkb_service.cli.tokens import administrator, service_on
from adabkb_service.cli.trash import Yes, confirm
from adabkb_service.contract.access import USER
from adabkb_service.operations.data import erasure
from adabkb_service.operations.data.erasure import Erased


def erase_user(
    user: Annotated[str, typer.Argument(help="the user's name", show_default=False)],
    pseudonym: Annotated[
        str | None, typer.Option(help="the name in its place (default: a random one)", show_default=False)
    ] = None,
    yes: Yes = False,
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Replace a user's name in the database by a pseudonym.

    This revokes the user's tokens, links and sessions, removes shares with the user, and turns off the webhooks of the
    user's studies, which then belong to the pseudonym. Backups, exports and the server's log keep the name, and so do
    texts that people wrote, such as names of workers and tags.

    \b
    adabkb data erase-user ann
    """
    other = pseudonym or erasure.new_pseudonym()
    if re.fullmatch(USER, other) is None or other == user:
        fail(f"--pseudonym: {other!r} must be another user name: letters, digits and any of @._+- after the first")
    confirm(f"Replace the name {user} by {other} for good?", yes=yes)
    if pseudonym is None:
        typer.echo(f"If this is interrupted, repeat the command with --pseudonym {other}", err=True)
    with service_on(database) as service:
        done = erasure.erase(service, administrator(), user, other)
    if done is None:
        fail(f"the name {user} is nowhere in this database; adabkb token list and adabkb session list show names")
    until = done.trash_until and done.trash_until.isoformat()
    show({**asdict(done), "trash_until": until}, "\n".join(_lines(user, done)), as_json=as_json)


def _lines(user: str, done: Erased) -> list[str]:
    counts = ", ".join(f"{number:,} {kind}" for kind, number in done.replaced.items())
    lines = [f"{done.pseudonym} replaces {user} in: {counts}."]
    if done.owned:
        lines.append(f"{done.pseudonym} owns {', '.join(done.owned)}; give each to somebody: adabkb access give")
    if done.trash_until is not None:
        lines.append(
            f"Studies that are in the trash may name {user} in their logs until {done.trash_until:%Y-%m-%d}. To delete "
            "them earlier: adabkb trash purge"
        )
    lines.append(
        "Stored answers to requests are deleted after a day. Backups and exports of earlier times keep the name; a "
        "restored backup needs this command again."
    )
    return lines
