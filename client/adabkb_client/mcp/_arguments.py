"""The types of the tools' arguments, which define their input schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, LiteralString

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from adabkb_client._parameters import Bool, Catalogue, Categorical, Fixed, Float, Int, Ordinal
from adabkb_client._parameters import Parameter as ClientParameter

MAX_KEY_LENGTH = 200
"""The maximum length in characters. The server accepts 255, of which ``_keys.py`` needs a few."""


def _with_one_error(message: LiteralString) -> WrapValidator:
    """Replace the errors of all members of a union by one error."""

    def check(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise PydanticCustomError("choice", message) from None

    return WrapValidator(check)


Number = Annotated[float, Field(allow_inf_nan=False)]
Scalar = bool | int | Number | str | None
SCALARS = [{"type": name} for name in ("number", "string", "boolean", "null")]
Value = Annotated[
    Scalar | list[Scalar],
    Field(union_mode="smart"),
    _with_one_error("must be a number, a text, true, false, null, or a list of these; numbers must be finite"),
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
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
TrialNumber = Annotated[int, Field(ge=1, le=2**31 - 1, description="number of the trial, from suggest")]
Attempt = Annotated[
    Annotated[int, Field(ge=1, le=2**31 - 1)] | None,
    Field(description="the trial's attempt, from suggest; if absent, the one that you were given"),
]
OfOtherWorker = Annotated[
    bool, Field(description="true only if the worker that has the trial, or the user, asked you to change it")
]
Result = Annotated[
    Number | None,
    Field(description="the measured objective, in its units; leave it out if there are several objectives"),
]
StdError = Annotated[
    NotNegative | None,
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
    dict[str, NotNegative] | None,
    Field(description="standard errors of metrics by name, if known"),
]
Key = Annotated[
    str | None,
    Field(
        pattern=rf"^[!-~]{{1,{MAX_KEY_LENGTH}}}$",
        description="a random text without spaces, such as a UUID; all agents of your user share the keys. To repeat a "
        "call safely, repeat it with its key: the change is made once",
    ),
]
Limit = Annotated[int, Field(ge=1, le=100, description="maximum number of items")]
Cursor = Annotated[str | None, Field(description="next_cursor of the previous answer, for the items that follow")]


Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Seed = Annotated[int, Field(ge=0, le=2**53 - 1)]
LeaseSeconds = Annotated[float, Field(ge=1, le=30 * 86400, allow_inf_nan=False)]
Steps = Annotated[int, Field(ge=1, le=10**9)]
When = Annotated[
    dict[str, Annotated[list[Value], Field(min_length=1)]] | None,
    Field(description="active only where each of these other parameters has one of these values"),
]

Known = Annotated[
    Literal[False, True, "measured"],
    Field(
        description="true: not chosen, but known when a trial is requested; suggest then needs its value as context. "
        "measured: only measured with the result, and observe needs its value in parameters"
    ),
]


class Part(BaseModel):
    """A part of a definition. Unknown fields and values of other types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def given(self) -> dict[str, Any]:
        """Return the fields that were given."""
        return self.model_dump(exclude_unset=True)


def plain(argument: Any) -> Any:
    """Return an argument with a dict of the given fields in place of each ``Part``."""
    if isinstance(argument, Part):
        return argument.given()
    if isinstance(argument, list):
        return [plain(each) for each in argument]
    return {name: plain(each) for name, each in argument.items()} if isinstance(argument, dict) else argument


class ParameterPart(Part):
    """The common fields of all kinds of parameters."""

    unit: Annotated[str | None, Field(description="unit for display, such as °C")] = None
    label: Annotated[str | None, Field(description="name for display")] = None

    @property
    def words(self) -> dict[str, Any]:
        """Unit and label as arguments of the client."""
        return {"unit": self.unit, "label": self.label}


