"""The bodies and answers of the page's form for tables of results."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.parameters import Body, Count, Number, Text
from adabkb_service.contract.requests import MAX_ITEMS

MAX_UNDONE = 1000
"""The maximum number of results, and of failed trials, whose import is undone in one request."""


class PastedRow(Body):
    """The cells of a row of a table that the page could assign and read."""

    trial: Count | None = None
    observation: Count | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    value: Number | None = None
    metrics: dict[str, Number] = Field(default_factory=dict)
    failed: bool = False


class PastedRows(Body):
    """Rows of a table that are compared with the stored results."""

    rows: Annotated[list[PastedRow], Field(max_length=MAX_ITEMS), LIMIT_ERRORS]


class KnownRow(BaseModel):
    """The stored result or failed trial that corresponds to a row. One that is not the same has the row's number and
    point, but other values."""

    trial: int | None
    observation: int | None
    """None for a failed trial."""
    is_same: bool
    value: float | None
    metrics: dict[str, float] | None


class KnownRows(BaseModel):
    """An entry per row; null for a row that is new."""

    rows: list[KnownRow | None]


class UndoImportBody(Body):
    """The numbers of the results and failed trials of an import. The results are excluded, the trials withdrawn."""

    observations: Annotated[list[Count], Field(max_length=MAX_UNDONE), LIMIT_ERRORS] = Field(default_factory=list)
    trials: Annotated[list[Count], Field(max_length=MAX_UNDONE), LIMIT_ERRORS] = Field(default_factory=list)
    reason: Text | None = None
