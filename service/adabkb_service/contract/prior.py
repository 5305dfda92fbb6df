"""A user's prior for the position of the optimum, field ``prior``: one belief per parameter."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import ConfigDict, Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.parameters import (
    MAX_CHOICES,
    MAX_PARAMETERS,
    Body,
    FixedParameter,
    FloatParameter,
    IntParameter,
    Number,
    Parameter,
    Positive,
)
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, NotNull, Sparse
from adabkb_service.engine.axes import ChoiceAxis, Value
from adabkb_service.engine.catalogue import CatalogueAxis
from adabkb_service.engine.prior import (
    MAX_WEIGHT,
    MIN_WEIGHT,
    NARROWEST,
    Around,
    Prior,
    Weighted,
    share_of,
)
from adabkb_service.engine.wording import brief, listed, nearest

NEEDS_AUTO = "cannot be used by this algorithm; the profile auto can use it"
Weight = Annotated[float, Field(ge=MIN_WEIGHT, le=MAX_WEIGHT)]
FieldMessage = tuple[tuple[str, ...], str]
"""Path of the field, and the error message."""


class Belief(Sparse, Body):
    """The user's belief about the optimum along one parameter."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    around: Annotated[
        NotNull[Number], Field(description="for a number: the value that is probably best"), ABSENT_BY_DEFAULT
    ] = None
    width: Annotated[
        NotNull[Positive],
        Field(description="on a linear scale: distance from the value of around at which the density is half as large"),
        ABSENT_BY_DEFAULT,
    ] = None
    factor: Annotated[
        NotNull[Annotated[float, Field(gt=1, allow_inf_nan=False)]],
        Field(description="on a log scale: the density is half as large at around * factor and at around / factor"),
        ABSENT_BY_DEFAULT,
    ] = None
    weights: Annotated[
        NotNull[Annotated[dict[str, Weight], Field(min_length=1, max_length=MAX_CHOICES), LIMIT_ERRORS]],
        Field(
            description="for choices and rows of a catalogue, by their text (JSON unless they are strings): how many "
            "times as likely to be best as one without a weight"
        ),
        ABSENT_BY_DEFAULT,
    ] = None


Beliefs = Annotated[dict[str, Belief], Field(max_length=MAX_PARAMETERS), LIMIT_ERRORS]
"""Beliefs by the names of parameters."""


def check_prior(beliefs: Mapping[str, Belief], parameters: Sequence[Parameter], *, was_edited: bool = False) -> None:
    """Check that beliefs fit the study's parameters, their kinds and their bounds.

    Args:
        beliefs: the beliefs by parameter.
        parameters: the parameters of the study.
        was_edited: whether an edit may have removed choices that have weights.

    Raises:
        ValidationError: with one error per violation.
    """
    found: list[InitErrorDetails] = [
        {"type": PydanticCustomError("prior", "{what}", {"what": what}), "loc": place, "input": None}
        for place, what in _errors(beliefs, {parameter.name: parameter for parameter in parameters}, was_edited)
    ]
    if found:
        raise ValidationError.from_exception_data("prior", found)


def prior_of(beliefs: Mapping[str, Belief], parameters: Sequence[Parameter]) -> Prior | None:
    """Return the engine's prior; None without beliefs."""
    if not beliefs:
        return None
    varying = [parameter for parameter in parameters if not isinstance(parameter, FixedParameter)]
    around, weighted = [], []
    for index, parameter in enumerate(varying):
        belief = beliefs.get(parameter.name)
        if belief is None:
            continue
        axis = parameter.axis()
        if isinstance(parameter, FloatParameter | IntParameter):
            is_periodic = isinstance(parameter, FloatParameter) and parameter.periodic
            around.append(Around(index, axis.encode(belief.around), _width(belief, parameter), is_periodic))
        else:
            assert isinstance(axis, ChoiceAxis)
            assert belief.weights is not None
            numbers = _numbers(axis)
            given = ((numbers[text], weight) for text, weight in belief.weights.items() if text in numbers)
            weighted.append(Weighted(index, axis.count, tuple(sorted(given))))
    return Prior(tuple(around), tuple(weighted))


