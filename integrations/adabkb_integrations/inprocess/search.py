"""The search loop: request a point from the engine, call the function, and report the result to the engine."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypedDict, Unpack, get_type_hints

from adabkb_client import (
    AshaRule,
    EarlyStopping,
    Estimate,
    MedianRule,
    Mixture,
    OutcomeConstraint,
    Parameter,
    PatienceRule,
    Stop,
    StudyObjective,
    StudySettings,
)
from adabkb_client._parameters import to_wire
from adabkb_client._run.evaluation import Evaluation
from adabkb_client._run.evaluation import Result as Returned
from adabkb_client._run.options import check_catch
from adabkb_client._run.progress import Progress, StudyProgress
from adabkb_client._run.tracebacks import own_frames, shortened
from adabkb_client._trial import Context, Objective
from adabkb_client._trial_calls import ends_stopped, in_words, is_mistake
from adabkb_client._values import finite, finite_metrics
from adabkb_client.errors import WrongResult
from adabkb_integrations.beliefs import Belief, prior_of
from adabkb_integrations.domain import Domain, domain_of
from adabkb_integrations.inprocess.ending import reason_to_end, rules_of
from adabkb_integrations.inprocess.held import assumed, restriction
from adabkb_integrations.inprocess.measured import COST, Measurements, measurements
from adabkb_integrations.inprocess.near import baseline_of, near_baseline
from adabkb_integrations.inprocess.numbers import at_least
from adabkb_integrations.inprocess.older import older_of
from adabkb_integrations.inprocess.plates import Plates, filling
from adabkb_integrations.inprocess.stopping import Marks, RunningTrial, Stopped, rule_of
from adabkb_integrations.inprocess.trials import Evaluated, Found, Reason
from adabkb_integrations.model import Array, Model, Position, one_thread
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.early_stopping import Curve
from adabkb_service.engine.older import Older
from adabkb_service.engine.prior import Prior
from adabkb_service.engine.sampling import config as sampling
from adabkb_service.engine.slices import Slice

log = logging.getLogger("adabkb_integrations")

SEEDS = 2**31
AUTO = {"profile": "auto"}
NOTHING: Mapping[str, Any] = MappingProxyType({})
SHORTEST = 1e-6
"""The minimum measured cost, in seconds."""

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


def minimize(
    function: Objective, space: Mapping[str, Parameter], budget: SearchBudget, **options: Unpack[Options]
) -> Found:
    """Minimize a function by Ada-BKB under the ``auto`` profile, in this process.

    A study on a server with the same seed and one worker evaluates the same points. Nothing is stored; for long or
    parallel evaluations, use ``adabkb_client.Client.local``.

    Args:
        function: called with the active parameters by name; returns the value, or a dict such as
            ``{"value": 0.1, "std_error": 0.01}``. With ``"partial": True``, numbers may be missing, and the model
            learns from the others; nothing adds them later. With ``parameters``, the result is that of another point,
            which has these values in place of the suggested ones. An exception fails the trial and is logged. A
            programming error ends the search: ImportError, NameError, SyntaxError; before the first result also
            AttributeError, KeyError, TypeError, and an invalid result.
        space: the parameters by name: ``Float``, ``Int``, ``Ordinal``, ``Categorical``, ``Bool``, ``Fixed`` and
            ``Catalogue`` of ``adabkb_client``. Choices may be any objects here.
        budget: the number of trials, including failed ones; or ``{"cost": 600}``, the total cost of the results; or
            ``{"plates": 3}``, the number of plates, of which begun ones are still filled. The search ends
            earlier if a finite space has no more points, or by the rules of ``stop`` and ``tolerance``.
        options: see ``Options``.

    Returns:
        The trials and the best one. Ctrl-C ends the search, which then returns the trials so far.

    Raises:
        TypeError: a parameter has an unknown kind, or the function does not accept the parameters or returns something
            other than a number.
        ValueError: an argument is out of its range or does not fit the space, or arguments cannot be combined; the
            message says which.
        Exception: the last error, after ``max_failures`` failures in a row; a programming error; or the error of a
            callback.
    """
    return Search("minimize", function, space, budget, **options).run()


def maximize(
    function: Objective, space: Mapping[str, Parameter], budget: SearchBudget, **options: Unpack[Options]
) -> Found:
    """Maximize a function: see ``minimize``."""
    return Search("maximize", function, space, budget, **options).run()


class Search:
    """A search of ``minimize`` or ``maximize``. ``trials`` are its finished trials."""

    def __init__(
        self,
        name: Literal["minimize", "maximize"],
        function: Objective,
        space: Mapping[str, Parameter],
        budget: SearchBudget,
        *,
        algorithm: Mapping[str, Any] = AUTO,
        seed: SupportsIndex | None = None,
        noise_std: SupportsFloat | None = None,
        constraints: Sequence[str] = (),
        mixtures: Sequence[Mixture] = (),
        prior: Mapping[str, Belief] | None = None,
        plates: Plates | None = None,
        metrics: Sequence[str] = (),
        outcome_constraints: Sequence[OutcomeConstraint] = (),
        objectives: Sequence[StudyObjective | str] = (),
        cost: Literal["told", "measured"] | None = None,
        per_cost: bool = False,
        robust: bool = False,
        transfer_from: Sequence[Found] = (),
        early_stopping: MedianRule | AshaRule | PatienceRule | EarlyStopping | None = None,
        pass_trial: bool = False,
        fixed: Mapping[str, Any] = NOTHING,
        baseline: Mapping[str, Any] = NOTHING,
        stop: Stop | None = None,
        tolerance: SupportsFloat | None = None,
        context: Context = None,
        callbacks: Sequence[Callback] = (),
        catch: type[Exception] | tuple[type[Exception], ...] = (),
        max_failures: int = 5,
        progress: bool = True,
        **others: Any,
    ) -> None:
        _check_others(name, others)
        self.trials: list[Evaluated] = []
        self.best: Evaluated | None = None
        """The trial with the best value, the first one in a tie; None with several objectives."""
        self._at: dict[Position, Evaluated] = {}
        """The first trial with a result at each point."""
        self._moved: list[Position] = []
        """Suggested points of trials whose results are at other points."""
        self.seed = secrets.randbelow(SEEDS) if seed is None else at_least("seed", seed, 0)
        self._name: Literal["minimize", "maximize"] = name
        self._function = function
        self._measured = measurements(name, metrics, outcome_constraints, objectives, cost)
        self._budget, self._cost_budget, most = _budgets(budget)
        self._spent = self._spent_on_stopped = 0.0
        self._steps_saved = self._failures_in_a_row = 0
        self._marks = Marks()
        self._callbacks, self._catch, self._max_failures, self._progress = callbacks, catch, max_failures, progress
        self._stopped = False
        check_catch(catch)
        self._domain = _domain(space, constraints, mixtures)
        self._in_context = tuple(name for name, each in space.items() if getattr(each, "context", False) == "measured")
        """The context parameters that are measured with the result."""
        _check_in_context(self._in_context, space, self._domain)
        _check_rule(early_stopping, pass_trial=pass_trial)
        self._plates = filling(plates, self._domain, space, mixtures, most)
        self._context, self._fixed = context, fixed
        self._since_best = 0
        """The number of results after the best one."""
        known = self._domain.space.context - set(self._in_context)
        if context is None and known:
            raise ValueError(
                f"context must have the values of {', '.join(sorted(known))}, or be a function that returns them"
            )
        if not callable(context):
            restriction(self._domain, self._with_assumed(context), fixed)
        conditional = [name for name, each in space.items() if each.when]
        expected = self._measured.expected(f"{name}()", self._in_context)
        self._evaluation = Evaluation(function, pass_trial=pass_trial, expected=expected)
        self._evaluation.check([each for each in space if each not in self._in_context], conditional)
        beliefs = prior_of(prior, self._domain)
        noises = self._measured.noises(noise_std)
        config = _config(algorithm, noises, beliefs, self._domain, has_plates=self._plates is not None)
        older = older_of(transfer_from, self._domain, self._measured)
        _check_options(config, self._measured, per_cost, self._cost_budget, older, robust=robust)
        has_context, has_model = bool(self._domain.space.context), isinstance(config, Config)
        self._rule = rule_of(early_stopping, self._measured, has_model=has_model)
        self._rules = rules_of(stop, tolerance, self._measured, has_context=has_context, has_model=has_model)
        self._baseline = baseline_of(baseline, self._domain)
        _check_baseline(self._baseline, self._measured, has_model=has_model)
        if isinstance(config, Config):
            config = replace(
                config,
                metrics=self._measured.others,
                objective=self._measured.objective,
                per_cost=per_cost,
                robust=robust,
                cost_budget=self._cost_budget,
                older=older,
            )
        self._model = Model(self._domain.space, self.seed, config)

    def stop(self) -> None:
        """End the search after this trial."""
        self._stopped = True

    def run(self) -> Found:
        """Evaluate trials until the search ends."""
        with Progress(self._name, self._budget, self._study_progress, visible=self._progress) as shown:
            try:
                reason = self._search(shown)
            except KeyboardInterrupt:
                reason = "interrupted"
            except Exception as error:
                raise shortened(error)  # noqa: B904 - it is the same error
        front = self._measured.front(self.trials)
        recommended, near = self._recommended(), self._near_baseline()
        return Found(self.best, tuple(self.trials), reason, self.seed, self._name, front, recommended, near)

    def _recommended(self) -> Evaluated | None:
        if self._measured.has_several or self._domain.space.context:
            return None
        with one_thread():
            point = self._model.recommended()
        return None if point is None else self._at.get(point)

    def _near_baseline(self) -> Estimate | None:
        if not self._baseline:
            return None
        with one_thread():
            tolerance = self._rules.get("tolerance", 0.0)
            context = self._latest_context()
            return near_baseline(self._model, self._domain, self._baseline, self._measured.sign, tolerance, context)

    def _latest_context(self) -> dict[str, Any]:
        """Return the engine's values of the context parameters in the last result; empty without any."""
        results = [trial for trial in self.trials if trial.has_result]
        if not self._domain.space.context or not results:
            return {}
        point = self._domain.space.nearest(self._domain.to_engine("parameters", results[-1].parameters))
        return {name: point[name] for name in self._domain.space.context}

    def _search(self, shown: Progress) -> Reason:
        while self._has_budget:
            context = self._with_assumed(self._context() if callable(self._context) else self._context)
            within = restriction(self._domain, context, self._fixed)
            with one_thread():  # the function may use more threads
                points, held = self._suggested(within)
            if not points:
                return "exhausted" if self._plates is None or self._plates.can_begin else "budget"
            parameters = {**self._domain.decode(points[0], held), **(context or {})}
            plate = None if self._plates is None else self._plates.add(points[0], held)
            trial = self._evaluate(parameters, plate)
            self._learn(trial, points[0], parameters)
            if trial.state != "completed":
                shown.show(self._study_progress)
            else:
                shown.result(trial.number, trial.value, self._study_progress, trial.metrics)
            for callback in self._callbacks:
                callback(self, trial)
            if self._stopped:
                return "stopped"
            if reason := self._reason_to_end():
                return reason
        return "budget"

    def _suggested(self, within: Slice | None) -> tuple[list[Array], dict[str, Any]]:
        """Return the next point, and the values that its plate or the context fixes; no point if none is left."""

        def ask(part: Slice | None) -> list[Array]:
            return self._model.suggest(moved=self._moved, within=part)

        if self._plates is None:
            return ask(within), {} if within is None else dict(within.fixed)
        return self._plates.suggest(ask, within)

    def _with_assumed(self, context: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Return a context with assumed values of the parameters that are measured with the result."""
        unknown = [name for name in self._in_context if name not in (context or {})]
        if not unknown:
            return context
        return {**self._domain.to_declared(assumed(self._domain, unknown, self.trials)), **(context or {})}

    def _evaluate(self, parameters: Mapping[str, Any], plate: int | None) -> Evaluated:
        number, started = len(self.trials) + 1, time.perf_counter()
        given = {name: value for name, value in parameters.items() if name not in self._in_context}
        judged = partial(self._judged, self._place(parameters, plate))
        tells_cost = self._measured.cost == "told"
        trial = RunningTrial(number, given, self._rule, judged, tells_cost=tells_cost, measured=self._measured_so_far)
        try:
            returned = self._function(trial) if self._evaluation.pass_trial else self._function(**given)
            seconds = time.perf_counter() - started
            if trial._stopped is None:
                found = _with_cost(self._evaluation.result_of(returned), self._measured, seconds)
                values, measured = (found.value, found.std_error), (found.metrics, found.std_errors)
                point = self._point(parameters, found.parameters)
                evaluated = Evaluated(number, point, "completed", *values, None, plate, *measured)
            else:
                evaluated = replace(self._stopped_trial(trial, trial._stopped, returned, seconds), plate=plate)
        except Exception as error:
            is_failure = trial._stopped is None or not ends_stopped(error, self._catch)
            if is_failure:
                self._judge(trial, error)
            if trial._stopped is None:
                evaluated = Evaluated(number, parameters, "failed", reason=in_words(error), plate=plate)
            else:
                seconds = time.perf_counter() - started
                evaluated = replace(self._stopped_trial(trial, trial._stopped, None, seconds), plate=plate)
        else:
            is_failure = False
        if not is_failure:
            self._failures_in_a_row = 0
        return evaluated

    def _judge(self, trial: RunningTrial, error: Exception) -> None:
        """Log an exception, and count it as a failure unless it is one of ``catch``.

        Raises:
            Exception: the same exception, if it is a programming error or the last of ``max_failures`` in a row.
        """
        if not isinstance(error, self._catch):
            if is_mistake(error, has_succeeded=any(each.state != "failed" for each in self.trials)):
                raise error
            self._failures_in_a_row += 1
            if self._failures_in_a_row >= self._max_failures:
                error.add_note(
                    f"{self._name}(): ended after {self._failures_in_a_row} failures in a row; this is the last one"
                )
                raise error
        happened = "was stopped, and then its function failed" if trial.should_stop else "failed"
        shown = type(error), error, own_frames(error)
        log.warning("trial %d of %s() %s", trial.number, self._name, happened, exc_info=shown)

    def _point(self, parameters: Mapping[str, Any], differing: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return the point of a result, whose values may differ from the suggested ones.

        Raises:
            WrongResult: a value is not valid.
        """
        point = {**parameters, **(differing or {})}
        if not differing:
            return point
        try:
            problems = self._domain.space.problems(self._domain.to_engine("parameters", point), is_measured=True)
        except ValueError as error:
            raise WrongResult(f"the function returned {error}") from None
        for name, problem in problems.items():
            raise WrongResult(f"the function returned parameters[{name!r}], which {problem}")
        return point

    def _place(self, parameters: Mapping[str, Any], plate: int | None) -> tuple[Any, ...]:
        """Return the plate and the context of a trial. Early stopping compares only trials with the same ones. Context
        that is measured with the result does not matter."""
        return plate, *(parameters[name] for name in sorted(self._domain.space.context - set(self._in_context)))

    def _measured_so_far(self, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Check the parameters of a report, which must be the context parameters that are measured with the result, and
        return them.

        Raises:
            WrongResult: a value is missing, not valid or not expected.
        """
        found = dict(given or {})
        if missing := [name for name in self._in_context if name not in found]:
            raise WrongResult(f"parameters[{missing[0]!r}] is missing; give its value so far")
        if others := [name for name in found if name not in self._in_context]:
            raise WrongResult(f"parameters[{others[0]!r}] is not measured with the result; leave it out")
        try:
            known = self._domain.to_engine("parameters", found)
        except ValueError as error:
            raise WrongResult(str(error)) from None
        for name, problem in self._domain.space.problems(known, partial=True, is_measured=True).items():
            raise WrongResult(f"parameters[{name!r}] {problem}")
        return found

    def _judged(self, place: tuple[Any, ...], number: int, before: int, curve: Curve) -> Stopped | None:
        """Return why a trial is stopped after its last report; None if it continues."""
        assert self._rule is not None, "the search has a rule"
        metric = self._rule.metric
        completed = [trial for trial in self.trials if trial.state == "completed"]
        finals = {
            trial.number: trial.value if metric is None else (trial.metrics or {}).get(metric) for trial in completed
        }

        def is_comparable(other: int) -> bool:
            trial = self.trials[other - 1]
            return self._place(trial.parameters, trial.plate) == place

        return self._marks.judged(
            self._rule,
            number,
            before,
            curve,
            outside={trial.number for trial in completed if self._measured.violation(trial)},
            is_comparable=is_comparable,
            results={trial: value for trial, value in finals.items() if value is not None},
        )

    def _stopped_trial(self, trial: RunningTrial, stopped: Stopped, returned: Any, seconds: float) -> Evaluated:
        """Return a trial that was stopped early: with an estimate of its value or, if the rule compares no trials, with
        its last value and the metrics that the function returned.

        Raises:
            WrongResult, NotFinite: the function returned invalid metrics.
        """
        assert self._rule is not None, "the search has a rule"
        cost = trial._cost if self._measured.cost == "told" else max(seconds, SHORTEST)
        costs = {} if self._measured.cost is None or cost is None else {COST: cost}
        parameters = {**trial.parameters, **trial._measured}
        found = Evaluated(trial.number, parameters, "stopped", reason=stopped.reason)
        if stopped.estimate is not None:
            self._spent_on_stopped += costs.get(COST, 0.0)
            found = replace(found, estimate=stopped.estimate)
        else:
            found = self._with_last_value(found, stopped, returned, costs)
        self._steps_saved += self._rule.max_steps - stopped.step
        return found

    def _with_last_value(self, found: Evaluated, stopped: Stopped, returned: Any, costs: dict[str, float]) -> Evaluated:
        """Return a stopped trial with its last reported value, and with the metrics that the function returned.

        Raises:
            WrongResult, NotFinite: the function returned invalid metrics.
        """
        assert self._rule is not None, "the search has a rule"
        fields = returned if isinstance(returned, Mapping) else {}
        metrics = finite_metrics("metrics", fields.get("metrics")) or {}
        errors = finite_metrics("std_errors", fields.get("std_errors")) or {}
        names = {metric.name for metric in self._measured.metrics}
        if self._rule.metric is None:
            found = replace(found, value=stopped.value)
        else:
            metrics = {**metrics, self._rule.metric: stopped.value}
        metrics = {name: value for name, value in {**metrics, **costs}.items() if name in names}
        errors = {name: error for name, error in errors.items() if name in metrics and name != self._rule.metric}
        return replace(found, metrics=metrics or None, std_errors=errors or None)

    def _learn(self, trial: Evaluated, point: Array, suggested: Mapping[str, Any]) -> None:
        position: Position = tuple(point.tolist())
        if trial.parameters != suggested and trial.state != "failed":
            at = self._domain.space.encode(self._domain.to_engine("parameters", trial.parameters))
            self._moved += [position] if tuple(at.tolist()) != position else []
            position = tuple(at.tolist())
        if trial.state != "failed":
            self._at.setdefault(position, trial)
        result = self._measured.result(trial, position, None if self._rule is None else self._rule.metric)
        if not isinstance(self._model.config, Config):  # a baseline without a model
            result = replace(result, metrics=())
        with one_thread():
            self._model.learn({trial.number: result})
            self._model.spend(self._spent_on_stopped)
        self.trials.append(trial)
        self._spent += (trial.metrics or {}).get(COST, 0.0)
        ranked = self._measured.rank
        self._since_best += trial.state != "failed" and trial.estimate is None
        is_ranked = trial.value is not None and self._measured.is_decided(trial)
        if is_ranked and (self.best is None or ranked(trial) > ranked(self.best)):
            self.best, self._since_best = trial, 0

    def _reason_to_end(self) -> Reason | None:
        """Return the rule that ends the search; None if none does, or if its budget is used up."""
        if not self._rules or not self._has_budget:
            return None
        with one_thread():
            return reason_to_end(self._rules, self._model, self._since_best, has_several=self._measured.has_several)

    @property
    def _has_budget(self) -> bool:
        if self._cost_budget is not None:
            return self._spent + self._spent_on_stopped < self._cost_budget
        if self._budget is None:
            return self._plates is None or self._plates.has_place
        saved = 0 if self._rule is None else self._steps_saved // self._rule.max_steps
        return len(self.trials) < self._budget + saved

    @property
    def _study_progress(self) -> StudyProgress:
        failed = sum(trial.state == "failed" for trial in self.trials)
        return StudyProgress(len(self.trials), failed, self.best.value if self.best else None)


def _domain(space: Mapping[str, Parameter], constraints: Sequence[str], mixtures: Sequence[Mixture]) -> Domain:
    if not isinstance(space, Mapping):
        raise TypeError(f'space must be a dict of parameters, such as {{"x": Float(0, 1)}}, not {space!r}')
    to_wire(space)  # refuses other kinds, and values that are not finite
    return domain_of(space, "space", constraints, mixtures)


def _config(
    algorithm: Mapping[str, Any],
    noises: Sequence[float | None],
    prior: Prior | None,
    domain: Domain,
    *,
    has_plates: bool,
) -> Config | sampling.Config:
    if algorithm in (AUTO, {"kind": "ada-bkb", **AUTO}):
        return Config(noise_std=noises[0], prior=prior, has_plates=has_plates)
    kind = algorithm.get("kind") if isinstance(algorithm, Mapping) and len(algorithm) == 1 else None
    if kind not in ("random", "sobol"):
        raise ValueError(
            f'algorithm must be {{"profile": "auto"}}, {{"kind": "random"}} or {{"kind": "sobol"}}, not {algorithm!r}; '
            "studies on a server support more algorithms"
        )
    if prior is not None:
        raise ValueError('prior requires the algorithm {"profile": "auto"}; leave one of the two out')
    if kind == "sobol" and domain.space.mixtures:
        raise ValueError('mixtures cannot be combined with the algorithm {"kind": "sobol"}; use {"kind": "random"}')
    return sampling.Config(kind, repeats=any(noises))


def _budgets(given: SearchBudget) -> tuple[int | None, float | None, int | None]:
    """Return the budgets in trials, in costs and in plates, of which two are None."""
    if not isinstance(given, Mapping):
        return at_least("budget", given, 1), None, None
    if set(given) == {"plates"}:
        return None, None, at_least("budget['plates']", given["plates"], 1)  # type: ignore[arg-type]
    if set(given) != {COST} or not (most := finite("budget", given[COST])) > 0.0:
        raise ValueError(
            f'budget must be a number of trials, or {{"cost": 600}} with a positive cost, or {{"plates": 3}}, not '
            f"{given!r}"
        )
    return None, most, None


def _check_others(name: str, others: Mapping[str, Any]) -> None:
    """Refuse options that only a study has, and unknown ones."""
    for other in others:
        if other in get_type_hints(StudySettings):
            raise TypeError(
                f"{name}() has no {other}; a study has it: Client.local('study.db').create_study(..., {other}=...)"
            )
        raise TypeError(f"{name}() has no option {other}; it has {', '.join(Options.__annotations__)}")


def _check_in_context(names: Sequence[str], space: Mapping[str, Parameter], domain: Domain) -> None:
    """Refuse conditions and constraints that depend on values that are only measured with the result."""
    for name in names:
        if any(name in (each.when or ()) for each in space.values()):
            raise ValueError(f"{name} is measured with the result, so no condition (when) can depend on it")
        if any(name in each.names for each in domain.space.constraints):
            raise ValueError(f"{name} is measured with the result, so no constraint can name it")


def _check_rule(rule: Mapping[str, Any] | None, *, pass_trial: bool) -> None:
    if rule is not None and not pass_trial:
        raise ValueError("early_stopping also needs pass_trial=True, so that the function can call trial.report")


def _check_baseline(baseline: Mapping[str, Any], measured: Measurements, *, has_model: bool) -> None:
    if baseline and measured.has_several:
        raise ValueError("baseline cannot be combined with several objectives, which have a front; leave it out")
    if baseline and not has_model:
        raise ValueError('baseline requires the algorithm {"profile": "auto"}; leave one of the two out')


def _check_options(
    config: Config | sampling.Config,
    measured: Measurements,
    per_cost: bool,
    cost_budget: float | None,
    older: Sequence[Older],
    *,
    robust: bool,
) -> None:
    if measured.cost is None and (per_cost or cost_budget is not None):
        name = "per_cost" if per_cost else "a cost budget"
        raise ValueError(f'{name} also needs the option cost: "told" (by each result) or "measured" (in seconds)')
    if not isinstance(config, Config) and (per_cost or older or robust):
        name = "per_cost" if per_cost else "transfer_from" if older else "robust"
        raise ValueError(f'{name} requires the algorithm {{"profile": "auto"}}; leave one of the two out')


def _with_cost(result: Returned, measured: Measurements, seconds: float) -> Returned:
    """Return a result with its cost, if that is measured.

    Raises:
        WrongResult: its cost is not positive.
    """
    if measured.cost == "measured" and COST not in (result.metrics or {}):
        result = result._replace(metrics={**(result.metrics or {}), COST: max(seconds, SHORTEST)})
    if measured.cost is not None and not (result.metrics or {})[COST] > 0.0:
        raise WrongResult(f"the cost of a result must be positive, not {(result.metrics or {})[COST]}")
    return result
