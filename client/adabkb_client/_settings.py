"""The types of which the settings of a study consist, and checks of the settings before they are sent."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, SupportsFloat, SupportsIndex, TypedDict, final

from adabkb_client._hints import add_hints
from adabkb_client._values import shown

Direction = Literal["minimize", "maximize"]


@final
class CostBudget(TypedDict):
    """A budget in the units of the cost, instead of a number of trials: ``{"cost": 12.5}``."""

    cost: float
    """The total cost of the results after which no trial is issued."""


@final
class PlateBudget(TypedDict):
    """A budget in plates, instead of a number of trials, for a study with ``plates``: ``{"plates": 3}``."""

    plates: int
    """The number of plates after which no further plate is begun; begun plates are still filled."""


class Stop(TypedDict, total=False):
    """Rules that end a study before its budget is used up: ``no_gain_for``, ``gap_share_below`` or both. The first rule
    that applies ends it."""

    no_gain_for: int
    """End the study after this many results in a row without an improvement."""
    gap_share_below: float
    """End the study when the gap, the model's bound on what further trials can gain, is below this share of the range
    of the results."""


class EarlyStopping(TypedDict, total=False):
    """A rule of early stopping as a dict: ``{"rule": "asha", "max_steps": 27}`` is ``AshaRule(27)``.

    Every rule has the keys ``rule``, ``max_steps``, ``min_steps`` and ``metric``. "median" also has ``after_trials``,
    "asha" ``after_trials`` and ``eta``, and "patience" ``no_gain_for`` and ``min_gain``.
    """

    rule: Required[Literal["median", "asha", "patience"]]
    """The name of the rule: see ``MedianRule``, ``AshaRule`` and ``PatienceRule``."""
    max_steps: Required[int]
    """The number of steps of a full evaluation."""
    min_steps: int
    """No trial is stopped before this step; the first rung of ASHA. By default 1."""
    metric: str | None
    """With several objectives: the one whose values are reported."""
    after_trials: int
    """For "median" and "asha": a trial is stopped only if this many other trials have reached the step or the rung."""
    eta: int
    """For "asha": one in this many trials continues from each rung."""
    no_gain_for: int
    """For "patience": the number of steps without an improvement after which a trial is stopped."""
    min_gain: float
    """For "patience": improvements no larger than this do not count."""


@add_hints
class MedianRule(dict[str, Any]):
    """Stops a trial whose best value is worse than the median of other trials at the same step: ``MedianRule(27)``.

    The function reports with ``trial.report(step, value)``: see ``pass_trial`` of ``Study.run``.

    Args:
        max_steps: the number of steps of a full evaluation.
        min_steps: no trial is stopped before this step.
        after_trials: a trial is stopped at a step only if this many other trials have reported the step.
        metric: with several objectives: the one whose values are reported.
    """

    def __init__(self, max_steps: int, *, min_steps: int = 1, after_trials: int = 5, metric: str | None = None) -> None:
        super().__init__(
            rule="median", max_steps=max_steps, min_steps=min_steps, after_trials=after_trials, **_named(metric)
        )


@add_hints
class AshaRule(dict[str, Any]):
    """Asynchronous successive halving: one in ``eta`` trials that reach a rung continues: ``AshaRule(27, eta=3)``.

    The function reports as for ``MedianRule``, with ``trial.report(step, value)``.

    Args:
        max_steps: the number of steps of a full evaluation.
        min_steps: no trial is stopped before this step, which is the first rung.
        after_trials: a trial is stopped at a rung only if this many other trials have reached the rung.
        eta: one in this many trials continues from each rung. The rungs are at ``min_steps`` times the powers of
            ``eta``.
        metric: with several objectives: the one whose values are reported.
    """

    def __init__(
        self,
        max_steps: int,
        *,
        min_steps: int = 1,
        after_trials: int = 1,
        eta: int = 3,
        metric: str | None = None,
    ) -> None:
        super().__init__(
            rule="asha",
            max_steps=max_steps,
            min_steps=min_steps,
            after_trials=after_trials,
            eta=eta,
            **_named(metric),
        )


@add_hints
class PatienceRule(dict[str, Any]):
    """Stops a trial whose value has not improved for some steps; its last value is its result:
    ``PatienceRule(27, no_gain_for=5)``.

    The function reports as for ``MedianRule``, with ``trial.report(step, value)``.

    Args:
        max_steps: the number of steps of a full evaluation.
        no_gain_for: the number of steps without an improvement after which a trial is stopped.
        min_steps: no trial is stopped before this step.
        min_gain: improvements no larger than this do not count.
        metric: with several objectives: the one whose values are reported.
    """

    def __init__(
        self,
        max_steps: int,
        *,
        no_gain_for: int,
        min_steps: int = 1,
        min_gain: float = 0.0,
        metric: str | None = None,
    ) -> None:
        super().__init__(
            rule="patience",
            max_steps=max_steps,
            min_steps=min_steps,
            no_gain_for=no_gain_for,
            min_gain=min_gain,
            **_named(metric),
        )


def _named(metric: str | None) -> dict[str, str]:
    return {} if metric is None else {"metric": metric}


class Mixture(TypedDict, total=False):
    """Parameters that are shares of a whole: each a ``Float`` of 0 or more, which sum to the total.

    The keys are ``parameters``, ``total``, ``at_most`` and ``least``.
    """

    parameters: Required[Sequence[str]]
    """The names of the shares."""
    total: SupportsFloat
    """The sum of the shares; by default 1."""
    at_most: SupportsIndex | None
    """The maximum number of shares above 0; None, the default, means all."""
    least: SupportsFloat
    """The minimum of a share that is not 0; by default 0."""


class OutcomeConstraint(TypedDict, total=False):
    """Bounds that a metric of the results must satisfy: ``metric`` with ``lower``, ``upper`` or both."""

    metric: Required[str]
    """The name of the metric."""
    lower: float | None
    """The smallest value that is allowed."""
    upper: float | None
    """The largest value that is allowed."""


class StudyObjective(TypedDict, total=False):
    """One of several objectives: a metric of the results.

    The keys are ``metric``, ``direction``, ``reference`` and ``noise_std``.
    """

    metric: Required[str]
    """The name of the metric."""
    direction: Required[Direction]
    """Whether to minimize or to maximize it."""
    reference: float | None
    """A result must be better than this to count in the hypervolume; by default the worst result so far."""
    noise_std: SupportsFloat | None
    """Standard deviation of one measured value, in the objective's units; 0 if values are exact."""


