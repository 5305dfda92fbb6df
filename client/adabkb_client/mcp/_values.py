"""The types of the tools' arguments, which define their input schemas."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WithJsonSchema, WrapValidator
from pydantic_core import PydanticCustomError

LONGEST_KEY = 200
"""The maximum length in characters. The server accepts 255, of which ``_keys.py`` needs a few."""


def _told_once(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Replace the errors of all members of a union by one error."""
    try:
        return handler(value)
    except ValidationError:
        raise PydanticCustomError(
            "choice", "must be a number, a text, true, false, null, or a list of these; numbers must be finite"
        ) from None


Number = Annotated[float, Field(allow_inf_nan=False)]
Scalar = bool | int | Number | str | None
SCALARS = [{"type": name} for name in ("number", "string", "boolean", "null")]
Value = Annotated[
    Scalar | list[Scalar],
    Field(union_mode="smart"),
    WrapValidator(_told_once),
    WithJsonSchema({"anyOf": [*SCALARS, {"type": "array", "items": {"anyOf": SCALARS}}]}),  # short, as it occurs often
]
Point = dict[str, Value]
"""Values by the names of parameters."""

StudyId = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="id of the study: letters, digits, dots, underscores, hyphens",
    ),
]
TrialNumber = Annotated[int, Field(ge=1, le=2**31 - 1, description="number of the trial, from suggest")]
Result = Annotated[
    Number | None,
    Field(description="the measured objective, in its units; leave it out if there are several objectives"),
]
StdError = Annotated[
    Annotated[float, Field(ge=0, allow_inf_nan=False)] | None,
    Field(description="standard error of value, in the same units, if known"),
]
Metrics = Annotated[
    dict[str, Number] | None,
    Field(description="every other metric that the study measures, and its objectives if there are several, by name"),
]
Partial = Annotated[
    bool,
    Field(description="true if some numbers are not measured yet; the same tool adds them later, for the same trial"),
]
StdErrors = Annotated[
    dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] | None,
    Field(description="standard errors of metrics by name, if known"),
]
Key = Annotated[
    str | None,
    Field(
        pattern=rf"^[!-~]{{1,{LONGEST_KEY}}}$",
        description="any text without spaces, unique to this change. To repeat a call safely, repeat it with its key: "
        "the change is made once, and the answer is the same",
    ),
]
Limit = Annotated[int, Field(ge=1, le=100, description="items at most")]
Cursor = Annotated[str | None, Field(description="next_cursor of the answer before, for the items that follow")]
