"""The lines of an exported study, as written and, with stricter types, as read.

Any stored study can be exported. A file may be altered after the export, so an import validates it.
"""

from __future__ import annotations

from base64 import b64decode
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from adabkb_service.contract import answers as views
from adabkb_service.contract import history
from adabkb_service.contract.files import File
from adabkb_service.contract.parameters import LeaseSeconds, Positive
from adabkb_service.contract.reports import Step
from adabkb_service.contract.requests import IDEMPOTENCY_KEY, PatchStudyBody
from adabkb_service.contract.settings import IN_COLUMNS
from adabkb_service.storage.rows import ENGINE_REVISION, CellStatus

FORMAT = 1
"""Version of the format. An import accepts only this one."""


class StudyLine(views.Study):
    """The study, with what its answer does not contain."""

    last_file: int
    """The largest number that a file of the study has had."""


class ModelLine(BaseModel):
    """The stored part of the model, except its cells and its dictionary."""

    model_seq: int
    figures: dict[str, Any] | None
    error: str | None
    engine_revision: int
    """The engine's revision when the study was created."""


class CellLine(BaseModel):
    """A cell, in order of creation."""

    key: str
    status: CellStatus


class DictionaryLine(BaseModel):
    """A member of the dictionary."""

    ordinal: int


class ReportLine(BaseModel):
    """An intermediate value of a trial."""

    trial: int
    attempt: int
    step: int
    value: float
    reported_at: datetime


class FileLine(File):
    """A file, with its content in base64."""

    content: str


class KeyLine(BaseModel):
    """An answer stored under an idempotency key."""

    scope: str
    key: str
    fingerprint: str
    answer: dict[str, Any]
    created_at: datetime


MAX_COLUMN = 2**31 - 1
"""The largest integer in a column of 32 bits."""
Count = Annotated[int, Field(ge=0)]
NotNegative = Annotated[float, Field(ge=0)]


class _Finite(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Hyperparameters(_Finite):
    lengthscales: list[Positive]
    noise: NotNegative
    variance: Positive


class _Additive(_Finite):
    shares: list[Positive]
    lengthscale: Positive


class _Learned(_Hyperparameters):
    """The checkpoint, from which ``auto`` is restored."""

    additive: _Additive | None = None
    plates: Positive | None = None
    components: list[Positive] = []

    count: Count
    dictionary: list[Count] | None
    beta: NotNegative
    effective_dimension: NotNegative
    metrics: list[_Learned] = []
    """The checkpoint of each metric."""


class _Batch(_Finite):
    """The state from which ``ada-bbkb`` is restored."""

    drawn_at: Count


class _Figures(_Finite):
    """The model statistics in ``studies.model``. Numbers that were not finite are stored as null."""

    gap: float | None
    gap_share: float | None
    beta: float | None
    leaves: Count
    depth: Count
    dictionary: Count
    basis: Count
    effective_dimension: NotNegative
    points: Count
    observations: Count
    offset: float | None
    scale: float | None
    clipped: Count
    learned: _Learned | _Batch | None
    rests_on: Count
    """The seq of the last event that affects these statistics."""
    stopped: bool
    exhausted: bool
    results_since_gain: Count | None = None
    outliers: list[Count] = []


class SoundStudyLine(StudyLine):
    """A study whose files can be numbered further."""

    last_file: Annotated[int, Field(ge=0, le=MAX_COLUMN)]


class SoundTrialLine(views.Trial):
    """A trial whose lease has a valid length."""

    lease_seconds: LeaseSeconds


class SoundModelLine(ModelLine):
    """A model line with valid statistics."""

    model_seq: Count
    engine_revision: Annotated[int, Field(ge=1, le=ENGINE_REVISION)]

    @field_validator("figures")
    @classmethod
    def _sound(cls, figures: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return the statistics unchanged, if they are valid."""
        if figures is not None:
            _Figures.model_validate(figures)
        return figures


class _Answer(_Finite):
    created: bool
    view: dict[str, Any]


class SoundKeyLine(KeyLine):
    """A valid idempotency key with a valid answer."""

    key: Annotated[str, Field(pattern=IDEMPOTENCY_KEY)]
    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-z]{1,64}$")]

    @field_validator("answer")
    @classmethod
    def _sound(cls, answer: dict[str, Any]) -> dict[str, Any]:
        return _Answer.model_validate(answer).model_dump()


class _Cell(BaseModel):
    model_config = ConfigDict(strict=True)

    key: str


class _Suggested(BaseModel):
    """Fields of a suggestion's payload that are only displayed."""

    model_config = ConfigDict(strict=True)

    capped: bool
    fixed: dict[str, Any] | None
    cell: _Cell | None


class _Numbers(BaseModel):
    """Fields of payloads that are columns of rows."""

    model_config = ConfigDict(strict=True)

    plate: Annotated[int, Field(ge=1, le=MAX_COLUMN)] | None = None
    attempt: Annotated[int, Field(ge=0, le=MAX_COLUMN)] | None = None


class _Updated(BaseModel):
    """Fields of an update's payload that are only displayed."""

    model_config = ConfigDict(strict=True)

    was: dict[str, Any] = {}

    @field_validator("was")
    @classmethod
    def _sound(cls, was: dict[str, Any]) -> dict[str, Any]:
        """Return the former values unchanged, if a request could have set those that are in columns."""
        known = {name: value for name, value in was.items() if name in IN_COLUMNS and value is not None}
        PatchStudyBody.model_validate(known)
        return was


class SoundEventLine(history.Event):
    """An event whose payload can be shown."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        _Numbers.model_validate(self.payload)
        if self.kind == "suggested":
            _Suggested.model_validate(self.payload)
        if self.kind == "updated":
            _Updated.model_validate(self.payload)
        if self.kind == "created" and self.trial is not None:
            raise PydanticCustomError("created", "trial must be null in an event of the kind created")
        return self


class SoundFileLine(FileLine):
    """A file whose size and digest are those of its content."""

    number: Annotated[int, Field(ge=1, le=MAX_COLUMN)]
    name: Annotated[str, Field(min_length=1, max_length=1000)]
    media_type: Annotated[str, Field(max_length=100)]
    user: Annotated[str, Field(max_length=100)] | None

    @model_validator(mode="after")
    def _sound(self) -> Self:
        try:
            content = b64decode(self.content, validate=True)
        except ValueError:
            raise PydanticCustomError("content", "content must be in base64") from None
        if (len(content), sha256(content).hexdigest()) != (self.size, self.digest):
            raise PydanticCustomError("content", "content does not match size and digest")
        return self


class SoundReportLine(ReportLine):
    """An intermediate value with a step that a request could have."""

    step: Step


class SoundDictionaryLine(DictionaryLine):
    """A member of the dictionary with a valid ordinal."""

    ordinal: Count


LINES: dict[str, type[BaseModel]] = {
    "study": SoundStudyLine,
    "trial": SoundTrialLine,
    "observation": views.Observation,
    "report": SoundReportLine,
    "file": SoundFileLine,
    "event": SoundEventLine,
    "model": SoundModelLine,
    "cell": CellLine,
    "dictionary": SoundDictionaryLine,
    "key": SoundKeyLine,
}
"""The types of lines that an import reads, by the field ``type``."""
