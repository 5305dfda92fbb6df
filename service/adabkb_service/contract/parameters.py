"""Parameters as users declare them, and the types that all request bodies share.

A validator sees only the fields that are declared before its own. Therefore ``scale`` comes before ``low``, and ``low``
before ``high``, so that each error is reported at its own field.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    field_validator,
    model_validator,
)
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic_core import InitErrorDetails, PydanticCustomError

from adabkb_service.contract.error_limits import LIMIT_ERRORS, with_few_unknown
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.contract.tables import MAX_TABLE_LENGTH, table_of
from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis, IntAxis, StepAxis, identity
from adabkb_service.engine.catalogue import CatalogueAxis, Table
from adabkb_service.engine.space import Fixed
from adabkb_service.errors import shown
from adabkb_service.storage.catalogues import Pieces, pieces_of

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON parser represents exactly."""
MAX_COUNT = 2**31 - 1
MAX_PARAMETERS = 100
MAX_CHOICES = 1000
"""The maximum number of values of an ordinal parameter, and of choices of a categorical one."""
MAX_DESCRIPTORS = 2000
"""The maximum number of descriptors of a parameter's choices."""
MIN_ULPS = 16
"""The smallest step of a float, in units in the last place (ULPs) of its bounds; with smaller steps, values
coincide."""
MAX_TEXT_LENGTH = 1000
MAX_TITLE_LENGTH = 200
MAX_DESCRIPTION_LENGTH = 5000
STUDY_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
MAX_CHOICE_LENGTH = 16
"""The maximum length of a choice that is a list."""
MAX_TAGS = 64

N = TypeVar("N", int, float)


