"""One evaluation of the objective: the call of the function, and its result in the form that the study expects."""

import inspect
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NamedTuple, Self

from adabkb_client._records import OPTUNAS, Answer, Metrics, Parameters, StudyInfo, Trial, for_optuna
from adabkb_client._run.tracebacks import place_of
from adabkb_client._trial import AsyncObjective, Objective
from adabkb_client._trial_calls import Leased, ends_stopped
from adabkb_client._values import finite, finite_metrics, shown
from adabkb_client.errors import WrongFunction, WrongResult

EXAMPLE_VALUE = 0.1
"""The number in examples of results."""


class Result(NamedTuple):
    """The result of an evaluation. With several objectives, these are among the metrics, and ``value`` is None.
    ``partial``: whether numbers are missing, which will be measured later. ``seconds``: the duration of the evaluation,
    measured by the function or else by this client. ``parameters``: the context parameters that are measured with the
    result."""

    value: float | None = None
    std_error: float | None = None
    metrics: Metrics | None = None
    std_errors: Metrics | None = None
    partial: bool = False
    seconds: float | None = None
    parameters: Parameters | None = None


@dataclass(frozen=True)
class Expected:
    """The kind of result that a study accepts for each trial.

    Args:
        of: the study, for errors, such as "study 's'".
        has_value: False if the study has several objectives, which are metrics.
        metrics: the names of the metrics.
        optional: the metrics that a result may omit.
        needed: the metrics that a partial result must have.
        measured: the parameters whose values a result must give.
        declared: the call that declares metrics, for errors.
        optuna: the remedy for an objective written for Optuna.
    """

    of: str
    has_value: bool = True
    metrics: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    declared: str = "create_study(..., metrics=[...])"
    optuna: str = field(default_factory=for_optuna)

    @classmethod
    def of_study(cls, study: StudyInfo) -> Self:
        """Return the kind of result that a study accepts."""
        metrics = (*(each["metric"] for each in study.objectives), *study.metrics)
        optional = ("cost",) if study.cost == "measured" else ()
        needed = ("cost",) if study.cost == "told" else ()
        measured = tuple(each["name"] for each in study.parameters if each.get("context") == "measured")
        return cls(f"study {study.id!r}", not study.objectives, metrics, optional, needed, measured)

    @property
    def example(self) -> str:
        """An example of a valid result, in a form that is both JSON and Python."""
        metrics = [name for name in self.metrics if name not in self.optional]
        if not metrics and not self.measured:
            return f"{EXAMPLE_VALUE}"
        example: dict[str, Any] = {"value": EXAMPLE_VALUE} if self.has_value else {}
        example |= {"metrics": dict.fromkeys(metrics, EXAMPLE_VALUE)} if metrics else {}
        example |= {"parameters": dict.fromkeys(self.measured, EXAMPLE_VALUE)} if self.measured else {}
        return json.dumps(example, ensure_ascii=False)

    def mistake_of(self, result: Result) -> str | None:
        """Return the error of a result, as the rest of a sentence after "it" or "which"; None if it is valid."""
        given = result.metrics or {}
        needed = self.needed if result.partial else self.metrics
        missing = [name for name in needed if name not in given and name not in self.optional]
        unknown = [name for name in (*given, *(result.std_errors or ())) if name not in self.metrics]
        if self.has_value and result.value is None and not (result.partial and given):
            return "has no value"
        if not self.has_value and result.value is not None:
            return f"has a value, but {self.of} has several objectives, which are metrics"
        if missing:
            return f"lacks {_named(missing)}"
        if unmeasured := [name for name in self.measured if name not in (result.parameters or {})]:
            return f"lacks {_named(unmeasured, 'parameter')} in parameters, measured with the result"
        if unknown and not self.metrics:
            return f"has metrics, but {self.of} has none (declare them in {self.declared})"
        return f"has {_named(unknown)}, which {self.of} does not have" if unknown else None


def names_at_trial(study: StudyInfo) -> list[str]:
    """Return the names of the parameters that are known when a trial is issued."""
    return [each["name"] for each in study.parameters if each.get("context") != "measured"]


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
            None if parts.get("seconds") is None else finite("seconds", parts["seconds"]),
            _parameters(parts.get("parameters")),
        )
    except WrongResult as wrong:
        raise WrongResult(f"{wrong}. {_remedy(expected)}") from None
    mistake = expected.mistake_of(result)
    if mistake is not None:
        raise WrongResult(f"the function returned {shown(returned)}, which {mistake}. {_remedy(expected)}")
    return result


def _parameters(given: Any) -> Parameters | None:
    if given is not None and not isinstance(given, Mapping):
        raise WrongResult(f"parameters must be a dict of names and values, not {shown(given)}")
    return given


