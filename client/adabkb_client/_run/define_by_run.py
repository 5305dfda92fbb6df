"""Define-by-run: the objective defines the search space by calling ``trial.suggest_float`` and similar methods.

A parameter that the study lacks is added to its space, by an edit that gives existing trials a default value. If
the value of another parameter separates the trials that request the new parameter from the others, the new one gets a
condition ``when`` on this value.
"""

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, SupportsFloat

from adabkb_client import _client_calls as client_calls
from adabkb_client import _console as console
from adabkb_client._calls import Steps
from adabkb_client._parameters import Categorical, Float, Int, Parameter, to_wire
from adabkb_client._records import StudyInfo
from adabkb_client._study_calls import StudyCalls
from adabkb_client._study_methods import Study
from adabkb_client._trial import LeasedTrial
from adabkb_client._values import plain
from adabkb_client.errors import Conflict, Invalid, NotFound, WrongFunction

MAX_VALUES = 16
"""The maximum number of values of an integer parameter that can be the parent of a condition."""

_editing = threading.Lock()
"""Held while a thread of this process reads the space and edits it."""

Objective = Callable[["AskingTrial"], Any]
"""A function that requests its parameters from a trial, and returns what a function passed to ``Study.run`` returns."""


class FirstParameter(BaseException):
    """Raised when an objective requests its first parameter without a study. ``except Exception`` does not catch it."""

    def __init__(self, name: str, parameter: Parameter) -> None:
        super().__init__(name)
        self.parameters = {name: parameter}


class Suggestions:
    """The ``suggest_`` methods, with which an objective requests its parameters."""

    def suggest_float(
        self, name: str, low: SupportsFloat, high: SupportsFloat, *, step: float | None = None, log: bool = False
    ) -> float:
        """Return the value of a real parameter.

        Args:
            name: the name of the parameter.
            low: the smallest value.
            high: the largest value.
            step: the distance between values, which begin at ``low``; None for any real value.
            log: whether the scale is logarithmic.

        Raises:
            ValueError: the study has another range for the parameter.
        """
        if float(low) == float(high):
            return float(low)
        return float(self._value(name, Float(float(low), float(high), log=log, step=step)))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """Return the value of an integer parameter: see ``suggest_float``."""
        if low == high:
            return low
        return int(self._value(name, Int(low, high, log=log, step=step)))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """Return one of some choices: strings, numbers, booleans, None or lists of these.

        Raises:
            ValueError: the study has other choices for the parameter.
        """
        if len(choices) == 1:
            return choices[0]
        return self._value(name, Categorical(list(choices)))

    def _value(self, name: str, parameter: Parameter) -> Any:
        raise FirstParameter(name, parameter)


