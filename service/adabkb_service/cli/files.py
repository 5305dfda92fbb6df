"""Commands about files, such as photographs, of trials and of results without a trial."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from adabkb_client._study_calls import StudyCalls
from adabkb_service.cli.identifiers import FILE, Observation, TrialNumber
from adabkb_service.cli.output import AsJson, fail, show, table
from adabkb_service.cli.server_calls import Server, StudyId

FileNumber = Annotated[
    int,
    typer.Argument(help="the file's number (adabkb trial files or result files)", show_default=False, parser=str),
    FILE,
]
ToAttach = Annotated[Path, typer.Argument(help="such as photo.jpg", show_default=False)]
Name = Annotated[str | None, typer.Option(help="name of the file (default: its own)", show_default=False)]
MediaType = Annotated[
    str | None, typer.Option(help="such as image/png (default: derived from the name)", show_default=False)
]
Output = Annotated[Path | None, typer.Option(help="file to write instead of stdout", show_default=False)]


@dataclass(frozen=True)
class Files:
    """The files of a trial, or of a result without one."""

    server: Server
    calls: StudyCalls
    number: int
    as_json: bool
    of_result: bool = False

    @property
    def holder(self) -> str:
        """The trial or the result, for messages."""
        return f"{'result' if self.of_result else 'trial'} {self.number}"

    def list(self) -> None:
        """Show the files as a table."""
        files = self.calls.result_files if self.of_result else self.calls.files
        found = self.server.items(files(self.number))
        rows = [[str(each["number"]), each["name"], str(each["size"]), each["user"] or ""] for each in found]
        none = f"{self.holder.capitalize()} has no files."
        show(found, table(["file", "name", "bytes", "added by"], rows) if found else none, as_json=self.as_json)

    def add(self, file: Path, name: str | None, media_type: str | None) -> None:
        """Attach a file."""
        add = self.calls.add_result_file if self.of_result else self.calls.add_file
        try:
            added = self.server.document(add(self.number, file, name, media_type))
        except OSError as error:
            fail(f"cannot read {file} ({error.strerror}); give a file that exists and is readable")
        text = f"File {added['number']} of {self.holder}: {added['name']}, {added['size']} bytes."
        show(added, text, as_json=self.as_json)

    def read(self, number: int, output: Path | None) -> None:
        """Print or save a file."""
        read = self.calls.read_result_file if self.of_result else self.calls.read_file
        content = self.server.perform(read(self.number, number))
        if output is None:
            typer.echo(content, nl=False)
            return
        try:
            output.write_bytes(content)
        except OSError as error:
            fail(f"cannot write {output} ({error.strerror}); give a file in a folder that exists and is writable")
        written = {"written": str(output), "bytes": len(content)}
        show(written, f"{len(content)} bytes were written to {output}.", as_json=self.as_json)

    def remove(self, number: int) -> None:
        """Delete a file."""
        remove = self.calls.remove_result_file if self.of_result else self.calls.remove_file
        self.server.perform(remove(self.number, number))
        show({"removed": number}, f"File {number} of {self.holder} is deleted.", as_json=self.as_json)


def list_files(server: Server, study: StudyId, trial: TrialNumber, as_json: AsJson = False) -> None:
    """List the files of a trial."""
    Files(server, StudyCalls(study), trial, as_json).list()


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
    Files(server, StudyCalls(study), trial, as_json).add(file, name, media_type)


def read(
    server: Server,
    study: StudyId,
    trial: TrialNumber,
    number: FileNumber,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Print or save a file of a trial."""
    Files(server, StudyCalls(study), trial, as_json).read(number, output)


def remove(server: Server, study: StudyId, trial: TrialNumber, number: FileNumber, as_json: AsJson = False) -> None:
    """Delete a file of a trial permanently."""
    Files(server, StudyCalls(study), trial, as_json).remove(number)


def list_of_result(server: Server, study: StudyId, observation: Observation, as_json: AsJson = False) -> None:
    """List the files of a result without a trial."""
    Files(server, StudyCalls(study), observation, as_json, of_result=True).list()


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
    Files(server, StudyCalls(study), observation, as_json, of_result=True).add(file, name, media_type)


def read_of_result(
    server: Server,
    study: StudyId,
    observation: Observation,
    number: FileNumber,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Print or save a file of a result without a trial."""
    Files(server, StudyCalls(study), observation, as_json, of_result=True).read(number, output)


def remove_from_result(
    server: Server, study: StudyId, observation: Observation, number: FileNumber, as_json: AsJson = False
) -> None:
    """Delete a file of a result without a trial permanently."""
    Files(server, StudyCalls(study), observation, as_json, of_result=True).remove(number)
