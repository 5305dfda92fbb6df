"""Commands about the owner of a study and the users it is shared with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import typer

from adabkb_client import Access
from adabkb_client import _client_calls as client_calls
from adabkb_client._calls import Steps
from adabkb_client._study_calls import StudyCalls
from adabkb_service.cli.identifiers import LINK
from adabkb_service.cli.output import AsJson, fail, show, table
from adabkb_service.cli.server_calls import Server, StudyId
from adabkb_service.cli.trash import Yes, confirm

EVERYBODY = "*"
User = Annotated[str, typer.Argument(help='a user, or "*" for everybody', show_default=False)]


def show_access(server: Server, study: StudyId, as_json: AsJson = False) -> None:
    """Show the owner of a study and the users it is shared with."""
    found = server.document(StudyCalls(study).access())
    show(found, _description(study, found), as_json=as_json)


def share(
    server: Server,
    study: StudyId,
    user: User,
    right: Annotated[
        Literal["read", "work"],
        typer.Option(help="read, or work: also ask for trials, report results and change the study"),
    ] = "read",
    as_json: AsJson = False,
) -> None:
    """Let a user read a study or work on it.

    "*" stands for everybody who has a token or logs in.

    \b
    adabkb access share svm bob --right work
    adabkb access share svm "*"
    """
    _change(server, study, StudyCalls(study).share(user, right), as_json=as_json)


def unshare(server: Server, study: StudyId, user: User, as_json: AsJson = False) -> None:
    """Stop sharing a study with a user, or with everybody."""
    _change(server, study, StudyCalls(study).unshare(user), as_json=as_json)


def give(
    server: Server,
    study: StudyId,
    owner: Annotated[str, typer.Argument(help="the new owner", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Give a study to another owner.

    The new owner has full access. The former owner loses access. The study's webhooks are turned off, and its
    links are revoked.
    """
    _change(server, study, StudyCalls(study).give(owner), as_json=as_json)


def give_all(
    server: Server,
    former: Annotated[str, typer.Argument(help="the present owner", show_default=False)],
    owner: Annotated[str, typer.Argument(help="the new owner", show_default=False)],
    prefix: Annotated[
        str, typer.Option(help="only studies whose ids begin so (default: all)", show_default=False)
    ] = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Give all studies of a user to another owner.

    Each study changes as with adabkb access give. Studies in the trash keep their owner. If the command is interrupted,
    repeat it.

    \b
    adabkb access give-all ann bob
    adabkb access give-all ann bob --prefix vision-
    """
    owned = [each["id"] for each in server.items(client_calls.studies(owner=former))]
    studies = [study for study in owned if study.startswith(prefix)]
    if not studies:
        fail(f"{former} owns no study{f' whose id begins with {prefix}' if prefix else ''} that you can see")
    if former == owner:
        fail(f"{owner} already owns these studies; name another user")
    confirm(f"Give {', '.join(studies)} to {owner}?", yes=yes)
    given: list[dict[str, Any]] = []
    for study in studies:
        given.append({"study": study, **server.document(StudyCalls(study).give(owner))})
        if not as_json:
            typer.echo(_description(study, given[-1]))
    if as_json:
        show(given, "", as_json=True)


def link(
    server: Server,
    study: StudyId,
    days: Annotated[float | None, typer.Option(min=0, help="days until it expires (default: never)")] = None,
    as_json: AsJson = False,
) -> None:
    """Create a link: a token that can only read this study.

    The token is shown only once. Anyone who has it can read the study.
    """
    until = None if days is None else datetime.now(UTC) + timedelta(days=days)
    made = server.document(StudyCalls(study).link(until))
    text = (
        f"Anyone with this token can read study {study}: ADABKB_TOKEN={made['token']} adabkb study show {study}\n"
        f"To revoke it: adabkb access unlink {study} {made['id']}"
    )
    show(made, text, as_json=as_json)


def list_links(server: Server, study: StudyId, as_json: AsJson = False) -> None:
    """List the links to a study, newest first."""
    found = server.items(StudyCalls(study).links())
    rows = [[each["id"], each["expires_at"] or "", "revoked" if each["revoked_at"] else ""] for each in found]
    show(found, table(["id", "expires", "state"], rows) if found else f"Study {study} has no links.", as_json=as_json)


def unlink(
    server: Server,
    study: StudyId,
    link: Annotated[str, typer.Argument(help="the link's id (adabkb access links)", show_default=False), LINK],
    as_json: AsJson = False,
) -> None:
    """Revoke the token of a link."""
    server.perform(StudyCalls(study).unlink(link))
    show({"unlinked": link}, f"Link {link} is revoked.", as_json=as_json)


def whoami(server: Server, as_json: AsJson = False) -> None:
    """Show your user, scope and quotas on the server."""
    found = server.document(client_calls.whoami())
    only = "" if found["studies"] is None else f", for the studies {', '.join(found['studies'])}"
    text = f"You are {found['user']}, with the scope {found['scope']}{only}."
    for name, quota in found["quotas"].items():
        if quota is not None:
            used = (found["usage"] or {}).get(name)
            text += f"\n{name}: {'' if used is None else f'{_amount(used)} of '}{_amount(quota)}"
    show(
        found,
        text if found["user"] else "This server needs no tokens: everybody may do everything.",
        as_json=as_json,
    )


def usage(server: Server, as_json: AsJson = False) -> None:
    """Show the storage that each user uses, the most megabytes first.

    Only administrators may do this. A quota is the largest one among the valid tokens of the user.
    """
    found = sorted(server.items(client_calls.usage()), key=lambda each: -each["megabytes"])
    names = ("megabytes", "studies", "trials")
    rows = [[each["user"], *(_of_quota(each, name) for name in names)] for each in found]
    show(found, table(["user", *names], rows) if found else "There are no users.", as_json=as_json)


def _of_quota(user: dict[str, Any], name: str) -> str:
    quota = (user["quotas"] or {}).get(name)
    return f"{_amount(user[name])}{'' if quota is None else f' of {_amount(quota)}'}"


def _amount(number: float) -> str:
    """Return a number without an exponent: six significant digits, and all digits of a whole number."""
    return f"{number:,.0f}" if number % 1 == 0 or number >= 1e5 else f"{number:,.6g}"


def _change(server: Server, study: str, change: Steps[Access], *, as_json: bool) -> None:
    found = server.document(change)
    show(found, _description(study, found), as_json=as_json)


def _description(study: str, access: dict[str, Any]) -> str:
    owner = f"belongs to {access['owner']}" if access["owner"] else "has no owner"
    if not access["owner"] and not access["shared_with"]:
        owner += ": only administrators see it"
    verbs = {"read": "may read it", "work": "may work on it"}
    shares = [f"{_named(user)} {verbs[right]}" for user, right in access["shared_with"].items()]
    text = f"Study {study} {'; '.join([owner, *shares])}."
    for user in access.get("unknown_users", ()):
        text += f"\n{user} has no token and has never logged in; check the name"
        text += f", or stop sharing: adabkb access unshare {study} {user}"
    for webhook in access.get("webhooks_turned_off", ()):
        text += f"\nWebhook {webhook} is off, since the former owner may get its messages; to remove it: "
        text += f"adabkb study remove-webhook {study} {webhook}; to keep it: "
        text += f"adabkb study change-webhook {study} {webhook} --on"
    for each in access.get("links_revoked", ()):
        text += f"\nLink {each} is revoked, since it acted for the former owner; for a new one: "
        text += f"adabkb access link {study}"
    return text


def _named(user: str) -> str:
    return "everybody" if user == EVERYBODY else user
