"""The search loop: request a point from the engine, call the function, and report the result to the engine."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from adabkb_client import (
    Estimate,
    Parameter,
)
from adabkb_client._run.evaluation import Result as Returned
from adabkb_client._run.evaluation import note_on_tuples
from adabkb_client._run.progress import Progress, StudyProgress
from adabkb_client._run.tracebacks import own_frames, shortened
from adabkb_client._trial import Objective
from adabkb_client._trial_calls import MISTAKES, ends_stopped, in_words, is_mistake
from adabkb_client._values import finite_metrics
from adabkb_client.errors import WrongResult
from adabkb_integrations.inprocess.choices import unshared
from adabkb_integrations.inprocess.ending import reason_to_end
from adabkb_integrations.inprocess.held import restriction, with_assumed
from adabkb_integrations.inprocess.measured import COST, Measurements
from adabkb_integrations.inprocess.names import with_names_checked
from adabkb_integrations.inprocess.near import near_baseline
from adabkb_integrations.inprocess.options import Options, SearchBudget
from adabkb_integrations.inprocess.plan import Direction, plan_of
from adabkb_integrations.inprocess.plates import Filling
from adabkb_integrations.inprocess.posterior import Posterior
from adabkb_integrations.inprocess.stopping import Marks, RunningTrial, Stopped
from adabkb_integrations.inprocess.trials import Evaluated, Found, Reason
from adabkb_integrations.model import Array, Model, Position, one_thread
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.early_stopping import Curve
from adabkb_service.engine.slices import Slice

log = logging.getLogger("adabkb_integrations")

SHORTEST = 1e-6
"""The minimum measured cost, in seconds."""


@with_names_checked
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
            ``Catalogue`` of ``adabkb_client``. Choices may be any objects here; lists become tuples, as in studies.
            Each call gets its own copies of dicts and sets, and the same other objects.
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


@with_names_checked
def maximize(
    function: Objective, space: Mapping[str, Parameter], budget: SearchBudget, **options: Unpack[Options]
) -> Found:
    """Maximize a function: see ``minimize``."""
    return Search("maximize", function, space, budget, **options).run()


class Search:
    """A search of ``minimize`` or ``maximize``. ``trials`` are its finished trials."""

    def __init__(
        self,
        direction: Direction,
        function: Objective,
        space: Mapping[str, Parameter],
        budget: SearchBudget,
        **options: Unpack[Options],
    ) -> None:
        self._plan = plan_of(direction, function, space, budget, options)
        self._options, self._domain = self._plan.options, self._plan.domain
        self._measured, self._rule = self._plan.measured, self._plan.rule
        self.seed = self._plan.seed
        self.trials: list[Evaluated] = []
        self.best: Evaluated | None = None
        """The trial with the best value, the first one in a tie; None with several objectives."""
        self._at: dict[Position, Evaluated] = {}
        """The first trial with a result at each point."""
        self._moved: list[Position] = []
        """Suggested points of trials whose results are at other points."""
        self._spent = self._spent_on_stopped = 0.0
        self._steps_saved = self._failures_in_a_row = 0
        self._since_best = 0
        """The number of results after the best one."""
        self._marks = Marks()
        self._plates = None if self._plan.plates is None else Filling(self._domain.space, self._plan.plates)
        self._model = Model(self._domain.space, self._plan.seed, self._plan.config)
        self._stopped = False

    def stop(self) -> None:
        """End the search after this trial."""
        self._stopped = True

    def run(self) -> Found:
        """Evaluate trials until the search ends."""
        with Progress(
            self._plan.direction, self._plan.budget.trials, self._study_progress, visible=self._options["progress"]
        ) as shown:
            try:
                reason = self._search(shown)
            except KeyboardInterrupt:
                reason = "interrupted"
            except Exception as error:
                raise shortened(error)  # noqa: B904 - it is the same error
        return Found(
            self.best,
            tuple(self.trials),
            reason,
            self.seed,
            self._plan.direction,
            front=self._measured.front(self.trials),
            recommended=self._recommended(),
            near_baseline=self._near_baseline(),
            parameter_names=tuple(each.name for each in self._domain.space.parameters),
            metric_names=tuple(metric.name for metric in self._measured.metrics),
            posterior=Posterior(self._model, self._domain, self._measured, self._plan.declared),
        )

    def _recommended(self) -> Evaluated | None:
        if self._measured.has_several or self._domain.space.context:
            return None
        with one_thread():
            point = self._model.recommended()
        return None if point is None else self._at.get(point)

    def _near_baseline(self) -> Estimate | None:
        if not self._plan.baseline:
            return None
        with one_thread():
            tolerance = self._plan.rules.get("tolerance", 0.0)
            context = self._latest_context()
            return near_baseline(
                self._model, self._domain, self._plan.baseline, self._measured.sign, tolerance, context
            )

    def _latest_context(self) -> dict[str, Any]:
        """Return the engine's values of the context parameters in the last result; empty without any."""
        results = [trial for trial in self.trials if trial.has_result]
        if not self._domain.space.context or not results:
            return {}
        point = self._domain.space.nearest(self._domain.to_engine("parameters", results[-1].parameters))
        return {name: point[name] for name in self._domain.space.context}

    def _search(self, shown: Progress) -> Reason:
        while self._has_budget:
            context = self._context()
            within = restriction(self._domain, context, self._options["fixed"])
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
            for callback in self._options["callbacks"]:
                callback(self, trial)
            if self._stopped:
                return "stopped"
            if reason := self._reason_to_end():
                return reason
        return "budget"

    def _context(self) -> Mapping[str, Any] | None:
        """Return the context of the next trial."""
        given = self._options["context"]
        known = given() if callable(given) else given
        known = None if known is None else self._domain.as_declared("context", known)
        return with_assumed(self._domain, known, self._plan.in_context, self.trials)

    def _suggested(self, within: Slice | None) -> tuple[list[Array], dict[str, Any]]:
        """Return the next point, and the values that its plate or the context fixes; no point if none is left."""

        def ask(part: Slice | None) -> list[Array]:
            return self._model.suggest(moved=self._moved, within=part)

        if self._plates is None:
            return ask(within), {} if within is None else dict(within.fixed)
        return self._plates.suggest(ask, within)

    def _evaluate(self, parameters: Mapping[str, Any], plate: int | None) -> Evaluated:
        number, started = len(self.trials) + 1, time.perf_counter()
        given = {name: value for name, value in parameters.items() if name not in self._plan.in_context}
        judged = partial(self._judged, self._place(parameters, plate))
        tells_cost = self._measured.cost == "told"
        own = {name: unshared(value) for name, value in given.items()}
        trial = RunningTrial(number, own, self._rule, judged, tells_cost=tells_cost, measured=self._measured_so_far)
        try:
            returned = self._plan.function(trial) if self._plan.evaluation.pass_trial else self._plan.function(**own)
            seconds = time.perf_counter() - started
            if trial._stopped is None:
                found = _with_cost(self._plan.evaluation.result_of(returned), self._measured, seconds)
                values, measured = (found.value, found.std_error), (found.metrics, found.std_errors)
                point = self._point(parameters, found.parameters)
                evaluated = Evaluated(number, point, "completed", *values, None, plate, *measured)
            else:
                evaluated = replace(self._stopped_trial(trial, given, returned, seconds), plate=plate)
        except Exception as error:
            is_failure = trial._stopped is None or not ends_stopped(error, self._options["catch"])
            if is_failure:
                self._judge(trial, error)
            if trial._stopped is None:
                evaluated = Evaluated(number, parameters, "failed", reason=in_words(error), plate=plate)
            else:
                seconds = time.perf_counter() - started
                evaluated = replace(self._stopped_trial(trial, given, None, seconds), plate=plate)
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
        if not isinstance(error, self._options["catch"]):
            if is_mistake(error, has_succeeded=any(each.state != "failed" for each in self.trials)):
                note = note_on_tuples(trial.parameters)
                if note and not isinstance(error, (*MISTAKES, WrongResult)):
                    error.add_note(note)
                raise error
            self._failures_in_a_row += 1
            if self._failures_in_a_row >= self._options["max_failures"]:
                ended = f"ended after {self._failures_in_a_row} failures in a row; this is the last one"
                error.add_note(f"{self._plan.direction}(): {ended}")
                raise error
        happened = "was stopped, and then its function failed" if trial.should_stop else "failed"
        shown = type(error), error, own_frames(error)
        log.warning("trial %d of %s() %s", trial.number, self._plan.direction, happened, exc_info=shown)

    def _point(self, parameters: Mapping[str, Any], differing: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return the point of a result, whose values may differ from the suggested ones.

        Raises:
            WrongResult: a value is not valid.
        """
        if not differing:
            return parameters
        try:
            point = {**parameters, **self._domain.as_declared("parameters", differing)}
            problems = self._domain.space.problems(self._domain.to_engine("parameters", point), is_measured=True)
        except ValueError as error:
            raise WrongResult(f"the function returned {error}") from None
        for name, problem in problems.items():
            raise WrongResult(f"the function returned parameters[{name!r}], which {problem}")
        return point

    def _place(self, parameters: Mapping[str, Any], plate: int | None) -> tuple[Any, ...]:
        """Return the plate and the context of a trial. Early stopping compares only trials with the same ones. Context
        that is measured with the result does not matter."""
        return plate, *(parameters[name] for name in sorted(self._domain.space.context - set(self._plan.in_context)))

    def _measured_so_far(self, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Check the parameters of a report, which must be the context parameters that are measured with the result, and
        return them.

        Raises:
            WrongResult: a value is missing, not valid or not expected.
        """
        found = dict(given or {})
        if missing := [name for name in self._plan.in_context if name not in found]:
            raise WrongResult(f"parameters[{missing[0]!r}] is missing; give its value so far")
        if others := [name for name in found if name not in self._plan.in_context]:
            raise WrongResult(f"parameters[{others[0]!r}] is not measured with the result; leave it out")
        try:
            found = self._domain.as_declared("parameters", found)
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

    def _stopped_trial(self, trial: RunningTrial, given: Mapping[str, Any], returned: Any, seconds: float) -> Evaluated:
        """Return a trial that was stopped early: with an estimate of its value or, if the rule compares no trials, with
        its last value and the metrics that the function returned.

        Args:
            trial: the trial.
            given: its parameters, except for those that are measured with the result.
            returned: the return value of the function.
            seconds: the duration of the call.

        Raises:
            WrongResult, NotFinite: the function returned invalid metrics.
        """
        stopped = trial._stopped
        assert self._rule is not None, "the search has a rule"
        assert stopped is not None, "the rule has stopped the trial"
        cost = trial._cost if self._measured.cost == "told" else max(seconds, SHORTEST)
        costs = {} if self._measured.cost is None or cost is None else {COST: cost}
        parameters = {**given, **trial._measured}
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
        """Return why the search ends after this trial; None if it continues."""
        with one_thread():
            return reason_to_end(
                self._plan.rules,
                self._model,
                self._since_best,
                is_used_up=not self._has_budget,
                has_several=self._measured.has_several,
            )

    @property
    def _has_budget(self) -> bool:
        if self._plan.budget.cost is not None:
            return self._spent + self._spent_on_stopped < self._plan.budget.cost
        if self._plan.budget.trials is None:
            return self._plates is None or self._plates.has_place
        saved = 0 if self._rule is None else self._steps_saved // self._rule.max_steps
        return len(self.trials) < self._plan.budget.trials + saved

    @property
    def _study_progress(self) -> StudyProgress:
        failed = sum(trial.state == "failed" for trial in self.trials)
        return StudyProgress(len(self.trials), failed, self.best.value if self.best else None)


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
