"""``adabkb token`` and ``adabkb data audit``. They use the database directly, so anyone with access to it can restore
admin access."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from pydantic import ValidationError

from adabkb_service.access.caller import Caller
from adabkb_service.cli.database import DatabaseUrl, opened, settings
from adabkb_service.cli.identifiers import STUDIES, TokenId
from adabkb_service.cli.output import AsJson, fail, show, table
from adabkb_service.contract.access import AuditEntry, QuotasBody, Token, TokenBody
from adabkb_service.contract.wording import sentence
from adabkb_service.operations.access import audit, tokens
from adabkb_service.operations.service import Service
from adabkb_service.storage import migration
from adabkb_service.storage.audit import EVERYTHING, Filter
from adabkb_service.storage.tokens import Scope

PAGE = 1000
DAYS = 36_500
"""The maximum validity of a token in days."""
DATES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]
"""Formats of a time."""
NAMES = f"names are {', '.join(QuotasBody.model_fields)}"


def create(
    name: Annotated[
        str, typer.Argument(help="name of the user or program, such as ann or ann-gpu-1", show_default=False)
    ],
    user: Annotated[
        str | None, typer.Option(help="user whose studies it may access (default: the name)", show_default=False)
    ] = None,
    scope: Annotated[
        Scope, typer.Option(help="work includes read; admin includes both, for the studies of all users")
    ] = "work",
    study: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID|BEGINNING*", help="only for these studies; may be repeated (default: all)", show_default=False
        ),
        STUDIES,
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(min=0, max=DAYS, help="days until it expires (default: never)", show_default=False),
    ] = None,
    quota: Annotated[
        list[str] | None, typer.Option(metavar="NAME=NUMBER", help=f"may be repeated; {NAMES}", show_default=False)
    ] = None,
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Create a token and show it once. After the first one, the server refuses requests without a token.

    \b
    adabkb token create admin --scope admin
    adabkb token create ann-gpu-1 --user ann --study "vision-*" --days 90
    adabkb token create bob --quota studies=20 --quota requests_per_second=50
    """
    expires_at = None if days is None else datetime.now(UTC) + timedelta(days=days)
    quotas = _quotas(quota or [])
    try:
        body = TokenBody(
            name=name, user=user, scopes=[scope], studies=study or None, expires_at=expires_at, quotas=quotas
        )
    except ValidationError as error:
        field_error = error.errors()[0]
        fail(f"{_option(str(field_error['loc'][0]))}: {field_error['input']!r} {sentence(field_error)}")
    with service_on(database, existing=False) as service:
        made = tokens.create(service, administrator(), body)
    if made.inherited_studies:
        listed = ", ".join(made.inherited_studies)
        text = f"{made.user} already has rights on {listed}; if this is another person, revoke the token, and choose"
        typer.echo(f"warning: {text} another name", err=True)
    show(
        made.model_dump(mode="json"),
        f"Token {made.id} for {made.user} ({scope}). It is not shown again; programs take it from ADABKB_TOKEN:\n"
        f"{made.token}",
        as_json=as_json,
    )