def _errors(
    beliefs: Mapping[str, Belief], parameters: Mapping[str, Parameter], was_edited: bool
) -> Iterator[FieldMessage]:
    for name, belief in beliefs.items():
        parameter = parameters.get(name)
        match parameter:
            case None:
                near = nearest(name, parameters)
                suggestion = "" if near is None else f"; did you mean {near}?"
                known = listed(map(brief, parameters), len(parameters))
                yield (name,), f"is not a parameter of this study{suggestion} (known: {known})"
            case FixedParameter():
                yield (name,), "is about a fixed parameter; leave it out"
            case _ if parameter.context:
                yield (name,), "is about a context parameter, which the server does not choose; leave it out"
            case FloatParameter() | IntParameter():
                yield from _errors_of_number(name, belief, parameter)
            case _:
                axis = parameter.axis()
                assert isinstance(axis, ChoiceAxis)
                yield from _errors_of_choice(name, belief, axis, was_edited)


def _errors_of_number(name: str, belief: Belief, parameter: FloatParameter | IntParameter) -> Iterator[FieldMessage]:
    is_log = parameter.scale == "log"
    spread, other = ("factor", "width") if is_log else ("width", "factor")
    for field, meant in ((other, f"'{spread}'"), ("weights", f"'around' and '{spread}'")):
        if getattr(belief, field) is not None:
            yield (name, field), f"does not apply to {_kind(parameter)}; give {meant}"
    for field in ("around", spread):
        if getattr(belief, field) is None:
            yield (name,), f"has no '{field}', which {_kind(parameter)} needs"
    if belief.around is not None and not parameter.low <= belief.around <= parameter.high:
        yield (name, "around"), f"is {belief.around}, outside [{parameter.low}, {parameter.high}]"
    if getattr(belief, spread) is not None and _width(belief, parameter) < NARROWEST:
        yield (name, spread), f"is too narrow; it must be at least {_narrowest(parameter):.7g}"


def _errors_of_choice(name: str, belief: Belief, axis: ChoiceAxis, was_edited: bool) -> Iterator[FieldMessage]:
    for field in ("around", "width", "factor"):
        if getattr(belief, field) is not None:
            yield (name, field), "does not apply to choices; give 'weights'"
    if belief.weights is None:
        yield (name,), "has no 'weights', which choices need"
        return
    numbers = _numbers(axis)
    texts = Counter[str]() if len(numbers) == axis.count else Counter(map(_text, axis.choices))
    for text in belief.weights:
        is_ambiguous = texts[text] > 1
        if is_ambiguous or not (text in numbers or was_edited):
            known = listed(map(brief, map(_text, axis.choices)), axis.count)
            found = "is the text of two choices" if is_ambiguous else "is not a choice"
            yield (name, "weights", text), f"{found} of this parameter (known: {known})"


def _narrowest(parameter: FloatParameter | IntParameter) -> float:
    """Return the smallest ``width`` or, on a log scale, the smallest ``factor``, rounded up to 7 significant digits."""
    ends = parameter.axis().raw_bounds
    assert ends is not None, "a number has bounds"
    raw = 2 * NARROWEST * (ends[1] / 2 - ends[0] / 2)  # halved first: the difference of huge bounds would overflow
    smallest = math.exp(raw) if parameter.scale == "log" else raw
    digit = 10.0 ** (math.floor(math.log10(smallest)) - 6)
    return math.ceil(smallest / digit) * digit


def _kind(parameter: FloatParameter | IntParameter) -> str:
    return f"{'an' if parameter.kind == 'int' else 'a'} {parameter.kind} on a {parameter.scale} scale"


def _width(belief: Belief, parameter: FloatParameter | IntParameter) -> float:
    """Return the width as a share of the axis."""
    spread = belief.factor if parameter.scale == "log" else belief.width
    assert spread is not None
    return share_of(parameter.axis(), spread)


def _numbers(axis: ChoiceAxis) -> Mapping[str, int]:
    """Return the number of each choice by its text."""
    if isinstance(axis, CatalogueAxis):
        return axis.table.numbered  # up to 200,000 rows, whose names are texts
    return {_text(choice): number for number, choice in enumerate(axis.choices)}


def _text(choice: Value) -> str:
    return choice if isinstance(choice, str) else json.dumps(choice)