class Belief(TypedDict, total=False):
    """The user's belief about the optimum along one parameter: ``around`` with ``width`` or ``factor`` for a number,
    ``weights`` for choices."""

    around: float
    """For a number: the value that is probably best."""
    width: float
    """On a linear scale: the distance from ``around`` at which the density is half as large."""
    factor: float
    """On a log scale: the density is half as large at ``around`` times ``factor`` and at ``around`` divided by
    ``factor``."""
    weights: Mapping[str, float]
    """For choices: how many times as likely each is to be best as a choice without a weight, by the choice's text."""


class Quantity(TypedDict, total=False):
    """A measured quantity: its ``label``, ``unit``, ``digits``, and its natural bounds ``low`` and ``high``."""

    label: str | None
    """The label, shown instead of the name."""
    unit: str | None
    """The unit, such as "%"."""
    digits: int | None
    """Digits after the decimal point; by default as many as the results have."""
    low: float | None
    """The smallest possible value: displayed intervals are clipped to it. If there is also a ``high``, a result that
    is more than ``high - low`` below is refused."""
    high: float | None
    """The largest possible value, used in the same way."""


class Plates(TypedDict, total=False):
    """Batches of trials: ``size`` is the number of trials on a plate, and ``shared`` names the parameters whose values
    are equal on it."""

    size: Required[SupportsIndex]
    """The number of trials on a plate, such as its wells."""
    shared: Sequence[str]
    """The names of the parameters whose values are equal in all trials of a plate."""


class Algorithm(TypedDict, total=False):
    """An algorithm with its constants, such as ``{"kind": "random"}`` or ``{"profile": "paper", "branching": 3}``.

    See docs/systems.md for the constants of each kind.
    """

    kind: Literal["ada-bkb", "ada-bbkb", "ada-gp-ucb", "gp-ucb", "bkb", "random-bkb", "gp-threds", "random", "sobol"]
    """The algorithm. "random" and "sobol" are baselines without a model."""
    profile: Literal["auto", "paper"]
    """For "ada-bkb": "auto" learns the constants from the results, and "paper" takes them as given."""
    delta: float
    """The bounds hold with the probability 1 - delta."""
    noise_std: float
    """Standard deviation of a result; the study's ``noise_std`` overrides it."""
    norm_bound: float
    """A bound on the norm of the objective in the RKHS of the kernel."""
    beta: float | Literal["theory", "authors"] | None
    """The width of the bounds, or the name of its formula."""
    epsilon: float
    """Accuracy of the sketch."""
    qbar: float
    """Oversampling of the dictionary."""
    kernel: Literal["gaussian", "matern"]
    """The kernel."""
    smoothness: float
    """Smoothness of the Matern kernel: 0.5, 1.5 or 2.5."""
    lengthscale: float | Sequence[float] | None
    """One lengthscale, or one per parameter."""
    ridge: float
    """The ridge that is added to the kernel matrix."""
    coordinates: Literal["unit", "raw"]
    """Coordinates of the model: the unit cube, or the parameters' own."""
    outputs: Literal["standardized", "raw"] | None
    """Units of the model's outputs."""
    branching: int
    """The number of children per split."""
    max_depth: int | None
    """The greatest depth of a cell."""
    v1: float | None
    """Together with ``rho``: the bound on the variation in a cell of depth h is g(v1 rho^h)."""
    rho: float | None
    """See ``v1``. Give both or neither; with neither, each cell's own radius is used."""
    index: Literal["ucb", "ei"]
    """What ranks cells: the upper bound, or the expected improvement."""
    batch_drift: float
    """For "ada-bbkb": the dictionary is drawn again when 1 plus the sum of the variances s^2 at the points observed
    since the last draw exceeds it."""
    horizon: int
    """For "ada-gp-ucb": the number of results for which the bounds must hold."""
    c1: float
    """For "ada-gp-ucb": c1 r^-d balls of radius r can cover the box."""
    points_per_axis: int | None
    """The number of points per axis of the grid."""
    points: int
    """For "random-bkb": the number of points, drawn uniformly once."""
    lowest: float
    """For "gp-threds": the lower end of the range in which to search for the best value."""
    highest: float
    """For "gp-threds": the upper end of this range."""
    patience: int
    """For "gp-threds": the number of results without a decision after which a cell is accepted."""
    slack: float
    """For "gp-threds": the margin below the threshold at which the children of a cell are rejected, as a multiple of
    the cell's side."""