class AskingTrial(Suggestions):
    """The trial that ``optimize`` passes to an objective, which requests its parameters from it.

    Annotate the argument, ``def objective(trial: AskingTrial)``, for code completion in an editor.
    """

    def __init__(self, leased: LeasedTrial, space: "Space") -> None:
        self._leased = leased
        self._space = space
        self.params: dict[str, Any] = {}
        """The requested parameters with their values."""

    def __repr__(self) -> str:
        at = console.point(self.params) or "no parameter yet"
        return f"<AskingTrial {self.number} of {self._leased.trial.study!r}: {at}>"

    def _repr_html_(self) -> str:
        return self._leased._repr_html_()

    @property
    def number(self) -> int:
        """The trial's number, from 1."""
        return self._leased.number

    @property
    def user_attrs(self) -> dict[str, Any]:
        """The attributes of the trial."""
        return self._leased.attributes

    def set_user_attr(self, name: str, value: Any) -> None:
        """Set an attribute of the trial: see ``Study.annotate``."""
        self._leased.annotate({name: value})

    def report(
        self,
        value: SupportsFloat,
        step: int,
        *,
        cost: SupportsFloat | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Report an intermediate value: see ``Study.report``."""
        self._leased.report(step, value, cost=cost, parameters=parameters)

    def should_prune(self) -> bool:
        """Whether the study's ``early_stopping`` has stopped the trial at the last report."""
        return self._leased.should_stop

    def _value(self, name: str, parameter: Parameter) -> Any:
        if name not in self.params:
            self.params[name] = self._space.value(self._leased, self.params, name, parameter)
        return self.params[name]


@dataclass
class Space:
    """The space of a study, as last read by this process."""

    study: Study
    info: StudyInfo | None = None
    independent: set[str] = field(default_factory=set)
    """Parameters that some trial did not request, and for which no condition was found. They are not examined again."""

    def value(self, leased: LeasedTrial, requested: Mapping[str, Any], name: str, parameter: Parameter) -> Any:
        """Return the value of a parameter in a trial. If the trial has none, or the parameter's condition does not hold
        in it, edit the space.

        Args:
            leased: the trial.
            requested: the parameters that the trial has requested so far.
            name: the name of the parameter.
            parameter: its declaration.

        Raises:
            ValueError: the study declares the parameter differently.
            Invalid: the study's space cannot be edited.
        """
        with _editing:
            known = self._known(name)
            if known is not None:
                _check(name, parameter, known)
            if name in leased.parameters and (known is None or not _widened(known, requested)):
                return leased.parameters[name]
            self.info = self.study.info()
            known = self._known(name)
            default = leased.parameters.get(name, self.info.defaults.get(name, _middle(parameter)))
            if known is None:
                when = self._when(leased, requested, lacking=None)
                self._edit({**to_wire({name: parameter})[0], **({"when": when} if when else {})}, {name: default})
            else:
                _check(name, parameter, known)
                if when := _widened(known, requested):
                    self._edit({**known, "when": when}, {name: default})
            return default

    def evaluated(self, leased: LeasedTrial, requested: Mapping[str, Any]) -> dict[str, Any]:
        """Return the point that a trial has evaluated: the parameters that it requested, and the other active ones.
        First add a condition to each active parameter that it did not request, if one is found."""
        with _editing:
            if next(self._unrequested(requested), None) is not None:
                self.info = self.study.info()
                for known in list(self._unrequested(requested)):
                    when = self._when(leased, requested, lacking=known["name"])
                    if when is None:
                        self.independent.add(known["name"])
                    else:
                        self._edit({**known, "when": when}, {})
            assert self.info is not None, "the trial has requested a parameter"
            active = {each["name"] for each in self.info.parameters if _is_active(each, requested)}
        return {
            name: value for name, value in {**leased.parameters, **requested}.items() if name in {*requested, *active}
        }

    def _unrequested(self, requested: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the parameters that are active in a trial although it did not request them."""
        for each in () if self.info is None else self.info.parameters:
            if (
                _is_active(each, requested)
                and each["kind"] != "fixed"
                and each["name"] not in {*requested, *self.independent}
            ):
                yield dict(each)

    def _known(self, name: str) -> dict[str, Any] | None:
        if self.info is None:
            self.info = self.study.info()
        return next((dict(each) for each in self.info.parameters if each["name"] == name), None)

    def _when(
        self, leased: LeasedTrial, requested: Mapping[str, Any], *, lacking: str | None
    ) -> dict[str, list[Any]] | None:
        """Return the condition that separates this trial from other trials; None if no parameter does.

        Args:
            leased: the trial.
            requested: the parameters that it has requested.
            lacking: a parameter that this trial did not request; None for a new one, which only this trial requests.
        """
        others = [each.parameters for each in self.study.observations() if each.trial != leased.number]
        known = {} if lacking is None else self._known(lacking) or {}
        # The result of a trial that did not request the parameter may contain the default.
        unknown = self.info.defaults.get(lacking) if self.info is not None and lacking is not None else None
        for parent in self._parents(requested):
            name, value = parent["name"], requested[parent["name"]]
            points = [each for each in others if name in each]
            if lacking is None:
                if others and not _holds((each[name] for each in points), value):
                    return {name: [value]}
            elif not _holds((each[name] for each in points if each.get(lacking, unknown) != unknown), value):
                before = known.get("when", {}).get(name, _values(parent))
                if left := [each for each in before if not _holds([value], each)]:
                    return {name: left}
        return None

    def _parents(self, requested: Iterable[str]) -> list[dict[str, Any]]:
        """Return the parameters that can be parents of a condition: choices, then integers with few values, each most
        recently requested first."""
        names = list(requested)[::-1]
        found = [each for each in map(self._known, names) if each is not None and _values(each)]
        return sorted(found, key=lambda each: each["kind"] == "int")

    def _edit(self, parameter: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        try:
            self.info = self.study._edit_space([parameter], defaults)
        except Invalid as refused:
            refused.add_note(
                f"The server refused to add or change {parameter['name']!r}, whose declaration or condition follows "
                "from the objective. Declare all parameters, with their conditions (when), in create_study(...)."
            )
            raise


@dataclass
class Asking:
    """Adapts an objective that requests its parameters to a function of ``Study.run`` with ``pass_trial``."""

    objective: Objective
    space: Space

    def __call__(self, leased: LeasedTrial) -> Any:
        trial = AskingTrial(leased, self.space)
        returned = self.objective(trial)
        if leased.outcome is not None:
            return returned
        point = self.space.evaluated(leased, trial.params)
        if point == leased.parameters:
            return returned
        fields = dict(returned) if isinstance(returned, Mapping) else {"value": returned}
        leased.observe(parameters=point, **fields)
        return None


def first_parameter(objective: Objective) -> dict[str, Parameter]:
    """Run an objective until it requests its first parameter, and return this parameter.

    Raises:
        TypeError: it requests none.
    """
    try:
        objective(Suggestions())  # type: ignore[arg-type]  # the objective may call no other methods before
    except FirstParameter as found:
        return found.parameters
    raise WrongFunction(
        "the objective requests no parameter: it must call trial.suggest_float, suggest_int or suggest_categorical "
        "before any other method of the trial"
    )


def _check(name: str, requested: Parameter, known: Mapping[str, Any]) -> None:
    declared = to_wire({name: requested})[0]
    if known["kind"] not in (declared["kind"], "ordinal", "bool"):
        fits = known["kind"] == "fixed"
    elif declared["kind"] == "categorical":
        choices = known.get("choices", known.get("values", [False, True]))
        fits = len(choices) == len(declared["choices"]) and all(_holds(choices, each) for each in declared["choices"])
    else:
        fits = all(known.get(part) == declared.get(part) for part in ("low", "high")) and (
            known.get("scale", "linear") == declared.get("scale", "linear")
        )
    if not fits:
        raise ValueError(
            f"trial.suggest_...({name!r}): the objective requests {requested!r}, but the study has "
            f"{_described(known)}. "
            f"If the range has changed permanently, edit it: study.update(parameters={{{name!r}: {requested!r}}}). "
            "If it changes from trial to trial, give each range its own name."
        )


def _described(known: Mapping[str, Any]) -> str:
    if "low" in known:
        kind = "an int" if known["kind"] == "int" else f"a {known['kind']}"
        return f"{kind} from {known['low']} to {known['high']} on a {known.get('scale', 'linear')} scale"
    if known["kind"] == "fixed":
        return f"the fixed value {known['value']!r}"
    return f"the choices {list(known.get('choices', known.get('values', (False, True))))}"


def _middle(parameter: Parameter) -> Any:
    """Return the default of a parameter in trials that did not request it: the middle of its range, or its first
    choice."""
    if isinstance(parameter, Categorical):
        return plain(next(iter(parameter.choices)))
    assert isinstance(parameter, Float | Int)
    low, high = float(parameter.low), float(parameter.high)
    middle = math.sqrt(low * high) if parameter.log else (low + high) / 2
    step = parameter.step
    if step is not None:
        middle = low + float(step) * round((middle - low) / float(step))
    return int(middle) if isinstance(parameter, Int) else min(max(middle, low), high)


def _values(parameter: Mapping[str, Any]) -> list[Any]:
    """Return the values of a parameter that can be the parent of a condition; empty for other parameters."""
    match parameter["kind"]:
        case "categorical":
            return list(parameter["choices"])
        case "bool":
            return [False, True]
        case "int":
            values = range(parameter["low"], parameter["high"] + 1, parameter.get("step") or 1)
            return list(values) if len(values) <= MAX_VALUES else []
        case _:
            return []


def _widened(known: Mapping[str, Any], requested: Mapping[str, Any]) -> dict[str, list[Any]] | None:
    """Return a condition that also holds in this trial; None if it already holds, or depends on unrequested
    parameters."""
    before: Mapping[str, list[Any]] = known.get("when") or {}
    if any(name not in requested for name in before):
        return None
    after = {
        name: values if _holds(values, requested[name]) else [*values, requested[name]]
        for name, values in before.items()
    }
    return after if after != before else None


def _is_active(known: Mapping[str, Any], requested: Mapping[str, Any]) -> bool:
    """Return whether the conditions of a parameter hold in a trial."""
    conditions: Mapping[str, list[Any]] = known.get("when") or {}
    return all(name in requested and _holds(values, requested[name]) for name, values in conditions.items())


def _holds(values: Iterable[Any], value: Any) -> bool:
    """Return whether ``values`` contain ``value``. True and 1 are different values."""
    return any(each == value and isinstance(each, bool) == isinstance(value, bool) for each in values)


def prepare(study: StudyCalls, definition: Mapping[str, Any], objective: Objective) -> Steps[None]:
    """Create a study with this definition and the first parameter that the objective requests. If the study exists,
    open it.

    Raises:
        Conflict: it exists with another definition.
        TypeError: the objective requests no parameter.
    """
    try:
        known = (yield from study.info()).parameters
    except NotFound:
        parameters = first_parameter(objective)
        with suppress(Conflict):  # another process has created it meanwhile
            yield from client_calls.create_study(parameters=parameters, **definition)
            return
        known = (yield from study.info()).parameters
    yield from client_calls.open_study(parameters=known, **definition)
