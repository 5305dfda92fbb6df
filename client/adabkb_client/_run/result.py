"""The result that a function returns for a trial, and the form that a study expects."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from adabkb_client._models import Metrics, StudyInfo, Trial
from adabkb_client._values import WrongResult, finite, finite_metrics, shown

SHOWN = 0.1
"""The number in examples of results."""


class Result(NamedTuple):
    """A value and, if known, its standard error, and metrics, if the study has any. Several objectives are metrics;
    then the value is None. A partial result lacks numbers that are measured later."""

    value: float | None = None
    std_error: float | None = None
    metrics: Metrics | None = None
    std_errors: Metrics | None = None
    partial: bool = False


@dataclass(frozen=True)
class Expected:
    """The kind of result that a study accepts for each trial.

    Args:
        of: the study, for errors, such as "study 's'".
        has_value: False if the study has several objectives, which are metrics.
        metrics: the names of the metrics.
        optional: the metrics that a result may omit.
        needed: the metrics that a partial result must have.
    """

    of: str
    has_value: bool = True
    metrics: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()

    @classmethod
    def by(cls, study: StudyInfo) -> Self:
        """Return the form that a study expects."""
        metrics = (*(each["metric"] for each in study.objectives), *study.metrics)
        optional = ("cost",) if study.cost == "measured" else ()
        needed = ("cost",) if study.cost == "told" else ()
        return cls(f"study {study.id!r}", not study.objectives, metrics, optional, needed)

    @property
    def example(self) -> str:
        """An example of a valid result, in a form that is both JSON and Python."""
        metrics = [name for name in self.metrics if name not in self.optional]
        if not metrics:
            return f"{SHOWN}"
        value = {"value": SHOWN} if self.has_value else {}
        return json.dumps({**value, "metrics": dict.fromkeys(metrics, SHOWN)}, ensure_ascii=False)

    def mistake_of(self, result: Result) -> str | None:
        """Return the error of a result, as the rest of a sentence after "it" or "which"; None if it is valid."""
        told = result.metrics or {}
        needed = self.needed if result.partial else self.metrics
        missing = [name for name in needed if name not in told and name not in self.optional]
        unknown = [name for name in (*told, *(result.std_errors or ())) if name not in self.metrics]
        if self.has_value and result.value is None and not (result.partial and told):
            return "has no value"
        if not self.has_value and result.value is not None:
            return f"has a value, but {self.of} has several objectives, which are metrics"
        if missing:
            return f"lacks {_named(missing)}"
        if unknown and not self.metrics:
            return f"has metrics, but {self.of} has none (declare them in create_study(..., metrics=[...]))"
        return f"has {_named(unknown)}, which {self.of} does not have" if unknown else None


def as_result(returned: Any, expected: Expected) -> Result:
    """Convert a function's return value to a result.

    Raises:
        WrongResult: it is not a number or a dict with fields of a result, or not valid for the study.
        NotFinite: a number is infinite or NaN.
    """
    parts = _split(returned, expected)
    try:
        result = Result(
            finite("value", parts["value"], "; raise an exception if there is no result") if "value" in parts else None,
            None if parts.get("std_error") is None else finite("std_error", parts["std_error"]),
            finite_metrics("metrics", parts.get("metrics")),
            finite_metrics("std_errors", parts.get("std_errors")),
            bool(parts.get("partial")),
        )
    except WrongResult as wrong:
        raise WrongResult(f"{wrong}. {_remedy(expected)}") from None
    mistake = expected.mistake_of(result)
    if mistake is not None:
        raise WrongResult(f"the function returned {shown(returned)}, which {mistake}. {_remedy(expected)}")
    return result


def rest_of(returned: Any, stopped: Trial | None) -> Result | None:
    """Return the metrics in a function's return value that the result of a stopped trial lacks; None if there are none,
    or if the trial has an estimate instead of a result.

    Raises:
        WrongResult: the metrics are not numbers by names.
        NotFinite: a number is infinite or NaN.
    """
    if stopped is None or stopped.estimate is not None or not isinstance(returned, Mapping):
        return None
    known = stopped.metrics or {}
    metrics, errors = (finite_metrics(name, returned.get(name)) or {} for name in ("metrics", "std_errors"))
    new = {name: value for name, value in metrics.items() if name not in known}
    of_new = {name: error for name, error in errors.items() if name in new}
    return Result(metrics=new, std_errors=of_new or None, partial=True) if new else None


def _split(returned: Any, expected: Expected) -> Mapping[str, Any]:
    if isinstance(returned, tuple):
        std_error = '{"value": 0.1, "std_error": 0.01}'
        raise WrongResult(
            f"the function returned {shown(returned)}, but the numbers of a tuple have no names. "
            f"{_remedy(expected)}"
            + (
                f" A value with its standard error is {std_error}."
                if expected.has_value and not expected.metrics
                else ""
            )
        )
    if not isinstance(returned, Mapping):
        return {"value": returned}
    if not returned.keys() & {"value", "metrics"} or not returned.keys() <= set(Result._fields):
        raise WrongResult(
            f"the function returned a dict with the keys {', '.join(map(repr, returned)) or 'none'}; a result may "
            f"have {', '.join(map(repr, Result._fields))}. {_remedy(expected)}"
        )
    return returned


def _remedy(expected: Expected) -> str:
    return f"For {expected.of} return a result such as {expected.example}."


def _named(metrics: list[str]) -> str:
    return f"the metric{'s' * (len(metrics) > 1)} {', '.join(map(repr, dict.fromkeys(metrics)))}"
