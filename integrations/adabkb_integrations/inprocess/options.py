"""The options of a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat, SupportsIndex, TypedDict

from adabkb_client import (
    AshaRule,
    EarlyStopping,
    MedianRule,
    Mixture,
    OutcomeConstraint,
    PatienceRule,
    Stop,
    StudyObjective,
)
from adabkb_client._trial import Context
from adabkb_integrations.beliefs import Belief
from adabkb_integrations.inprocess.plates import Plates
from adabkb_integrations.inprocess.trials import Evaluated, Found

if TYPE_CHECKING:
    from adabkb_integrations.inprocess.search import Search

AUTO = {"profile": "auto"}

SearchBudget = SupportsIndex | Mapping[str, SupportsFloat]
"""A number of trials, or ``{"cost": 600}``, or ``{"plates": 3}``."""

Callback = Callable[["Search", Evaluated], object]
"""Takes the search and the trial that was just finished."""


class Options(TypedDict, total=False):
    """The options of ``minimize`` and ``maximize``."""

    algorithm: Mapping[str, Any]
    """The algorithm: ``{"profile": "auto"}``, the default, or as a baseline without a model ``{"kind": "random"}`` or
    ``{"kind": "sobol"}``."""
    seed: SupportsIndex | None
    """Searches with the same seed and results evaluate the same points. With None, the default, a random seed is
    used."""
    noise_std: SupportsFloat | None
    """Standard deviation of one value, in the objective's units. With None, the default, it is learned."""
    constraints: Sequence[str]
    """Constraints that every point satisfies, such as ``["x + y <= 1", "not (kind == 'a' and x > 0.5)"]``, in the
    grammar of studies. Choices in constraints are strings, numbers, booleans, None or lists of these."""
    mixtures: Sequence[Mixture]
    """Shares of a whole, such as ``[Mixture(parameters=["water", "ethanol", "glycerol"], at_most=2)]``, which sum to
    1 or another ``total``."""
    prior: Mapping[str, Belief] | None
    """Beliefs about the position of the optimum, by parameter: ``{"lr": {"around": 0.001, "factor": 10}}`` on a log
    scale, ``{"around": 128, "width": 64}`` on a linear scale, ``{"weights": {"adam": 3}}`` for choices. The search
    starts with points that are probably good, but excludes none."""
    plates: Plates | None
    """Plates, which the trials fill one by one, such as ``{"size": 24, "shared": ["temperature"]}``: the trials of a
    plate have equal values of the ``shared`` parameters, and their results share an offset that the model learns."""
    metrics: Sequence[str]
    """Names of metrics that each result has: the function returns ``{"value": 0.1, "metrics": {"size": 4.0}}``."""
    outcome_constraints: Sequence[OutcomeConstraint]
    """Metrics with bounds, such as ``[{"metric": "size", "upper": 5}]``. The search looks for the best point that
    satisfies them."""
    objectives: Sequence[StudyObjective | str]
    """Several objectives, which are metrics instead of the value: names, or dicts with ``metric``, ``direction`` (by
    default that of the function) and ``reference``. The result has a ``front``."""
    cost: Literal["told", "measured"] | None
    """The source of the metric ``cost``: each result (``"told"``), or the seconds of the call (``"measured"``)."""
    per_cost: bool
    """Whether points are chosen by their expected gain per cost."""
    robust: bool
    """Whether results that other results contradict get less weight, and their points are suggested again."""
    transfer_from: Sequence[Found]
    """Results of earlier searches, which the model uses as far as they agree with the new results. Parameters are the
    same if their names are."""
    early_stopping: MedianRule | AshaRule | PatienceRule | EarlyStopping | None
    """The rule that ends a trial before its last step, based on its reports: ``MedianRule(27)``, ``AshaRule(27)`` or
    ``PatienceRule(27, no_gain_for=5)``. It requires ``pass_trial``. A stopped trial counts towards the budget only as
    the share of ``max_steps`` that it has taken."""
    pass_trial: bool
    """Whether to call the function with the trial instead of the parameters: a ``RunningTrial`` with ``parameters``,
    ``report`` and ``should_stop``. Once the trial is stopped, the function may also raise an exception of ``catch``, or
    one named ``TrialPruned``, such as Optuna's. Any other exception is logged and counts towards ``max_failures``; the
    trial stays stopped."""
    fixed: Mapping[str, Any]
    """Values that all points have, such as ``{"machine": "B"}``. The search ends if no other point has them."""
    baseline: Mapping[str, Any]
    """The current settings, or some of them. Of equally good points, ``near_baseline`` of the result is one that
    changes few of them."""
    stop: Stop | None
    """Rules that end the search before its budget is used up: ``{"no_gain_for": 20}`` (results),
    ``{"gap_share_below": 0.01}`` (the gap is less than this share of the range of the results), or both."""
    tolerance: SupportsFloat | None
    """The search ends when its gap, the model's bound on what further trials can gain, is at most this, in the
    objective's units."""
    context: Context
    """The values of the context parameters, or a function that returns them, called before each trial. Those that are
    measured with the result, ``Float(0, 1, context="measured")``, can be left out: the function returns them, as in
    ``{"value": 0.1, "parameters": {"humidity": 0.4}}``."""
    callbacks: Sequence[Callback]
    """Called as ``callback(search, trial)`` after each trial; ``search.stop()`` ends the search after it."""
    catch: type[Exception] | tuple[type[Exception], ...]
    """Exceptions of these classes fail their trial, but never end the search."""
    max_failures: int
    """The search ends with the last error after this many failures in a row; by default 5."""
    progress: bool
    """Whether to show a progress bar or, without a terminal, a line per result; by default True."""


DEFAULTS: Options = {
    "algorithm": AUTO,
    "seed": None,
    "noise_std": None,
    "constraints": (),
    "mixtures": (),
    "prior": None,
    "plates": None,
    "metrics": (),
    "outcome_constraints": (),
    "objectives": (),
    "cost": None,
    "per_cost": False,
    "robust": False,
    "transfer_from": (),
    "early_stopping": None,
    "pass_trial": False,
    "fixed": {},
    "baseline": {},
    "stop": None,
    "tolerance": None,
    "context": None,
    "callbacks": (),
    "catch": (),
    "max_failures": 5,
    "progress": True,
}
"""The value of each option that is not given."""
