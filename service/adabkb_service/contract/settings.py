"""The settings of a study: the one place where each is declared.

A setting is a field of ``StudyFields`` with a ``Setting``. Its string after the field is the documentation of the
argument in Python. From this table follow the bodies of ``POST`` and ``PATCH``, the answers and the words for changes,
which import it; and the arguments of both clients and of the agents' tools and the options of commands, which
``make generate`` writes (``tools/study_settings.py``), since they are also used without the server's packages.
``contract/study.py`` has what a setting may be combined with.
"""

from __future__ import annotations

from typing import Annotated, Any, get_args

from pydantic import Field

from adabkb_service.contract.algorithms import Algorithm, AutoProfile
from adabkb_service.contract.baseline import Baseline
from adabkb_service.contract.budget import Budget
from adabkb_service.contract.constraints import Constraints
from adabkb_service.contract.cost import CostSource
from adabkb_service.contract.early_stopping import EarlyStopping
from adabkb_service.contract.error_limits import LIMIT_ERRORS
from adabkb_service.contract.metrics import MetricNames, OutcomeConstraints
from adabkb_service.contract.mixtures import Mixtures
from adabkb_service.contract.objectives import Direction, Objectives
from adabkb_service.contract.parameters import (
    MAX_PARAMETERS,
    Count,
    Description,
    LeaseSeconds,
    NotNegative,
    Parameter,
    Seed,
    StudyId,
    Tags,
    Title,
)
from adabkb_service.contract.plates import Plates
from adabkb_service.contract.prior import Beliefs
from adabkb_service.contract.quantities import Quantities
from adabkb_service.contract.setting import ChangedBy, Setting, is_optional, settings_of
from adabkb_service.contract.sparse import ABSENT_BY_DEFAULT, Sparse
from adabkb_service.contract.stop import Stop
from adabkb_service.contract.transfer import OlderStudies

FAILURE_LIMIT = 10