def list_tokens(database: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """List all tokens, newest first."""
    with service_on(database) as service:
        found = list(_all(service))
    text = table(
        ["id", "name", "user", "scope", "studies", "last used", "expires", "quotas"], [_row(token) for token in found]
    )
    show([token.model_dump(mode="json") for token in found], text if found else "There are no tokens.", as_json=as_json)


def revoke(
    token: TokenId,
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Revoke a token. Running servers notice within 5 seconds."""
    with service_on(database) as service:
        tokens.revoke(service, administrator(), token)
    show({"revoked": token}, f"Token {token} is revoked.", as_json=as_json)


def change_quotas(
    token: TokenId,
    quota: Annotated[list[str], typer.Argument(metavar="NAME=NUMBER...", help=NAMES, show_default=False)],
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Change quotas of a token.

    Running servers notice within 5 seconds.

    \b
    adabkb token quota 0123456789ab trials=100000 megabytes=500
    adabkb token quota 0123456789ab trials=default
    """
    quotas = _quotas(quota)
    with service_on(database) as service:
        changed = tokens.change(service, administrator(), token, quotas.changes())
    show(
        changed.model_dump(mode="json"), f"Token {token}: {_own_quotas(changed) or 'default quotas'}.", as_json=as_json
    )


def show_audit(
    last: Annotated[int, typer.Option(min=1, max=PAGE, help="number of entries to show")] = 100,
    user: Annotated[str | None, typer.Option(help="only what this user did", show_default=False)] = None,
    token: Annotated[
        str | None, typer.Option(metavar="ID", help="only what was done with this token", show_default=False)
    ] = None,
    subject: Annotated[
        str | None, typer.Option(help="only what was done to this study, token or user", show_default=False)
    ] = None,
    action: Annotated[
        str | None, typer.Option(help='only this action, such as "study deleted"', show_default=False)
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            formats=DATES,
            metavar="DATE",
            help="only entries since this day, or time as in 2026-11-01T12:00:00 (UTC)",
            show_default=False,
        ),
    ] = None,
    database: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """List who did what, newest first.

    The audit log records changes of tokens, of whole studies and of sharing, and refused requests.

    \b
    adabkb data audit --token 0123456789ab --since 2026-11-01
    """
    only = Filter(user, token, subject, action, None if since is None else since.replace(tzinfo=UTC))
    with service_on(database) as service:
        found = audit.page(service, 0, last, only)
    none = "The audit log is empty." if only == EVERYTHING else "The audit log has no such entries."
    text = "\n".join(map(_line, found)) or none
    show([entry.model_dump(mode="json") for entry in found], text, as_json=as_json)


@contextmanager
def service_on(database: str | None, *, existing: bool = True) -> Iterator[Service]:
    """Yield the service on a database, without models."""
    with opened(settings(database=database).database, existing=existing) as found:
        (migration.require if existing else migration.prepare)(found)
        yield Service(found)


def administrator() -> Caller:
    """Return an administrator, since anyone with access to the database may do everything."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        user = "unknown"
    return Caller(user=user, scope="admin", address="command line")


def _all(service: Service) -> Iterator[Token]:
    after: tuple[datetime, str] | None = None
    while True:
        found, after = tokens.page(service, after, PAGE)
        yield from found
        if after is None:
            return


def _quotas(given: list[str]) -> QuotasBody:
    """Parse quotas such as trials=1000; ``default`` stands for the server's quota."""
    named = {name: number for name, _, number in (each.partition("=") for each in given)}
    try:
        return QuotasBody.model_validate({name: _number(number) for name, number in named.items()})
    except ValidationError as error:
        field_error = error.errors()[0]
        fail(f"quota {field_error['loc'][0]}: {named[str(field_error['loc'][0])]!r} {sentence(field_error)}; {NAMES}")


def _number(text: str) -> float | str | None:
    """Return a number, None for the server's default, or the text, which is then refused."""
    try:
        return None if text == "default" else float(text)
    except ValueError:
        return text


def _own_quotas(token: Token) -> str:
    """Return the token's own quotas as text; empty without any."""
    return ", ".join(f"{name}={value:g}" for name, value in token.quotas.model_dump().items() if value is not None)


def _option(field: str) -> str:
    return {"name": "NAME", "studies": "--study"}.get(field, f"--{field}")


def _row(token: Token) -> list[str]:
    may = ",".join(token.scopes) if token.link is None else "link"
    until = "revoked" if token.revoked_at else "" if token.expires_at is None else f"{token.expires_at:%Y-%m-%d %H:%M}"
    used = "" if token.used_at is None else f"{token.used_at:%Y-%m-%d %H:%M}"
    return [token.id, token.name, token.user, may, ",".join(token.studies or ["all"]), used, until, _own_quotas(token)]


def _line(entry: AuditEntry) -> str:
    times = f" ({entry.count} times)" if entry.count > 1 else ""
    person = entry.detail.get("person")
    named = person and f"({person['email'] or person['name']}, {person['subject']})"
    user = " ".join(filter(None, [entry.user, named, entry.token and f"token {entry.token}"]))
    who = f"by {user} from {entry.address}" if user else f"from {entry.address}"
    return f"{entry.at:%Y-%m-%d %H:%M:%S} {entry.action}: {entry.subject}{_access(entry)}{times}, {who}"


def _access(entry: AuditEntry) -> str:
    """Return the change of the owner and of shares that an entry records."""
    owner = [f"to {entry.detail['owner']}"] if "owner" in entry.detail and entry.action == "study given" else []
    shares = entry.detail.get("shared_with", {}).items()
    changes = [f"no longer with {user}" if right is None else f"with {user} ({right})" for user, right in shares]
    return "".join(f", {change}" for change in [*owner, *changes])
