"""Commands about the files of trials, such as photographs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adabkb_client._study_calls import StudyCalls
from adabkb_service.cli.identifiers import FILE, TrialNumber
from adabkb_service.cli.output import AsJson, fail, show, table
from adabkb_service.cli.server_calls import Server, StudyId

FileNumber = Annotated[
    int, typer.Argument(help="the file's number, as listed by adabkb trial files", show_default=False, parser=str), FILE
]


def list_files(server: Server, study: StudyId, trial: TrialNumber, as_json: AsJson = False) -> None:
    """List the files of a trial."""
    found = server.items(StudyCalls(study).files(trial))
    rows = [[str(each["number"]), each["name"], str(each["size"]), each["user"] or ""] for each in found]
    text = table(["file", "name", "bytes", "added by"], rows) if found else f"Trial {trial} has no files."
    show(found, text, as_json=as_json)


def add(
    server: Server,
    study: StudyId,
    trial: TrialNumber,
    file: Annotated[Path, typer.Argument(help="such as photo.jpg", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Attach a file to a trial."""
    try:
        added = server.document(StudyCalls(study).add_file(trial, file))
    except OSError as error:
        fail(f"cannot read {file} ({error.strerror}); give a file that exists and is readable")
    text = f"File {added['number']} of trial {trial}: {added['name']}, {added['size']} bytes."
    show(added, text, as_json=as_json)


def read(
    server: Server,
    study: StudyId,
    trial: TrialNumber,
    number: FileNumber,
    output: Annotated[Path | None, typer.Option(help="file to write instead of stdout", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Print or save a file of a trial."""
    content = server.perform(StudyCalls(study).read_file(trial, number))
    if output is None:
        typer.echo(content, nl=False)
        return
    try:
        output.write_bytes(content)
    except OSError as error:
        fail(f"cannot write {output} ({error.strerror}); give a file in a folder that exists and is writable")
    show(
        {"written": str(output), "bytes": len(content)},
        f"{len(content)} bytes were written to {output}.",
        as_json=as_json,
    )


def remove(server: Server, study: StudyId, trial: TrialNumber, number: FileNumber, as_json: AsJson = False) -> None:
    """Delete a file of a trial permanently."""
    server.perform(StudyCalls(study).remove_file(trial, number))
    show({"removed": number}, f"File {number} of trial {trial} is deleted.", as_json=as_json)
