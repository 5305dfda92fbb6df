"""/v1/studies/{id}/trials/{n}/files and /observations/{seq}/files: files that users attach to trials, and to results
without a trial, such as photographs and spectra.

Files are not in the log, and suggestions do not depend on them. Exports and the trash include them.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

from sqlalchemy import Connection

from adabkb_service.access.caller import Caller
from adabkb_service.access.quotas import check_more_bytes
from adabkb_service.contract.files import File
from adabkb_service.errors import Contention, FieldError, FileNotFound, Invalid
from adabkb_service.operations.service import Service
from adabkb_service.storage import files, observations, studies, trials
from adabkb_service.storage.files import FileRow, Holder
from adabkb_service.storage.rows import ObservationRow, TrialRow, as_values
from adabkb_service.study.contention import repeating

MOST = 100
"""The maximum number of files per trial, and per result without a trial."""
MAX_NAME_LENGTH = 200
MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,40}/[a-z0-9][a-z0-9!#$&^_.+-]{0,50}")
UNKNOWN_TYPE = "application/octet-stream"
IMAGES = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}
"""Images that a page may show, recognized by their first bytes. SVG is excluded, since it can contain scripts."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Size limits of files, in bytes."""

    file: int
    """The limit for one file."""
    study: int
    """The limit for all files of a study."""


def add(
    service: Service,
    caller: Caller,
    limits: Limits,
    study_id: str,
    holder: Holder,
    name: str,
    media_type: str,
    content: bytes,
) -> tuple[File, bool]:
    """Attach a file to a trial in any state, or to a result without a trial.

    Returns:
        The file, and whether it is new. A trial or result has the same content under the same name only once.

    Raises:
        StudyNotFound, TrialNotFound, ObservationNotFound: the study, the trial or the result does not exist.
        Invalid: the name is invalid, the result belongs to a trial, the file is empty or too large, the trial or result
            has too many files, or the files of the study would be too large together.
        QuotaExceeded: the user's storage quota is used up.
        Contention: the study changed during every attempt.
    """
    _check(name, content, limits)
    kind = media_type.partition(";")[0].strip().lower()
    kind = kind if MEDIA_TYPE.fullmatch(kind) else UNKNOWN_TYPE
    digest = hashlib.sha256(content).hexdigest()

    def attempt() -> tuple[File, bool]:
        with service.database.writing() as connection:
            study = studies.get(connection, study_id)
            _check_holder(connection, study_id, holder)
            existing = files.page(connection, study_id, 0, of=holder)
            for row in existing:
                if (row.name, row.digest) == (name, digest):
                    return _view(row), False
            _check_room(len(existing), files.total(connection, study_id) + len(content), limits)
            check_more_bytes(connection, caller.user, caller.quotas, len(content))
            number = study.last_file + 1
            if not studies.commit_if_unchanged(connection, study, last_file=number):
                raise Contention(f"Study {study_id!r} changed meanwhile; try again.")
            now = service.clock()
            row = FileRow(
                study_id, number, holder.trial, holder.observation, name, kind, len(content), digest, caller.user, now
            )
            files.add(connection, row, content)
            return _view(row), True

    return repeating(service.timeouts.contention)(attempt)


def page(service: Service, study_id: str, holder: Holder, after: int, limit: int) -> list[File]:
    """Return up to ``limit`` of the files of a trial or result whose numbers are larger than ``after``, in order.

    Raises:
        StudyNotFound, TrialNotFound, ObservationNotFound: the study, the trial or the result does not exist.
    """
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        _holder_row(connection, study_id, holder)
        return [_view(row) for row in files.page(connection, study_id, after, limit, of=holder)]


def read(service: Service, study_id: str, holder: Holder, number: int) -> tuple[File, bytes]:
    """Return a file with its content.

    Raises:
        StudyNotFound, FileNotFound: the study or the file does not exist.
    """
    with service.database.reading() as connection:
        studies.get(connection, study_id)
        row = _file_row(connection, study_id, holder, number)
        return _view(row), files.content(connection, study_id, number)


def remove(service: Service, study_id: str, holder: Holder, number: int) -> None:
    """Delete a file permanently.

    Raises:
        StudyNotFound, FileNotFound: the study or the file does not exist.
    """
    with service.database.writing() as connection:
        studies.get(connection, study_id)
        _file_row(connection, study_id, holder, number)
        files.remove(connection, study_id, number)


def image_type(content: bytes) -> str | None:
    """Return the image type if the content is an image that a page may show, else None. The file's name does not
    matter."""
    return next((kind for kind, beginning in IMAGES.items() if beginning.match(content)), None)


def _holder_row(connection: Connection, study_id: str, holder: Holder) -> TrialRow | ObservationRow:
    if holder.observation is not None:
        return observations.get(connection, study_id, holder.observation)
    return trials.get(connection, study_id, holder.trial or 0)


def _check_holder(connection: Connection, study_id: str, holder: Holder) -> None:
    found = _holder_row(connection, study_id, holder)
    if isinstance(found, ObservationRow) and found.trial is not None:
        detail = f"is for result {found.seq}, which belongs to trial {found.trial}; attach it to that trial"
        raise Invalid([FieldError("", detail, "result_of_trial")])


def _file_row(connection: Connection, study_id: str, holder: Holder, number: int) -> FileRow:
    row = files.find(connection, study_id, holder, number)
    if row is None:
        raise FileNotFound(study_id, holder.trial, holder.observation, number)
    return row


def _check(name: str, content: bytes, limits: Limits) -> None:
    has_invalid_character = any(
        unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") or character in "/\\"
        for character in name
    )
    if not 0 < len(name) <= MAX_NAME_LENGTH or has_invalid_character or name.strip(" .") == "":
        detail = (
            f"must be a file name such as spectrum.csv: up to {MAX_NAME_LENGTH} characters, without slashes, "
            "backslashes or invisible characters"
        )
        raise Invalid([FieldError("?name", detail, "invalid_name")])
    if not content:
        raise Invalid([FieldError("", "is empty; send the content of the file", "empty_file")])
    if len(content) > limits.file:
        detail = f"has {len(content):,} bytes; the limit is {limits.file:,} (the server's setting file_limit)"
        raise Invalid([FieldError("", detail, "file_too_large")])


def _check_room(count: int, size: int, limits: Limits) -> None:
    if count >= MOST:
        detail = f"exceeds the limit of {MOST} files per trial or result; delete one first"
        raise Invalid([FieldError("", detail, "too_many_files")])
    if size > limits.study:
        detail = (
            f"would bring the files of this study to {size:,} bytes; the limit is {limits.study:,} (the server's "
            "setting files_limit). Delete some files first"
        )
        raise Invalid([FieldError("", detail, "files_too_large")])


def _view(row: FileRow) -> File:
    return File.model_validate({name: value for name, value in as_values(row).items() if name in File.model_fields})
