"""One evaluation of the objective: how the function is called, and what counts as its result."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, SupportsFloat

from adabkb_client.leased import Leased
from adabkb_client.models import Answer, Metrics
from adabkb_client.plain import NotANumber, finite, finite_metrics

Returned = SupportsFloat | tuple[SupportsFloat, SupportsFloat] | Mapping[str, Any] | None
"""The value, the value and its standard error, or a dict of the fields of ``Result``; None if the function has reported
an outcome of the trial itself. Of a trial that was stopped, anything."""
Objective = Callable[..., Returned]
"""Takes the parameters by name, or the trial."""
AsyncObjective = Callable[..., Awaitable[Returned]]
"""The same, to be awaited."""


class Result(NamedTuple):
    """A value and, if known, its standard error; and metrics, where the study has any. Several objectives are metrics,
    and there is no value."""

    value: float | None
    std_error: float | None = None
    metrics: Metrics | None = None
    std_errors: Metrics | None = None


@dataclass(frozen=True)
class Evaluation:
    """Calls the function with the parameters by name or, with ``pass_trial``, with the leased trial."""

    function: Objective | AsyncObjective
    pass_trial: bool

    def __call__(self, trial: Leased) -> Result | Answer:
        """Return the function's result for a trial, or the outcome that the function has reported itself.

        Raises:
            NotANumber: what it returned is no number.
            ValueError: the number is infinite or NaN.
            BaseException: what the function raised.
        """
        return self.result(self.begin(trial), trial)

    def begin(self, trial: Leased) -> Any:
        """Call the function. What an async function returns is yet to be awaited."""
        return self.function(trial) if self.pass_trial else self.function(**trial.parameters)

    def result(self, returned: Any, trial: Leased) -> Result | Answer:
        """Return what the function has returned as a result. Raises as above."""
        if trial.outcome is not None and (returned is None or trial.should_stop()):
            return trial.outcome
        return as_result(returned)

    def check(self, caller: str, names: Sequence[str], conditional: Collection[str] = ()) -> None:
        """Refuse a function that cannot be called so, before any trial is handed out.

        Args:
            caller: who calls it, for the error.
            names: of the parameters.
            conditional: those of them that a trial may be without.

        Raises:
            TypeError: it does not take the study's parameters by name, or the trial.
        """
        try:
            signature = inspect.signature(self.function, follow_wrapped=False)
        except ValueError:  # a builtin function may have none
            return
        try:
            if self.pass_trial:
                signature.bind(None)
            else:
                signature.bind(**dict.fromkeys(names))
                signature.bind(**dict.fromkeys(name for name in names if name not in conditional))
        except TypeError as misfit:
            given = "the trial" if self.pass_trial else f"the parameters {', '.join(names)} by name"
            if conditional and not self.pass_trial:
                given += f" (without {', '.join(conditional)} where they are inactive, so these need defaults)"
            other = "leave out pass_trial" if self.pass_trial else "pass_trial=True"
            remedy = f"{other} to have it called with {'the parameters' if self.pass_trial else 'the trial'}"
            raise TypeError(
                f"{caller} calls the function with {given}, but it takes {signature}: {misfit}; "
                f"change that, or {remedy}"
            ) from None


def as_result(returned: Any) -> Result:
    """Return what a function has returned as a result.

    Raises:
        NotANumber: it is no number, no pair of them, and no dict of a result.
        ValueError: a number is infinite or NaN.
    """
    parts = _split(returned)
    return Result(
        finite("value", parts["value"], "; raise an exception if there is no result") if "value" in parts else None,
        None if parts.get("std_error") is None else finite("std_error", parts["std_error"]),
        finite_metrics("metrics", parts.get("metrics")),
        finite_metrics("std_errors", parts.get("std_errors")),
    )


def without_metrics(result: Result) -> tuple[float, float | None]:
    """Return the value and its standard error of a result where there can be no metrics.

    Raises:
        NotANumber: it has some.
    """
    if result.metrics or result.std_errors or result.value is None:
        raise NotANumber("the function returned metrics, which only a study on a server can have")
    return result.value, result.std_error


def _split(result: Any) -> Mapping[str, Any]:
    if isinstance(result, Mapping):
        if not result.keys() & {"value", "metrics"} or not result.keys() <= set(Result._fields):
            example = '{"value": 0.1, "metrics": {"latency_ms": 12.0}}'
            raise NotANumber(
                f"a dict that the function returns must be such as {example}, and it has the keys {list(result)}"
            )
        return result
    if not isinstance(result, tuple):
        return {"value": result}
    if len(result) != 2:
        raise NotANumber(f"the function must return a value or (value, standard error), not {len(result)} values")
    return dict(zip(Result._fields, result, strict=False))