class FloatParameter(ParameterPart):
    """A real number from low to high."""

    kind: Literal["float"]
    low: Number
    high: Number
    log: Annotated[bool, Field(description="search on a log scale; low must be positive")] = False
    step: Annotated[Positive | None, Field(description="only low, low + step, ...; not with log")] = None
    periodic: Annotated[
        bool, Field(description="high is the same point as low, as for an angle; not with log or step")
    ] = False
    context: Known = False
    when: When = None

    def to_client(self) -> ClientParameter:
        """Return the parameter in the client's form."""
        return Float(
            self.low,
            self.high,
            log=self.log,
            step=self.step,
            periodic=self.periodic,
            context=self.context,
            when=self.when,
            **self.words,
        )


class Mixture(Part):
    """Parameters that are the shares of a whole."""

    parameters: Annotated[list[str], Field(min_length=2, description="float parameters with low at 0 or more")]
    total: Annotated[Positive, Field(description="the sum of the shares")] = 1.0
    at_most: Annotated[Count | None, Field(description="maximum number of shares above 0; all if absent")] = None
    least: Annotated[float, Field(ge=0, allow_inf_nan=False, description="each share is 0, or at least this")] = 0.0


class IntParameter(ParameterPart):
    """A whole number from low to high."""

    kind: Literal["int"]
    low: int
    high: int
    log: Annotated[bool, Field(description="search on a log scale; low must be positive")] = False
    step: Annotated[int, Field(ge=1, description="only low, low + step, ...")] = 1
    context: Known = False
    when: When = None

    def to_client(self) -> ClientParameter:
        """Return the parameter in the client's form."""
        return Int(
            self.low, self.high, log=self.log, step=self.step, context=self.context, when=self.when, **self.words
        )


class OrdinalParameter(ParameterPart):
    """One of some values in a meaningful order."""

    kind: Literal["ordinal"]
    values: Annotated[list[Value], Field(min_length=1)]
    context: Known = False
    when: When = None

    def to_client(self) -> ClientParameter:
        """Return the parameter in the client's form."""
        return Ordinal(self.values, context=self.context, when=self.when, **self.words)


class CategoricalParameter(ParameterPart):
    """One of some choices without an order."""

    kind: Literal["categorical"]
    choices: Annotated[list[Value], Field(min_length=1)]
    descriptors: Annotated[
        dict[str, list[Number]] | None,
        Field(
            description="numbers that describe the choices, by the name of the descriptor: one for each choice, in the "
            "order of choices"
        ),
    ] = None
    context: Known = False
    when: When = None

    def to_client(self) -> ClientParameter:
        """Return the parameter in the client's form."""
        return Categorical(
            self.choices, descriptors=self.descriptors, context=self.context, when=self.when, **self.words
        )


class CatalogueParameter(ParameterPart):
    """One of the rows of a table, by its name. No point is suggested twice, unless results are declared to be noisy, or
    the study is robust."""

    kind: Literal["catalogue"]
    rows: Annotated[list[str], Field(min_length=1, description="names, each once")]
    descriptors: Annotated[
        dict[str, list[Number]],
        Field(
            min_length=1,
            description="numbers that describe the rows, by the name of the descriptor: one for each row, in their "
            "order",
        ),
    ]

    def to_client(self) -> ClientParameter:
        """Return the parameter in the client's form."""
        return Catalogue(self.rows, self.descriptors, **self.words)


class BoolParameter(ParameterPart):
    """True or false."""

    kind: Literal["bool"]
    context: Known = False
    when: When = None

    def to_client(self) -> ClientParameter:
        """Return the parameter in the client's form."""
        return Bool(context=self.context, when=self.when, **self.words)


class FixedParameter(ParameterPart):
    """A value that every trial has."""

    kind: Literal["fixed"]
    value: Value
    when: When = None

    def to_client(self) -> ClientParameter:
        """Return the parameter in the client's form."""
        return Fixed(
            self.value if not isinstance(self.value, list) else tuple(self.value), when=self.when, **self.words
        )


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
KINDS = ("float", "int", "ordinal", "categorical", "catalogue", "bool", "fixed")
"""The values of ``kind``."""


