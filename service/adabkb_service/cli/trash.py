"""``adabkb study delete`` and the trash."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from adabkb_client import _client_calls as client_calls
from adabkb_client._study_calls import StudyCalls
from adabkb_service.cli.described import summary
from adabkb_service.cli.identifiers import DELETION
from adabkb_service.cli.output import AsJson, fail, show
from adabkb_service.cli.rows import columns
from adabkb_service.cli.server_calls import Server, StudyId

Yes = Annotated[bool, typer.Option("--yes", help="do not ask for confirmation")]


def delete_study(
    server: Server,
    study: StudyId,
    purge: Annotated[bool, typer.Option("--purge", help="delete permanently instead of moving to the trash")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete a study and everything in it.

    Unless you pass --purge, you can restore it for 30 days: adabkb trash restore. While it is in the trash, its
    webhooks send nothing and its links do not work.
    """
    confirm(f"Delete study {study} with all its results{' permanently' if purge else ''}?", yes=yes)
    server.perform(StudyCalls(study).delete(purge=purge))
    how = "" if purge else f" For 30 days you can restore it: adabkb trash restore {study}"
    show({"deleted": study}, f"Study {study} is deleted.{how}", as_json=as_json)


def list_trash(
    server: Server,
    owner: Annotated[
        str | None, typer.Option(metavar="USER", help="only studies that this user owned", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List your deleted studies, the most recently deleted ones first.

    Administrators see those of all users.
    """
    found = server.items(client_calls.trash(owner))
    rows = [
        {
            "deletion": each["deletion"],
            "study": each["study"],
            "title": each["title"],
            "owner": each["owner"],
            "results": each["results"],
            "deleted": _minute(each["deleted_at"]),
            "kept until": _minute(each["purged_at"]),
        }
        for each in found
    ]
    none = "There are no such studies in the trash." if owner else "The trash is empty."
    show(found, columns(rows) if found else none, as_json=as_json)


def restore_study(
    server: Server,
    study: StudyId,
    deletion: Annotated[
        int | None,
        typer.Option(
            metavar="<int>",
            help="number of the deletion if there are several (adabkb trash list; default: the last)",
            parser=str,
        ),
        DELETION,
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Restore a deleted study. It continues where it stopped, with its webhooks and links."""
    found = server.document(client_calls.restore_study(study, deletion))
    show(found, summary(found), as_json=as_json)


def purge_study(
    server: Server,
    deletion: Annotated[
        int, typer.Argument(help="number of the deletion (adabkb trash list)", show_default=False, parser=str), DELETION
    ],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Permanently delete a study in the trash."""
    confirm(f"Permanently delete the study of deletion {deletion} from the trash?", yes=yes)
    server.perform(client_calls.purge_study(deletion))
    show({"purged": deletion}, f"Deletion {deletion} is no longer in the trash.", as_json=as_json)


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation, unless ``yes``. Without a terminal, end the command with an error."""
    if yes:
        return
    if not sys.stdin.isatty():
        fail(f"there is no terminal to confirm this: {question} Pass --yes")
    typer.confirm(question, abort=True)


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")
