"""Commands about files, such as photographs, of trials and of results without a trial."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from adabkb_client._study_calls import StudyCalls
from adabkb_service.cli.identifiers import FILE, Observation, TrialNumber
from adabkb_service.cli.output import AsJson, fail, show, table
from adabkb_service.cli.server_calls import Server, StudyId

FileNumber = Annotated[
    int, typer.Argument(help="the file's number, as listed by adabkb trial files", show_default=False, parser=str), FILE
]
ResultFileNumber = Annotated[
    int,
    typer.Argument(help="the file's number, as listed by adabkb result files", show_default=False, parser=str),
    FILE,
]
ToAttach = Annotated[Path, typer.Argument(help="such as photo.jpg", show_default=False)]
Name = Annotated[str | None, typer.Option(help="name of the file (default: its own)", show_default=False)]
MediaType = Annotated[
    str | None, typer.Option(help="such as image/png (default: derived from the name)", show_default=False)
]
Output = Annotated[Path | None, typer.Option(help="file to write instead of stdout", show_default=False)]


def list_files(server: Server, study: StudyId, trial: TrialNumber, as_json: AsJson = False) -> None:
    """List the files of a trial."""
    _show_list(server.items(StudyCalls(study).files(trial)), f"Trial {trial}", as_json=as_json)


def add(
    server: Server,
    study: StudyId,
    trial: TrialNumber,
    file: ToAttach,
    name: Name = None,
    media_type: MediaType = None,
    as_json: AsJson = False,
) -> None:
    """Attach a file to a trial."""
    added = _added(lambda: server.document(StudyCalls(study).add_file(trial, file, name, media_type)), file)
    show(added, _told(added, f"trial {trial}"), as_json=as_json)


def read(
    server: Server,
    study: StudyId,
    trial: TrialNumber,
    number: FileNumber,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Print or save a file of a trial."""
    _write(server.perform(StudyCalls(study).read_file(trial, number)), output, as_json=as_json)


def remove(server: Server, study: StudyId, trial: TrialNumber, number: FileNumber, as_json: AsJson = False) -> None:
    """Delete a file of a trial permanently."""
    server.perform(StudyCalls(study).remove_file(trial, number))
    show({"removed": number}, f"File {number} of trial {trial} is deleted.", as_json=as_json)


def list_of_result(server: Server, study: StudyId, observation: Observation, as_json: AsJson = False) -> None:
    """List the files of a result without a trial."""
    _show_list(server.items(StudyCalls(study).result_files(observation)), f"Result {observation}", as_json=as_json)


def add_to_result(
    server: Server,
    study: StudyId,
    observation: Observation,
    file: ToAttach,
    name: Name = None,
    media_type: MediaType = None,
    as_json: AsJson = False,
) -> None:
    """Attach a file to a result without a trial."""
    added = _added(
        lambda: server.document(StudyCalls(study).add_result_file(observation, file, name, media_type)), file
    )
    show(added, _told(added, f"result {observation}"), as_json=as_json)


def read_of_result(
    server: Server,
    study: StudyId,
    observation: Observation,
    number: ResultFileNumber,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Print or save a file of a result without a trial."""
    _write(server.perform(StudyCalls(study).read_result_file(observation, number)), output, as_json=as_json)


def remove_from_result(
    server: Server, study: StudyId, observation: Observation, number: ResultFileNumber, as_json: AsJson = False
) -> None:
    """Delete a file of a result without a trial permanently."""
    server.perform(StudyCalls(study).remove_result_file(observation, number))
    show({"removed": number}, f"File {number} of result {observation} is deleted.", as_json=as_json)


def _show_list(found: list[dict[str, Any]], holder: str, *, as_json: bool) -> None:
    rows = [[str(each["number"]), each["name"], str(each["size"]), each["user"] or ""] for each in found]
    text = table(["file", "name", "bytes", "added by"], rows) if found else f"{holder} has no files."
    show(found, text, as_json=as_json)


def _added(attach: Callable[[], dict[str, Any]], file: Path) -> dict[str, Any]:
    try:
        return attach()
    except OSError as error:
        fail(f"cannot read {file} ({error.strerror}); give a file that exists and is readable")


def _told(added: dict[str, Any], holder: str) -> str:
    return f"File {added['number']} of {holder}: {added['name']}, {added['size']} bytes."


def _write(content: bytes, output: Path | None, *, as_json: bool) -> None:
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