class Objective(Part):
    """One of several objectives."""

    metric: str
    direction: Literal["minimize", "maximize"]
    reference: Annotated[
        Number | None, Field(description="a result must be better than this to count in the hypervolume")
    ] = None
    noise_std: Annotated[
        NotNegative | None,
        Field(description="standard deviation of one measured value, in its units, if known; 0 if values are exact"),
    ] = None


class Quantity(Part):
    """The display of a measured quantity, and its natural bounds. Results far beyond these are refused."""

    label: Annotated[str | None, Field(description="label, such as Yield")] = None
    unit: Annotated[str | None, Field(description="such as %")] = None
    digits: Annotated[int | None, Field(ge=0, le=10, description="digits after the decimal point")] = None
    low: Annotated[Number | None, Field(description="smallest possible value")] = None
    high: Annotated[Number | None, Field(description="largest possible value")] = None


class OutcomeConstraint(Part):
    """Bounds of a metric of the results; give at least one."""

    metric: str
    lower: Number | None = None
    upper: Number | None = None


class Plates(Part):
    """Batches of trials that share some values, and whose results share an offset that the model learns."""

    size: Annotated[int, Field(ge=2, le=10_000, description="number of trials on a plate, such as its wells")]
    shared: Annotated[
        list[str], Field(description="parameters whose values are equal in all trials of a plate, by name")
    ] = []


class PlateBudget(Part):
    """A budget in plates, for a study with plates: no plate is begun after this many."""

    plates: Count


class CostBudget(Part):
    """A budget in the units of the cost, for a study with cost: no trial is issued once the results have cost this
    much."""

    cost: Positive


Budget = Annotated[
    Count | PlateBudget | CostBudget,
    _with_one_error(
        'must be a number of trials such as 20, not 20.0 or text, or {"plates": 3}, or {"cost": 12.5}, above 0'
    ),
]


class Stop(Part):
    """When the study ends before its budget; give at least one rule."""

    no_gain_for: Annotated[Count | None, Field(description="end after this many results in a row without a gain")] = (
        None
    )
    gap_share_below: Annotated[
        Annotated[float, Field(gt=0, lt=1)] | None,
        Field(description="gap, as a share of the range of the results, below which the study ends"),
    ] = None


class EarlyStopping(Part):
    """When a trial ends before its last step, based on the values that are passed to the tool `report`."""

    rule: Literal["median", "asha", "patience"]
    max_steps: Annotated[Steps, Field(description="number of steps of a full evaluation")]
    min_steps: Annotated[Steps | None, Field(description="no trial is stopped before this step; 1 if absent")] = None
    metric: Annotated[
        str | None, Field(description="with several objectives, required: the one whose values are reported")
    ] = None
    no_gain_for: Annotated[
        Steps | None,
        Field(
            description="patience, which requires it: number of steps without an improvement after which a trial is "
            "stopped"
        ),
    ] = None
    min_gain: Annotated[
        NotNegative | None, Field(description="patience: improvements no larger than this do not count; 0 if absent")
    ] = None
    after_trials: Annotated[
        Count | None,
        Field(
            description="a trial is stopped only if this many other trials have reached the step (median; 5 if absent) "
            "or the rung (asha; 1 if absent)"
        ),
    ] = None
    eta: Annotated[
        Annotated[int, Field(ge=2, le=1000)] | None,
        Field(description="asha: one in this many trials continues from each rung; 3 if absent"),
    ] = None


class Belief(Part):
    """Where the optimum probably is along one parameter: around with width or factor, or weights of choices."""

    around: Annotated[Number | None, Field(description="of a number: the value that is probably best")] = None
    width: Annotated[
        Positive | None, Field(description="linear scale: this far from around, the density is half as large")
    ] = None
    factor: Annotated[
        Annotated[float, Field(gt=1, allow_inf_nan=False)] | None,
        Field(description="log scale: at around * factor and around / factor, the density is half as large"),
    ] = None
    weights: Annotated[
        dict[str, Positive] | None, Field(description="of choices by their text; the others have weight 1")
    ] = None


def to_client(parameters: Mapping[str, Parameter]) -> dict[str, ClientParameter]:
    """Return a search space in the client's form."""
    return {name: parameter.to_client() for name, parameter in parameters.items()}
