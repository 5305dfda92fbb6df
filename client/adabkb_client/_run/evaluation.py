"""One evaluation of the objective: calls the function, and checks that it can be called."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

from adabkb_client._leased import OPTUNAS, Leased, for_optuna
from adabkb_client._models import Answer
from adabkb_client._run.frames import place_of
from adabkb_client._run.result import Expected, Result, as_result, rest_of
from adabkb_client._values import WrongFunction, WrongResult

Returned = SupportsFloat | Mapping[str, Any] | None
"""The value, or a dict with fields of ``Result``; None if the function has reported an outcome of the trial itself. For
a stopped trial any value is allowed; from a dict, metrics that the result lacks are added."""
Objective = Callable[..., Returned]
"""Takes the parameters by name, or the trial."""
AsyncObjective = Callable[..., Awaitable[Returned]]
"""An async function with the same arguments."""


@dataclass(frozen=True)
class Evaluation:
    """Calls the function with the parameters by name or, with ``pass_trial``, with the leased trial."""

    function: Objective | AsyncObjective
    pass_trial: bool
    expected: Expected

    def __call__(self, trial: Leased) -> Result | Answer:
        """Return the function's result for a trial, or the outcome that the function has reported itself.

        Raises:
            WrongResult: the returned value is not a result of the study.
            NotFinite: the number is infinite or NaN.
            BaseException: an error of the function.
        """
        return self.result(self.begin(trial), trial)

    def begin(self, trial: Leased) -> Any:
        """Call the function. The result of an async function must still be awaited."""
        return self.function(trial) if self.pass_trial else self.function(**trial.parameters)

    def result(self, returned: Any, trial: Leased) -> Result | Answer:
        """Convert the function's return value to a result. Raises as above."""
        if trial.outcome is not None and (returned is None or trial.should_stop()):
            return rest_of(returned, trial.outcome.trial) or trial.outcome
        return self.result_of(returned)

    def result_of(self, returned: Any) -> Result:
        """Convert the function's return value to a result, independent of the trial. Raises as above."""
        try:
            return as_result(returned, self.expected)
        except WrongResult as wrong:
            raise WrongResult(f"{place_of(self.function)}{wrong}") from None

    def check(self, names: Sequence[str], conditional: Collection[str] = (), *, has_trials: bool = True) -> None:
        """Refuse a function that cannot be called with the parameters, before any trial is issued.

        Args:
            names: the names of the parameters.
            conditional: those of them that may be inactive.
            has_trials: whether a function may take the trial instead, with ``pass_trial``.

        Raises:
            TypeError: it accepts neither the study's parameters by name nor the trial.
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
            remedy = "change that"
            if has_trials:
                other = "leave out pass_trial" if self.pass_trial else "pass_trial=True"
                called = "the parameters" if self.pass_trial else "the trial"
                remedy = f"change the signature, or use {other} to have it called with {called}"
                if self._is_for_optuna():
                    remedy = for_optuna()
            raise WrongFunction(
                f"{self.expected.of} calls the function with {given}, but its signature is {signature}: {error}; "
                f"{remedy}"
            ) from None

    def _is_for_optuna(self) -> bool:
        names: tuple[str, ...] = getattr(getattr(self.function, "__code__", None), "co_names", ())
        return any(name.startswith(OPTUNAS) for name in names)