class StudyFields(Sparse):
    """What describes a study: its id, its goal, its parameters and its settings."""

    id: Annotated[
        StudyId | None,
        Field(description="id of the study: letters, digits, . _ and -; by default the server generates one"),
    ] = None
    title: Annotated[
        Title | None,
        Field(description="name of the study for display, such as Suzuki coupling; by default its id"),
        Setting("name of the study for display", "column", words="title"),
    ] = None
    """The name of the study for display, such as ``"Suzuki coupling"``; by default its id. None removes it."""
    description: Annotated[
        Description | None,
        Field(description="what the study is about, for people: its purpose, materials, methods"),
        Setting("what the study is about", "column", words="description"),
    ] = None
    """What the study is about, for people."""
    objectives: Annotated[
        Objectives,
        Field(description="several objectives, which are metrics of the results; replaces direction"),
        ABSENT_BY_DEFAULT,
        Setting("one of several objectives"),
    ] = Field(default_factory=list)
    """Two to four objectives, instead of a ``direction``, such as
    ``[{"metric": "accuracy", "direction": "maximize"}, {"metric": "cost", "direction": "minimize"}]``. ``reference``
    (only results better than this count in the hypervolume) and ``noise_std`` are optional."""
    direction: Annotated[
        Direction | None,
        Field(description="required unless there are objectives", validate_default=True),
        ABSENT_BY_DEFAULT,
    ] = None
    parameters: Annotated[list[Parameter], Field(min_length=1, max_length=MAX_PARAMETERS), LIMIT_ERRORS]
    algorithm: Annotated[
        Algorithm,
        Field(
            validate_default=True,
            description="the algorithm with its constants; auto learns them from the results",
        ),
        Setting(
            "an algorithm with its constants",
            for_agents='an algorithm other than the default, which learns its constants: {"kind": "random"} or '
            '{"kind": "sobol"}, without a model, as baselines; others with their constants, only on request',
        ),
    ] = AutoProfile()
    """An algorithm other than ``auto``, with its constants, such as ``{"profile": "paper"}``, or ``{"kind": "random"}``
    and ``{"kind": "sobol"}`` as baselines: see docs/systems.md."""
    constraints: Annotated[
        Constraints,
        Field(
            description="conditions that every point must satisfy, including the points of results, such as "
            "a + b <= 1 or not (kind == 'x' and n > 2)",
        ),
        Setting(
            "a constraint on parameters", "space", change="edits the space: these constraints replace all former ones"
        ),
    ] = Field(default_factory=list)
    """What every point satisfies: strings in Python syntax with the names of parameters, such as
    ``["a + b <= 1", 'kernel == "rbf" or degree <= 3']``. All must hold. Each of these lines is a constraint:

    - ``0.2 <= a + 2 * b <= 1``: ``+ - * / **``, ``abs``, ``min``, ``max``, ``sqrt``, ``log``, ``exp``;
      compare by ``<= < >= >``
    - ``layers * units <= 1024``
    - ``solvent in ["DMF", "water"]``: compare choices by ``==``, ``!=``, ``in``, ``not in``
    - ``not (kernel == "poly" and c > 10)``: join comparisons by ``and``, ``or``, ``not``
    - ``kernel != "poly" or degree <= 3``: if ``kernel`` is "poly", then ``degree <= 3``
    - ``"flow rate" <= 2 * area``: quote a name that is not an identifier
    """
    mixtures: Annotated[
        Mixtures,
        Field(description="shares of a whole, which sum to the total at every point"),
        ABSENT_BY_DEFAULT,
        Setting(
            "shares of a whole",
            "space",
            change="edits the space: these mixtures replace all former ones",
            by_agents=True,
            words="the mixtures",
        ),
    ] = Field(default_factory=list)
    """Shares of a whole, such as ``[{"parameters": ["water", "ethanol", "glycerol"], "at_most": 2}]``. Optional are
    ``total`` (the sum of the shares, by default 1), ``at_most`` (the maximum number of shares above 0) and ``least``
    (the minimum of a share that is not 0)."""
    budget: Annotated[
        Budget | None,
        Field(
            description='maximum number of trials, each counted once however often it is leased; or {"cost": 3600}; '
            'or, in a study with plates, {"plates": 3}'
        ),
        Setting('number of trials, "3 plates" or "cost 50"', "column", words="budget"),
    ] = None
    """The maximum number of trials, such as ``50``, each counted once however often it is leased; or the maximum total
    cost of the results, ``{"cost": 12.5}``; or, with ``plates``, the maximum number of plates, ``{"plates": 3}``. With
    early stopping, a stopped trial counts only as the share of ``max_steps`` that it has taken, so more trials may
    start. To limit the number of started trials, use ``n_trials`` of ``run`` or ``optimize``."""
    seed: Annotated[
        Seed | None,
        Field(
            description="seed of all random choices, to repeat a study exactly; by default the server draws one",
        ),
        Setting("seed of the suggestions"),
    ] = None
    """Studies with the same definition, seed (such as ``1``) and results suggest the same points. With None, the server
    draws a seed."""
    noise_std: Annotated[
        NotNegative | None,
        Field(
            description="standard deviation of a result, in the objective's units; 0 if results are exact, as those of "
            "a deterministic simulation; by default the profile auto learns it"
        ),
        Setting(
            "standard deviation of a result",
            "rule",
            change="edits the model: standard deviation of a result; 0 if results are exact",
            removal="learned from the results",
            by_agents=True,
            words="the standard deviation of a result",
        ),
    ] = None
    """Standard deviation of a result, such as ``0.1``, in the objective's units; ``0`` if results are exact. With None,
    it is learned."""
    tolerance: Annotated[
        NotNegative | None,
        Field(
            description="the study is complete when its gap, the model's bound on what further trials can gain, is at "
            "most this, in the objective's units"
        ),
        Setting("gap at which the study is complete", "column", words="gain that does not matter", form="difference"),
    ] = None
    """The study is complete when its gap, the model's bound on what further trials can gain, is at most this, such as
    ``0.01``, in the objective's units."""
    lease_seconds: Annotated[
        LeaseSeconds,
        Field(description="time for which a trial is reserved for a worker; after that, another worker may get it"),
        Setting("duration of a lease", "column", is_lasting=True, words="reservation", form="duration"),
    ] = 3600.0
    """How long a trial stays with a worker that sends no heartbeat, such as ``600``, unless the worker gives another
    duration."""
    max_attempts: Annotated[
        Count,
        Field(description="a trial fails after this many attempts whose reservation (lease) expired without a result"),
        Setting(
            "expired leases after which a trial fails",
            "column",
            is_lasting=True,
            words="attempts of a trial",
            label="Attempts at a trial",
        ),
    ] = 3
    """The number of expired leases after which a trial fails, such as ``3``."""
    max_runtime_seconds: Annotated[
        LeaseSeconds | None,
        Field(description="time limit of one attempt, even if its reservation (lease) is renewed"),
        Setting(
            "time limit of an attempt",
            "column",
            words="time limit of an attempt",
            form="duration",
            label="Longest time of a trial",
        ),
    ] = None
    """Time limit of one attempt, such as ``7200``, regardless of heartbeats."""
    failure_limit: Annotated[
        Count | None,
        Field(description="number of failed trials in a row after which the study is paused"),
        Setting(
            "failures in a row that pause the study, or none",
            "column",
            words="failures in a row before a pause",
            label="Pause after this many failures",
        ),
    ] = FAILURE_LIMIT
    """The number of failed trials in a row after which the study is paused, such as ``10``."""
    pending_limit: Annotated[
        Count | None,
        Field(description="maximum number of unfinished trials, whether running or waiting"),
        Setting(
            "maximum number of unfinished trials",
            "column",
            words="unfinished trials at a time",
            label="Maximum number of unfinished trials",
        ),
    ] = None
    """The maximum number of unfinished trials, such as ``8``."""
    stop: Annotated[
        Stop | None,
        Field(description="rules that end the study before the budget is used up"),
        Setting("", "column", words="rules for ending early"),  # its rules are options
    ] = None
    """Rules that end the study before the budget is used up: ``{"no_gain_for": 20}`` after 20 results in a row without
    an improvement, ``{"gap_share_below": 0.01}`` when the gap is below 0.01 of the range of the results, or both."""
    early_stopping: Annotated[
        EarlyStopping | None,
        Field(
            description="rule that ends a trial before its last step, based on the intermediate values that it reports"
        ),
        Setting(
            "the rule that ends trials early",
            "rule",
            is_lasting=True,
            change="edits the rule: the same rule with other settings, except max_steps and metric",
            by_agents=True,
            words="the rule of early stopping",
        ),
    ] = None
    """The rule that ends a trial before its last step, based on its reports: ``MedianRule(27)``, ``AshaRule(27)`` or
    ``PatienceRule(27, no_gain_for=5)``, or a dict with these arguments, such as
    ``{"rule": "median", "max_steps": 27}``."""
    tags: Annotated[
        Tags,
        Field(description="names with values by which studies can be found, such as project: coatings"),
        Setting("a tag", "column", words="tags"),
    ] = Field(default_factory=dict)
    """Strings by name, for searching studies, such as ``{"project": "solvents"}``."""
    metrics: Annotated[
        MetricNames,
        Field(description="names of the metrics that each result has in addition to its value"),
        ABSENT_BY_DEFAULT,
        Setting("another measured quantity"),
    ] = Field(default_factory=list)
    """The metrics of each result in addition to its value, such as ``["latency_ms"]``."""
    outcome_constraints: Annotated[
        OutcomeConstraints,
        Field(description="bounds of metrics; the best point must satisfy them"),
        ABSENT_BY_DEFAULT,
        Setting(
            "bounds of a metric",
            "rule",
            change="edits the bounds: these bounds of the study's metrics replace all former ones",
            by_agents=True,
        ),
    ] = Field(default_factory=list)
    """Bounds of metrics, each with ``lower``, ``upper`` or both, such as ``[{"metric": "latency_ms", "upper": 20}]``;
    the best point must satisfy them."""
    prior: Annotated[
        Beliefs,
        Field(description="beliefs about the optimum, by the names of parameters"),
        ABSENT_BY_DEFAULT,
        Setting(
            "a belief about the optimum",
            "space",
            change="edits the space: these beliefs about the optimum replace all former ones",
            by_agents=True,
            words="the prior knowledge",
        ),
    ] = Field(default_factory=dict)
    """Beliefs about the position of the optimum, by parameter: ``{"lr": {"around": 0.001, "factor": 10}}`` on a log
    scale, ``{"x": {"around": 2, "width": 1}}`` on a linear scale, ``{"optimizer": {"weights": {"adam": 3}}}`` for
    choices."""
    baseline: Annotated[
        Baseline,
        Field(
            description="the current settings, by parameter: among equally good points, the server recommends the one "
            "that changes fewest of them",
        ),
        ABSENT_BY_DEFAULT,
        Setting(
            "a value of the baseline (current settings)",
            "space",
            change="edits the space: this baseline replaces the former one",
            by_agents=True,
            words="the values in use",
        ),
    ] = Field(default_factory=dict)
    """The current settings, by parameter, such as ``{"temperature": 80}``: among equally good points, the
    recommendation changes the fewest of them."""
    cost: Annotated[
        CostSource | None,
        Field(
            description="source of the metric cost: told (each result gives it) or measured (seconds of the attempt)"
        ),
        ABSENT_BY_DEFAULT,
        Setting("source of the cost: told or measured"),
    ] = None
    """The source of the metric "cost": ``"told"`` (each result gives it) or ``"measured"`` (the duration of the attempt
    in seconds)."""
    per_cost: Annotated[
        bool,
        Field(description="whether points are suggested by expected gain per cost"),
        ABSENT_BY_DEFAULT,
        Setting(
            "suggest by the expected gain per cost",
            "rule",
            change="edits the search: whether points are suggested by expected gain per cost",
            by_agents=True,
            words="the preference for cheap trials",
        ),
    ] = False
    """If ``True``, the server suggests the points with the largest expected gain per expected cost."""
    robust: Annotated[
        bool,
        Field(
            description="whether the model gives less weight to a result that other results contradict, and its point "
            "is suggested again"
        ),
        ABSENT_BY_DEFAULT,
        Setting(
            "give less weight to contradicted results",
            "rule",
            change="edits the model: whether a result that other results contradict gets less weight",
            by_agents=True,
            words="the treatment of results that may be wrong",
        ),
    ] = False
    """If ``True``, the model gives less weight to results that other results contradict, and the server suggests the
    points of these results again."""
    transfer_from: Annotated[
        OlderStudies,
        Field(description="older studies whose results the model also uses, as far as they agree with the new ones"),
        ABSENT_BY_DEFAULT,
        Setting("an older study to learn from"),
    ] = Field(default_factory=list)
    """Ids of older studies, such as ``["net-2025"]``, whose results the model also uses, as far as they agree with
    the new ones."""
    quantities: Annotated[
        Quantities,
        Field(
            description="labels, units and digits for display, and natural bounds, by name: of metrics, objectives, "
            "and 'value' for a single objective",
        ),
        ABSENT_BY_DEFAULT,
        Setting(
            "label, unit, low, high of value or a metric",
            "label",
            change="labels, units, digits and natural bounds, by name; these replace all former ones",
        ),
    ] = Field(default_factory=dict)
    """Labels, units, digits and natural bounds of measured quantities by name, where "value" stands for a single
    objective, such as ``{"value": {"label": "Yield", "unit": "%", "digits": 1, "low": 0, "high": 100}}``."""
    plates: Annotated[
        Plates | None,
        Field(
            description="plates: batches of trials that share some values, and whose results share an offset that the "
            "model learns"
        ),
        ABSENT_BY_DEFAULT,
        Setting("batches of trials that share values"),
    ] = None
    """Batches of trials that share some values, such as ``{"size": 24, "shared": ["temperature"]}``. Results of the
    same plate share an offset, whose size the model learns."""


SETTINGS = settings_of(StudyFields)
"""The settings by name."""


def changed_by(*ways: ChangedBy) -> tuple[str, ...]:
    """Return the settings that change in one of these ways."""
    return tuple(name for name, setting in SETTINGS.items() if setting.changed_by in ways)


CHANGEABLE = changed_by(*get_args(ChangedBy))
"""The settings that can be changed."""
IN_COLUMNS = changed_by("column")
"""Settings that have a column each, which changes without an edit of the definition."""
LABELS = changed_by("label")
"""Settings that the definition has, and that change without an edit of it."""
EDITED = changed_by("rule", "space")
"""Settings that an edit of the definition replaces as a whole."""


def removed(name: str) -> Any:
    """Return the value of a setting that was removed: null or, if it may not be null, empty or false."""
    field = StudyFields.model_fields[name]
    return None if is_optional(field) else field.get_default(call_default_factory=True)