def _integral(value: object) -> object:
    """Convert a float such as 3.0 to the integer 3, since JSON does not distinguish them."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _one_error(value: object, handler: ValidatorFunctionWrapHandler) -> object:
    """Report one error per choice instead of one per type that a choice may have."""
    try:
        return handler(value)
    except ValidationError:
        sentence = (
            f"must be a number, a string of at most {MAX_TEXT_LENGTH} characters, true, false, null, "
            f"or a list of at most {MAX_CHOICE_LENGTH} of these"
        )
        raise PydanticCustomError("choice", sentence) from None


Whole = BeforeValidator(_integral)
"""Accepts a float without a fractional part as an integer. In an ``Annotated`` it must come after the bounds, which
would otherwise be missing from the schema of the API."""
Count = Annotated[int, Field(ge=1, le=MAX_COUNT), Whole]
Seed = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER), Whole]
SafeInteger = Annotated[int, Field(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER), Whole]
Number = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Text = Annotated[str, StringConstraints(max_length=MAX_TEXT_LENGTH)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
StudyId = Annotated[str, StringConstraints(pattern=STUDY_ID)]
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TITLE_LENGTH)]
Description = Annotated[str, StringConstraints(min_length=1, max_length=MAX_DESCRIPTION_LENGTH)]
Constant = Annotated[float, Field(ge=1e-30, le=1e30)]
LeaseSeconds = Annotated[float, Field(gt=0, le=30 * 86400, allow_inf_nan=False)]
Scalar = Annotated[bool | SafeInteger | Number | Text | None, Field(union_mode="smart")]
TableText = Annotated[str, StringConstraints(max_length=MAX_TABLE_LENGTH)]
Choice = Annotated[
    Scalar | Annotated[list[Scalar], Field(max_length=MAX_CHOICE_LENGTH)],
    Field(union_mode="smart"),
    WrapValidator(_one_error),
]
Tags = Annotated[dict[Name, Text], Field(max_length=MAX_TAGS), LIMIT_ERRORS]
Choices = Annotated[list[Choice], Field(min_length=1, max_length=MAX_CHOICES), LIMIT_ERRORS]
When = Annotated[
    Annotated[dict[Name, Choices], Field(min_length=1, max_length=MAX_PARAMETERS), LIMIT_ERRORS] | None,
    Field(
        description="the parameter is active only if each of these parameters is active and has one of these values; "
        "by default it is always active"
    ),
    ABSENT_BY_DEFAULT,
]
"""Conditions, which ``contract/conditions.py`` checks against the other parameters."""
Unit = Annotated[
    Annotated[str, StringConstraints(min_length=1, max_length=30)] | None,
    Field(description="unit for display, such as °C"),
    ABSENT_BY_DEFAULT,
]
"""The unit of the numbers. Nothing is converted."""
Label = Annotated[
    Annotated[str, StringConstraints(min_length=1, max_length=100)] | None,
    Field(description="name for display"),
    ABSENT_BY_DEFAULT,
]
Context = Annotated[
    Literal[False, True, "measured"],
    # generators of clients accept no enumeration of several types
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "string", "enum": ["measured"]}]}),
]
ContextField = Annotated[
    Context,
    Field(
        description="the server does not choose the value. true: each suggest gives it as context; measured: it is "
        "measured with the result, which must give it, and suggest may give an expected value"
    ),
    ABSENT_BY_DEFAULT,
]
"""Whether the parameter is context; ``contract/context.py`` checks it against the rest of a study."""
Described = Annotated[list[Number], FailFast(), Field(max_length=MAX_CHOICES), LIMIT_ERRORS]
"""One number per choice. Only the first error is reported, since there may be thousands of numbers."""
Descriptors = Annotated[
    Annotated[dict[Name, Described], Field(max_length=MAX_DESCRIPTORS), LIMIT_ERRORS],
    Field(
        description="numbers that describe the choices, by name: one per choice, in the order of the choices; choices "
        "with similar numbers are expected to give similar results"
    ),
    ABSENT_BY_DEFAULT,
]


class Body(BaseModel):
    """The body of a request, or a part of it. Unknown fields and values of wrong types are errors."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, json_schema_serialization_defaults_required=True
    )

    refused: ClassVar[Mapping[str, str]] = {}
    """Fields of similar bodies -> why this body does not have them, as a sentence that follows the name."""

    @model_validator(mode="wrap")
    @classmethod
    def _few_unknown_fields(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        return with_few_unknown(data, cls.model_fields, cls.refused, handler)


class Changes(Body):
    """The body of a request that changes something. Absent fields keep their values."""

    def changes(self) -> dict[str, Any]:
        """Return the given fields with their new values, which may be null."""
        return self.model_dump(mode="json", include=self.model_fields_set)


class FloatParameter(Sparse, Body):
    """A real interval or, with a step, the numbers low, low + step, ... up to high. If it is periodic, like an angle
    or a time of day, high is the same point as low."""

    name: Name
    kind: Literal["float"]
    scale: Literal["linear", "log"] = "linear"
    low: Number
    high: Number
    step: Annotated[Positive | None, Field(description="spacing of the values; only on a linear scale")] = None
    periodic: Annotated[
        bool,
        Field(description="whether low and high are the same point, as for an angle; values are below high"),
        ABSENT_BY_DEFAULT,
    ] = False
    context: ContextField = False
    when: When = None
    unit: Unit = None
    label: Label = None

    @field_validator("low")
    @classmethod
    def _positive_on_log(cls, low: float, info: ValidationInfo) -> float:
        return _checked_low(low, info)

    @field_validator("high")
    @classmethod
    def _above_low(cls, high: float, info: ValidationInfo) -> float:
        low = info.data.get("low")
        if low is None:
            return high
        if high <= low:
            raise PydanticCustomError("bounds", "must be greater than low")
        edges = FloatAxis("", low, high, info.data.get("scale", "linear")).raw_bounds
        # Halve before subtracting, as the engine does: the difference of huge bounds would overflow.
        if not edges[1] / 2 - edges[0] / 2 > max(map(abs, edges)) * 1e-12:
            raise PydanticCustomError("bounds", "is too close to low for floating point")
        return high

    @field_validator("step")
    @classmethod
    def _fits_range(cls, step: float | None, info: ValidationInfo) -> float | None:
        low, high = info.data.get("low"), info.data.get("high")
        if step is None or low is None or high is None:
            return step
        if info.data.get("scale") == "log":
            raise PydanticCustomError("log_scale", "must be left out on a log scale")
        if high / step - low / step > MAX_COUNT or step < MIN_ULPS * math.ulp(max(abs(low), abs(high))):
            raise PydanticCustomError("bounds", "is too small; leave it out to allow any number between low and high")
        if StepAxis("", low, high, step).count < 2:
            raise PydanticCustomError("bounds", "must not exceed high - low")
        return step

    @field_validator("periodic")
    @classmethod
    def _check_periodic(cls, periodic: bool, info: ValidationInfo) -> bool:
        if periodic and info.data.get("scale") == "log":
            raise PydanticCustomError("periodic", "must be left out on a log scale, whose ends cannot coincide")
        if periodic and info.data.get("step") is not None:
            raise PydanticCustomError("periodic", "cannot be combined with step; leave one of them out")
        return periodic

    def axis(self) -> Axis:
        """Return the engine's axis."""
        if self.step is not None:
            return StepAxis(self.name, self.low, self.high, self.step)
        return FloatAxis(self.name, self.low, self.high, self.scale, self.periodic)


class IntParameter(Sparse, Body):
    """The integers low, low + step, ... up to high."""

    name: Name
    kind: Literal["int"]
    scale: Literal["linear", "log"] = "linear"
    low: SafeInteger
    high: SafeInteger
    step: Annotated[int, Field(ge=1, le=MAX_SAFE_INTEGER, validate_default=True), Whole] = 1
    context: ContextField = False
    when: When = None
    unit: Unit = None
    label: Label = None

    @field_validator("low")
    @classmethod
    def _positive_on_log(cls, low: int, info: ValidationInfo) -> int:
        return _checked_low(low, info)

    @field_validator("high")
    @classmethod
    def _above_low(cls, high: int, info: ValidationInfo) -> int:
        low = info.data.get("low")
        if low is not None and high <= low:
            raise PydanticCustomError("bounds", "must be greater than low")
        return high

    @field_validator("step")
    @classmethod
    def _within_range(cls, step: int, info: ValidationInfo) -> int:
        low, high = info.data.get("low"), info.data.get("high")
        if low is None or high is None:
            return step
        if step > high - low:
            raise PydanticCustomError("bounds", "must not exceed high - low")
        least = IntAxis("", low, high, info.data.get("scale", "linear"), step).least_step
        if step < least:
            sentence = (
                "must be at least {least}, or the bounds smaller, because floating point cannot represent closer values"
            )
            raise PydanticCustomError("bounds", sentence, {"least": least})
        return step

    def axis(self) -> Axis:
        """Return the engine's axis."""
        return IntAxis(self.name, self.low, self.high, self.scale, self.step)


class OrdinalParameter(Sparse, Body):
    """Values in a meaningful order, as listed."""

    name: Name
    kind: Literal["ordinal"]
    values: Choices
    context: ContextField = False
    when: When = None
    unit: Unit = None
    label: Label = None

    @field_validator("values")
    @classmethod
    def _distinct(cls, values: Choices) -> Choices:
        return _checked_distinct(values)

    def axis(self) -> ChoiceAxis:
        """Return the engine's axis."""
        return ChoiceAxis(self.name, tuple(self.values), ordered=True)


class CategoricalParameter(Sparse, Body):
    """Choices without an order. Descriptors may describe them."""

    name: Name
    kind: Literal["categorical"]
    choices: Choices
    descriptors: Descriptors = Field(default_factory=dict)
    context: ContextField = False
    when: When = None
    unit: Unit = None
    label: Label = None

    @field_validator("choices")
    @classmethod
    def _distinct(cls, choices: Choices) -> Choices:
        return _checked_distinct(choices)

    @field_validator("descriptors")
    @classmethod
    def _of_each_choice(cls, descriptors: Descriptors, info: ValidationInfo) -> Descriptors:
        choices = info.data.get("choices")
        if choices is None:
            return descriptors
        for name, numbers in descriptors.items():
            if len(numbers) != len(choices):
                counts = {"name": repr(name), "numbers": len(numbers), "choices": len(choices)}
                sentence = "has {numbers} numbers in {name}, but there are {choices} choices; give one per choice"
                raise PydanticCustomError("descriptors", sentence, counts)
        return descriptors

    def axis(self) -> Axis:
        """Return the engine's axis."""
        return ChoiceAxis(self.name, tuple(self.choices), descriptors=tuple(map(tuple, self.descriptors.values())))


class BoolParameter(Sparse, Body):
    """False or true."""

    name: Name
    kind: Literal["bool"]
    context: ContextField = False
    when: When = None
    unit: Unit = None
    label: Label = None

    def axis(self) -> Axis:
        """Return the engine's axis."""
        return ChoiceAxis(self.name, (False, True))


class CatalogueParameter(Sparse, Body):
    """A row of a table, identified by its name. The numbers in the row describe it; rows with similar numbers are
    expected to give similar results. No point is suggested twice, unless results are declared to be noisy, or the study
    is robust."""

    name: Name
    kind: Literal["catalogue"]
    table: Annotated[
        TableText | None,
        Field(description="CSV with a header: the first column names the rows, the others are numbers"),
        ABSENT_BY_DEFAULT,
    ] = None
    digest: Annotated[str | None, Field(description="digest of the table, set by the server"), ABSENT_BY_DEFAULT] = None
    columns: Annotated[
        list[Name] | None,
        Field(description="the columns of numbers, set by the server"),
        ABSENT_BY_DEFAULT,
    ] = None
    rows: Annotated[int | None, Field(description="number of rows, set by the server"), ABSENT_BY_DEFAULT] = None
    withdrawn: Annotated[
        int | None,
        Field(description="number of withdrawn rows, set by the server"),
        ABSENT_BY_DEFAULT,
    ] = None
    unit: Unit = None
    label: Label = None
    context: ClassVar[Context] = False
    when: ClassVar[None] = None

    @field_validator("table")
    @classmethod
    def _can_be_read(cls, text: str | None) -> str | None:
        if text is not None:
            table_of(Pieces(text))
        return text

    @model_validator(mode="after")
    def _has_table(self) -> Self:
        if self.table is None and self.digest is None:
            field_error: InitErrorDetails = {"type": "missing", "loc": ("table",), "input": None}
            raise ValidationError.from_exception_data("table", [field_error])
        return self

    def axis(self) -> CatalogueAxis:
        """Return the engine's axis."""
        return CatalogueAxis(self.name, self.rows_of())

    def rows_of(self) -> Table:
        """Return the table."""
        return table_of(pieces_of(self.digest or "") if self.table is None else Pieces(self.table))


class FixedParameter(Sparse, Body):
    """A fixed value. It is part of every point; with a condition, of every point that satisfies it."""

    name: Name
    kind: Literal["fixed"]
    value: Choice
    when: When = None
    unit: Unit = None
    label: Label = None

    def axis(self) -> Fixed:
        """Return the fixed parameter, which the engine does not use as an axis."""
        return Fixed(self.name, self.value)


Parameter = Annotated[
    FloatParameter
    | IntParameter
    | OrdinalParameter
    | CategoricalParameter
    | CatalogueParameter
    | BoolParameter
    | FixedParameter,
    Field(discriminator="kind"),
]


def _checked_low(low: N, info: ValidationInfo) -> N:
    if info.data.get("scale") == "log" and low <= 0:
        raise PydanticCustomError("log_scale", "must be positive on a log scale")
    return low


def _checked_distinct(values: Choices) -> Choices:
    seen: dict[object, Choice] = {}
    for value in values:
        key = identity(value)
        if key in seen:
            both = {"first": shown(seen[key]), "second": shown(value)}
            if both["first"] != both["second"]:
                sentence = "has a duplicate value: {first} and {second} are the same; list each value once"
            elif both["first"].lstrip("-").isdecimal():
                sentence = "has the value {first} twice; list each value once ({first} and {first}.0 are the same)"
            else:
                sentence = "has the value {first} twice; list each value once"
            raise PydanticCustomError("duplicate", sentence, both)
        seen[key] = value
    return values