def note_on_tuples(parameters: Parameters) -> str | None:
    """Return what to add to an error of a function whose parameters include tuples; None if there are none."""
    names = [name for name, value in parameters.items() if isinstance(value, tuple)]
    if not names:
        return None
    return (
        f"The value of {', '.join(names)} is a tuple, even if the choice was declared as a list; convert it with "
        "list(...)"
    )


def rest_of(returned: Any, stopped: Trial | None) -> Result | None:
    """Return the metrics in a function's return value that the result of a stopped trial lacks; None if there are none,
    or if the trial has an estimate instead of a result.

    Raises:
        WrongResult: the metrics are not a mapping from names to numbers.
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


def _named(names: list[str], what: str = "metric") -> str:
    return f"the {what}{'s' * (len(names) > 1)} {', '.join(map(repr, dict.fromkeys(names)))}"


@dataclass(frozen=True)
class Evaluation:
    """Calls the function with the parameters by name or, with ``pass_trial``, with the leased trial."""

    function: Objective | AsyncObjective
    pass_trial: bool
    expected: Expected
    catch: type[Exception] | tuple[type[Exception], ...] = ()

    def __call__(self, trial: Leased) -> Result | Answer:
        """Return the function's result for a trial, or the outcome that the function has reported itself. For a stopped
        trial, an exception may stand for a return: see ``ends_stopped``.

        Raises:
            WrongResult: the returned value is not a result of the study.
            NotFinite: the number is infinite or NaN.
            BaseException: an error of the function.
        """
        begun = monotonic()
        try:
            return self.result(self.begin(trial), trial, begun)
        except Exception as error:
            return self.outcome_of(trial, error)

    def begin(self, trial: Leased) -> Any:
        """Call the function. The result of an async function must still be awaited."""
        return self.function(trial) if self.pass_trial else self.function(**trial.parameters)

    def result(self, returned: Any, trial: Leased, begun: float) -> Result | Answer:
        """Convert the function's return value to a result of an evaluation that began at ``begun``, by the monotonic
        clock. Raises as ``__call__``."""
        if trial.outcome is not None and (returned is None or trial.should_stop):
            return rest_of(returned, trial.outcome.trial) or trial.outcome
        result = self.result_of(returned)
        return result if result.seconds is not None else result._replace(seconds=monotonic() - begun)

    def outcome_of(self, trial: Leased, error: Exception) -> Answer:
        """Return the outcome of a stopped trial whose function ended it by an exception.

        Raises:
            Exception: the same one, if the trial is not stopped or the exception is a failure.
        """
        if trial.outcome is None or not trial.should_stop or not ends_stopped(error, self.catch):
            raise error
        return trial.outcome

    def result_of(self, returned: Any) -> Result:
        """Convert the function's return value to a result, independent of the trial. Raises as ``__call__``."""
        try:
            return as_result(returned, self.expected)
        except WrongResult as wrong:
            raise WrongResult(f"{place_of(self.function)}{wrong}") from None

    def check(self, names: Sequence[str], conditional: Collection[str] = ()) -> None:
        """Refuse a function that cannot be called with the parameters, before any trial is issued.

        Args:
            names: the names of the parameters.
            conditional: the names of the parameters that may be inactive.

        Raises:
            WrongFunction: it does not accept the parameters by name or, with ``pass_trial``, the trial.
        """
        try:
            signature = inspect.signature(self.function, follow_wrapped=False)
        except ValueError:  # a builtin function may have no signature
            return
        try:
            if self.pass_trial:
                signature.bind(None)
            else:
                signature.bind(**dict.fromkeys(names))
                signature.bind(**dict.fromkeys(name for name in names if name not in conditional))
        except TypeError as error:
            given = "the trial" if self.pass_trial else f"the parameters {', '.join(names)} by name"
            if conditional and not self.pass_trial:
                given += f" (without {', '.join(conditional)} where they are inactive, so these need defaults)"
            other = "leave out pass_trial" if self.pass_trial else "use pass_trial=True"
            called = "the parameters" if self.pass_trial else "the trial"
            remedy = f"change the signature, or {other} so that it is called with {called}"
            if self._is_for_optuna():
                remedy = self.expected.optuna
            raise WrongFunction(
                f"{self.expected.of} calls the function with {given}, but its signature is {signature}: {error}; "
                f"{remedy}"
            ) from None

    def _is_for_optuna(self) -> bool:
        names: tuple[str, ...] = getattr(getattr(self.function, "__code__", None), "co_names", ())
        return any(name.startswith(OPTUNAS) for name in names)
