"""The settings of a study as arguments of tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypedDict, TypeVar, get_args, get_type_hints

from pydantic import Field

from adabkb_client.mcp._arguments import (
    Belief,
    Budget,
    Count,
    EarlyStopping,
    Mixture,
    NotNegative,
    Objective,
    OutcomeConstraint,
    Plates,
    Point,
    Quantity,
    Stop,
    StudyId,
)

F = TypeVar("F", bound=Callable[..., Any])
LeaseSeconds = Annotated[float, Field(gt=0, le=30 * 86400, allow_inf_nan=False)]


class StudySettings(TypedDict, total=False):
    """The settings of a new study. None is the server's default."""

    objectives: Annotated[
        list[Objective] | None,
        Field(min_length=2, max_length=4, description="two to four in place of direction"),
    ]
    metrics: Annotated[
        list[str] | None, Field(description="names of the metrics that each result has in addition to its value")
    ]
    outcome_constraints: Annotated[
        list[OutcomeConstraint] | None, Field(description="bounds that metrics must satisfy")
    ]
    constraints: Annotated[
        list[str] | None,
        Field(
            description='conditions that every suggested point satisfies, such as "x + y <= 1" or "not (kind == '
            "'a' and x > 2)\""
        ),
    ]
    mixtures: Annotated[
        list[Mixture] | None,
        Field(description="shares of a whole, such as the components of a formula, which sum to a total"),
    ]
    quantities: Annotated[
        dict[str, Quantity] | None,
        Field(description="units, labels and natural bounds of measured quantities: value, and metrics"),
    ]
    budget: Annotated[
        Budget | None,
        Field(description="evaluation limit, or a limit of plates or of the total cost; none if absent"),
    ]
    noise_std: Annotated[
        NotNegative | None,
        Field(description="standard deviation of one result, in the units of the objective, if known; 0 if exact"),
    ]
    tolerance: Annotated[
        NotNegative | None,
        Field(description="the study is complete when its gap is at most this, in the units of the objective"),
    ]
    stop: Stop | None
    early_stopping: EarlyStopping | None
    prior: Annotated[dict[str, Belief] | None, Field(description="where the optimum probably is, by parameter")]
    baseline: Annotated[
        Point | None,
        Field(description="current settings; of equally good points, the one that changes fewest is recommended"),
    ]
    plates: Plates | None
    cost: Annotated[
        Literal["told", "measured"] | None,
        Field(description="source of the metric cost: told (by each result) or measured (seconds of the evaluation)"),
    ]
    per_cost: Annotated[bool | None, Field(description="true: suggest by the expected gain per cost; requires cost")]
    robust: Annotated[
        bool | None,
        Field(description="true: results that other results contradict get less weight, and their points are repeated"),
    ]
    transfer_from: Annotated[
        list[StudyId] | None,
        Field(description="older studies whose results are also used, as far as they agree with the new ones"),
    ]
    lease_seconds: Annotated[
        LeaseSeconds | None,
        Field(description="seconds that a trial stays leased without a heartbeat; 3600 if absent, 30 days at most"),
    ]
    max_attempts: Annotated[Count | None, Field(description="expired leases after which a trial fails; 3 if absent")]
    max_runtime_seconds: Annotated[
        LeaseSeconds | None, Field(description="time limit of one attempt, even with heartbeats; none if absent")
    ]
    failure_limit: Annotated[
        Count | Literal["none"] | None,
        Field(description="failed trials in a row after which the study is paused, or none; 10 if absent"),
    ]
    pending_limit: Annotated[Count | None, Field(description="maximum number of unfinished trials; none if absent")]
    algorithm: Annotated[
        Point | None,
        Field(
            description='an algorithm other than the default, which learns its constants: {"kind": "random"} or '
            '{"kind": "sobol"}, without a model, as baselines; others with their constants, only on request'
        ),
    ]
    seed: Annotated[Annotated[int, Field(ge=0, le=2**53 - 1)] | None, Field(description="seed of all random draws")]
    title: Annotated[str | None, Field(description="name of the study for display; its id if absent")]
    description: Annotated[str | None, Field(description="what the study is about, for people")]
    tags: Annotated[dict[str, str] | None, Field(description="names with values by which studies can be found")]


class StudyChanges(TypedDict, total=False):
    """The settings of a study that agents may change. An explicit null is refused, since some agents give null for
    arguments that they mean to leave out."""

    mixtures: Annotated[
        list[Mixture],
        Field(description="all mixtures that hold from now on; an empty list removes them"),
    ]
    prior: Annotated[
        dict[str, Belief],
        Field(description="all beliefs about the optimum from now on, by parameter; an empty object removes them"),
    ]
    baseline: Annotated[Point, Field(description="all settings in use from now on; an empty object removes them")]
    outcome_constraints: Annotated[
        list[OutcomeConstraint],
        Field(
            description="all bounds of metrics from now on, of metrics that the study measures; an empty list "
            "removes them"
        ),
    ]
    early_stopping: Annotated[
        EarlyStopping,
        Field(description="the study's rule with new settings; rule, max_steps and metric as before"),
    ]
    noise_std: Annotated[
        NotNegative,
        Field(description="standard deviation of a result from now on; 0 if results are exact"),
    ]
    per_cost: Annotated[bool, Field(description="suggest by expected gain per cost, in a study with costs")]
    robust: Annotated[bool, Field(description="give less weight to results that other results contradict")]


def with_settings(tool: F) -> F:
    """Decorate a tool: the fields of its ``**settings`` become arguments, before those that it has only by keyword.
    Arguments that were left out are None."""
    signature = inspect.signature(tool, eval_str=True)
    *own, settings = signature.parameters.values()
    (fields,) = get_args(settings.annotation)
    arguments = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in get_type_hints(fields, include_extras=True).items()
    ]
    first = [each for each in own if each.kind is not each.KEYWORD_ONLY]
    vars(tool)["__signature__"] = signature.replace(parameters=[*first, *arguments, *own[len(first) :]])
    return tool
