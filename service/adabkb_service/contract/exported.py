"""The lines of an exported study: as they are written, and, stricter, as they are read again.

Whatever is stored can be written. A file may have been altered since, so what is read has to be what a study can hold.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from adabkb_service.contract import answers as views
from adabkb_service.contract.parameters import LeaseSeconds, Positive
from adabkb_service.storage.rows import CellStatus

FORMAT = 1
"""Of the JSON lines; ``importing`` takes this one."""


class ModelLine(BaseModel):
    """How far the model had come."""

    folded: int
    figures: dict[str, Any] | None
    error: str | None


class CellLine(BaseModel):
    """A cell, in order of creation."""

    key: str
    status: CellStatus


class DictionaryLine(BaseModel):
    """A member of the dictionary."""

    ordinal: int


class KeyLine(BaseModel):
    """An answer that is kept for repeated requests."""

    scope: str
    key: str
    fingerprint: str
    answer: dict[str, Any]
    created_at: datetime


Count = Annotated[int, Field(ge=0)]
NotNegative = Annotated[float, Field(ge=0)]


class _Finite(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Constants(_Finite):
    lengthscales: list[Positive]
    noise: NotNegative
    variance: Positive


class _Overview(_Constants):
    rows: list[Count]


class _Learned(_Constants):
    """What the ``auto`` profile restores itself from."""

    count: Count
    dictionary: list[Count] | None
    overview: _Overview | None
    beta: NotNegative
    effective_dimension: NotNegative
    upper: float | None


class _Batch(_Finite):
    """What ``ada-bbkb`` restores itself from."""

    drawn_at: Count


class _Figures(_Finite):
    """``studies.model``; numbers that were not finite are null."""

    gap: float | None
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
    learned: _Learned | _Batch | None = None
    stopped: bool
    exhausted: bool = False


class SoundTrialLine(views.Trial):
    """A trial, whose lease could have been given."""

    lease_seconds: LeaseSeconds


class SoundModelLine(ModelLine):
    """Figures that the model could have given."""

    folded: Count

    @field_validator("figures")
    @classmethod
    def _sound(cls, figures: dict[str, Any] | None) -> dict[str, Any] | None:
        """Stored as they are, if they are sound."""
        return figures if figures is None or _Figures.model_validate(figures) else None


class _Answer(_Finite):
    created: bool
    view: dict[str, Any]


class SoundKeyLine(KeyLine):
    """A key that could have been sent, and an answer to it."""

    key: Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,255}$")]
    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-z]{1,64}$")]

    @field_validator("answer")
    @classmethod
    def _sound(cls, answer: dict[str, Any]) -> dict[str, Any]:
        return _Answer.model_validate(answer).model_dump()


class SoundDictionaryLine(DictionaryLine):
    """A member that could be one."""

    ordinal: Count


LINES: dict[str, type[BaseModel]] = {
    "study": views.Study,
    "trial": SoundTrialLine,
    "observation": views.Observation,
    "event": views.Event,
    "model": SoundModelLine,
    "cell": CellLine,
    "dictionary": SoundDictionaryLine,
    "key": SoundKeyLine,
}
"""By ``type``, as they are read."""