NOT_GIVEN: Any = ...
"""The default of settings as arguments. None is a value, such as no limit."""


def given(**settings: Any) -> dict[str, Any]:
    """Return the settings that a program has given."""
    return {name: value for name, value in settings.items() if value is not NOT_GIVEN}


EXAMPLES = {
    "baseline": '{"temperature": 80, "solvent": "water"}',
    "early_stopping": '{"rule": "asha", "max_steps": 27}',
    "quantities": '{"value": {"label": "Yield", "unit": "%"}}',
    "plates": '{"size": 24, "shared": ["temperature"]}',
    "prior": '{"lr": {"around": 0.001, "factor": 10}}',
    "stop": '{"no_gain_for": 20}',
    "tags": '{"team": "vision"}',
}
"""An example for each setting that must be a dict, except ``algorithm``."""
INSTEAD = {
    "load_if_exists": "leave it out: a study that exists with the same definition is opened",
    "n_trials": "the number of trials is budget=100",
    "name": 'a name for people is title="Suzuki coupling"; the id is the first argument of create_study',
    "pruner": f"use early_stopping={EXAMPLES['early_stopping']}",
    "sampler": 'leave it out; a baseline without a model is algorithm={"kind": "random"}',
    "storage": 'leave it out: the server stores the study; name it in Client(url) or Client.local("study.db")',
    "study_id": "the id of a study is the first argument: id",
    "study_name": "the id of a study is the first argument: id",
}
"""What to use instead of settings of other libraries, except ``directions``."""


def objectives_example(*directions: Any) -> str:
    """Return an example of the setting ``objectives`` with these directions."""
    metrics = ("error", "latency", "memory", "price")
    each = [{"metric": metric, "direction": direction} for metric, direction in zip(metrics, directions, strict=False)]
    return json.dumps(each)


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse settings of a wrong kind, before they are sent.

    Raises:
        TypeError: a value that must be a dict is not one, the objectives are not a list of dicts, the constraints are a
            string or functions instead of a list of strings, or a setting is one of another library; the message says
            what to write.
    """
    if "directions" in settings:
        directions = settings["directions"]
        named = list(directions) if isinstance(directions, list | tuple) else ["minimize", "minimize"]
        one = f"direction={named[0]!r}" if len(named) == 1 else f"objectives={objectives_example(*named)}"
        raise TypeError(f"directions is not a setting; use {one}")
    for name in settings.keys() & INSTEAD.keys():
        raise TypeError(f"{name} is not a setting; {INSTEAD[name]}")
    objectives = settings.get("objectives")
    if objectives is not None and not (
        isinstance(objectives, list | tuple) and all(isinstance(each, Mapping) for each in objectives)
    ):
        example = objectives_example("minimize", "maximize")
        raise TypeError(f"objectives must be a list of dicts such as {example}, not {shown(objectives)}")
    for name, value in settings.items():
        if name in EXAMPLES and value is not None and not isinstance(value, Mapping):
            raise TypeError(f"{name} must be a dict such as {EXAMPLES[name]}, not {shown(value)}")
    if isinstance(stop := settings.get("stop"), Mapping) and "rule" in stop:
        raise TypeError(
            f"stop ends the whole study; a rule that ends single trials is another setting: early_stopping={stop!r}"
        )
    constraints = settings.get("constraints")
    if isinstance(constraints, str):
        raise TypeError(f"constraints={constraints!r} must be a list of constraints: constraints=[{constraints!r}]")
    if any(callable(each) for each in (constraints if isinstance(constraints, list | tuple) else [constraints])):
        raise TypeError(
            "constraints must be strings, which the server evaluates, such as "
            'constraints=["layers * units <= 1024"], not functions'
        )
