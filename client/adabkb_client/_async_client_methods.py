"""The methods of the asynchronous client that perform the procedures of ``_client_calls.py``.

Written by ``python -m tools.client_methods``; change the procedures instead.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Never, SupportsFloat, SupportsIndex

from adabkb_client import _client_calls as client_calls
from adabkb_client._async_study import AsyncDefinedByRun, AsyncStudy
from adabkb_client._http.async_transport import AsyncTransport
from adabkb_client._parameters import Parameter
from adabkb_client._settings import (
    NOT_GIVEN,
    Algorithm,
    AshaRule,
    Belief,
    CostBudget,
    Direction,
    EarlyStopping,
    MedianRule,
    Mixture,
    OutcomeConstraint,
    PatienceRule,
    PlateBudget,
    Plates,
    Quantity,
    Stop,
    StudyObjective,
    given,
)


class AsyncClient:
    """One method for each procedure of ``_client_calls.py`` that takes settings."""

    _transport: AsyncTransport

    async def create_study(
        self,
        id: str | None,
        parameters: Mapping[str, Parameter],
        direction: Direction | None = None,
        *,
        update: bool = False,
        budget: SupportsIndex | CostBudget | PlateBudget | None = NOT_GIVEN,
        tolerance: SupportsFloat | None = NOT_GIVEN,
        stop: Stop | None = NOT_GIVEN,
        lease_seconds: SupportsFloat = NOT_GIVEN,
        max_attempts: SupportsIndex = NOT_GIVEN,
        max_runtime_seconds: SupportsFloat | None = NOT_GIVEN,
        failure_limit: SupportsIndex | None = NOT_GIVEN,
        pending_limit: SupportsIndex | None = NOT_GIVEN,
        title: str | None = NOT_GIVEN,
        description: str | None = NOT_GIVEN,
        tags: Mapping[str, str] = NOT_GIVEN,
        quantities: Mapping[str, Quantity] = NOT_GIVEN,
        outcome_constraints: Sequence[OutcomeConstraint] = NOT_GIVEN,
        early_stopping: MedianRule | AshaRule | PatienceRule | EarlyStopping | None = NOT_GIVEN,
        noise_std: SupportsFloat | None = NOT_GIVEN,
        per_cost: bool = NOT_GIVEN,
        robust: bool = NOT_GIVEN,
        seed: SupportsIndex | None = NOT_GIVEN,
        constraints: Sequence[str] = NOT_GIVEN,
        mixtures: Sequence[Mixture] = NOT_GIVEN,
        metrics: Sequence[str] = NOT_GIVEN,
        objectives: Sequence[StudyObjective] = NOT_GIVEN,
        prior: Mapping[str, Belief] = NOT_GIVEN,
        baseline: Mapping[str, Any] = NOT_GIVEN,
        transfer_from: Sequence[str] = NOT_GIVEN,
        cost: Literal["told", "measured"] | None = NOT_GIVEN,
        plates: Plates | None = NOT_GIVEN,
        algorithm: Algorithm = NOT_GIVEN,
        **others: Never,
    ) -> AsyncStudy:
        """Create a study, or open it if it exists with the same definition::

            space = {"lr": Float(1e-5, 0.1, log=True), "units": Int(16, 512), "optimizer": Categorical(["sgd", "adam"])}
            space["momentum"] = Float(0, 0.99, when={"optimizer": ["sgd"]})
            study = await client.create_study(
                "net", space, direction="maximize", budget=50, seed=1,
                constraints=["lr * units <= 10"], early_stopping=MedianRule(max_steps=27),
            )
            report = await study.run(function, workers=2)

        All settings are optional. For a limit, None means no limit. If the study exists, settings that ``Study.update``
        can change are compared with their current values, and only if you give them.

        Args:
            id: the study's id, such as ``"svm"``; with None, the server chooses one.
            parameters: the search space.
            direction: "minimize" or "maximize"; None with several ``objectives``, each of which has a direction.
            update: if the study exists and differs only in settings that ``Study.update`` can change, change them.
            budget: the maximum number of trials, such as ``50``, each counted once however often it is leased; or the
                maximum total cost of the results, ``{"cost": 12.5}``; or, with ``plates``, the maximum number of
                plates, ``{"plates": 3}``. With early stopping, a stopped trial counts only as the share of
                ``max_steps`` that it has taken, so more trials may start. To limit the number of started trials, use
                ``n_trials`` of ``run``.
            tolerance: the study is complete when its gap, the model's bound on what further trials can gain, is at most
                this, such as ``0.01``, in the objective's units.
            stop: rules that end the study before the budget is used up: ``{"no_gain_for": 20}``,
                ``{"gap_share_below": 0.01}`` or both.
            lease_seconds: how long a trial stays with a worker that sends no heartbeat, such as ``600``, unless the
                worker gives another duration.
            max_attempts: the number of expired leases after which a trial fails, such as ``3``.
            max_runtime_seconds: time limit of one attempt, such as ``7200``, regardless of heartbeats.
            failure_limit: the number of failed trials in a row after which the study is paused, such as ``10``.
            pending_limit: the maximum number of unfinished trials, such as ``8``.
            title: the name of the study for display, such as ``"Suzuki coupling"``; by default its id. None removes it.
            description: what the study is about, for people.
            tags: strings by name, for searching studies, such as ``{"project": "solvents"}``.
            quantities: labels, units, digits and natural bounds of measured quantities by name, where "value" stands
                for a single objective, such as
                ``{"value": {"label": "Yield", "unit": "%", "digits": 1, "low": 0, "high": 100}}``.
            outcome_constraints: bounds of metrics, each with ``lower``, ``upper`` or both, such as
                ``[{"metric": "latency_ms", "upper": 20}]``; the best point must satisfy them.
            early_stopping: the rule that ends a trial before its last step, based on its reports: ``MedianRule(27)``,
                ``AshaRule(27)`` or ``PatienceRule(27, no_gain_for=5)``, or a dict with these arguments, such as
                ``{"rule": "median", "max_steps": 27}``.
            noise_std: standard deviation of a result, such as ``0.1``, in the objective's units; ``0`` if results are
                exact. With None, it is learned.
            per_cost: ``True`` suggests the points with the largest expected gain per expected cost.
            robust: ``True`` gives less weight to results that other results contradict, and suggests their points
                again.
            seed: studies with the same definition, seed (such as ``1``) and results suggest the same points. With None,
                the server draws a seed.
            constraints: what every point satisfies: strings in Python syntax with the names of parameters, such as
                ``["a + b <= 1", 'kernel == "rbf" or degree <= 3']``. All must hold. Each of these lines is a
                constraint:

                - ``0.2 <= a + 2 * b <= 1``: ``+ - * / **``, ``abs``, ``min``, ``max``, ``sqrt``, ``log``, ``exp``;
                  compare by ``<= < >= >``
                - ``layers * units <= 1024``
                - ``solvent in ["DMF", "water"]``: compare choices by ``==``, ``!=``, ``in``, ``not in``
                - ``not (kernel == "poly" and c > 10)``: join comparisons by ``and``, ``or``, ``not``
                - ``kernel != "poly" or degree <= 3``: if ``kernel`` is "poly", then ``degree <= 3``
                - ``"flow rate" <= 2 * area``: quote a name that is not an identifier
            mixtures: shares of a whole, such as ``[{"parameters": ["water", "ethanol", "glycerol"], "at_most": 2}]``;
                ``total``, ``at_most`` and ``least`` are optional.
            metrics: the metrics of each result in addition to its value, such as ``["latency_ms"]``.
            objectives: two to four objectives, instead of a ``direction``, such as
                ``[{"metric": "accuracy", "direction": "maximize"}, {"metric": "cost", "direction": "minimize"}]``.
                ``reference`` (only results better than this count in the hypervolume) and ``noise_std`` are optional.
            prior: beliefs about the position of the optimum, by parameter: ``{"lr": {"around": 0.001, "factor": 10}}``
                on a log scale, ``{"x": {"around": 2, "width": 1}}`` on a linear scale,
                ``{"optimizer": {"weights": {"adam": 3}}}`` for choices.
            baseline: the current settings, by parameter, such as ``{"temperature": 80}``: among equally good points,
                the recommendation changes the fewest of them.
            transfer_from: ids of older studies, such as ``["net-2025"]``, whose results the model also uses, as far as
                they agree with the new ones.
            cost: the source of the metric "cost": ``"told"`` (each result gives it) or ``"measured"`` (the duration of
                the attempt in seconds).
            plates: batches of trials that share some values, such as ``{"size": 24, "shared": ["temperature"]}``.
                Results of the same plate share an offset, whose size the model learns.
            algorithm: an algorithm other than ``auto``, with its constants, such as ``{"profile": "paper"}``, or
                ``{"kind": "random"}`` and ``{"kind": "sobol"}`` as baselines: see docs/systems.md.
            others: there are no other settings.

        Returns:
            The study.

        Raises:
            Invalid: the definition is invalid; its ``pointers`` say where.
            TypeError, ValueError: a parameter has an unknown kind, or a bound is not finite.
            Conflict: a study with this id exists and has another definition, or other settings without ``update``.
        """
        steps = client_calls.create_study(
            id,
            parameters,
            direction,
            update=update,
            **given(
                budget=budget,
                tolerance=tolerance,
                stop=stop,
                lease_seconds=lease_seconds,
                max_attempts=max_attempts,
                max_runtime_seconds=max_runtime_seconds,
                failure_limit=failure_limit,
                pending_limit=pending_limit,
                title=title,
                description=description,
                tags=tags,
                quantities=quantities,
                outcome_constraints=outcome_constraints,
                early_stopping=early_stopping,
                noise_std=noise_std,
                per_cost=per_cost,
                robust=robust,
                seed=seed,
                constraints=constraints,
                mixtures=mixtures,
                metrics=metrics,
                objectives=objectives,
                prior=prior,
                baseline=baseline,
                transfer_from=transfer_from,
                cost=cost,
                plates=plates,
                algorithm=algorithm,
                **others,
            ),
        )
        info = await self._transport.perform(steps)
        return AsyncStudy(self._transport, info.id)

    def define_by_run(
        self,
        id: str,
        direction: Direction | None = None,
        *,
        budget: SupportsIndex | CostBudget | PlateBudget | None = NOT_GIVEN,
        tolerance: SupportsFloat | None = NOT_GIVEN,
        stop: Stop | None = NOT_GIVEN,
        lease_seconds: SupportsFloat = NOT_GIVEN,
        max_attempts: SupportsIndex = NOT_GIVEN,
        max_runtime_seconds: SupportsFloat | None = NOT_GIVEN,
        failure_limit: SupportsIndex | None = NOT_GIVEN,
        pending_limit: SupportsIndex | None = NOT_GIVEN,
        title: str | None = NOT_GIVEN,
        description: str | None = NOT_GIVEN,
        tags: Mapping[str, str] = NOT_GIVEN,
        quantities: Mapping[str, Quantity] = NOT_GIVEN,
        outcome_constraints: Sequence[OutcomeConstraint] = NOT_GIVEN,
        early_stopping: MedianRule | AshaRule | PatienceRule | EarlyStopping | None = NOT_GIVEN,
        noise_std: SupportsFloat | None = NOT_GIVEN,
        per_cost: bool = NOT_GIVEN,
        robust: bool = NOT_GIVEN,
        seed: SupportsIndex | None = NOT_GIVEN,
        constraints: Sequence[str] = NOT_GIVEN,
        mixtures: Sequence[Mixture] = NOT_GIVEN,
        metrics: Sequence[str] = NOT_GIVEN,
        objectives: Sequence[StudyObjective] = NOT_GIVEN,
        prior: Mapping[str, Belief] = NOT_GIVEN,
        baseline: Mapping[str, Any] = NOT_GIVEN,
        transfer_from: Sequence[str] = NOT_GIVEN,
        cost: Literal["told", "measured"] | None = NOT_GIVEN,
        plates: Plates | None = NOT_GIVEN,
        algorithm: Algorithm = NOT_GIVEN,
        **others: Never,
    ) -> AsyncDefinedByRun:
        """Return a study whose search space comes from the objective (define-by-run), as in Optuna.

        ``await client.define_by_run("tuned", direction="minimize").optimize(objective, n_trials=100)`` creates the
        study, if there is none, and calls ``objective(trial)``, which requests its parameters with
        ``trial.suggest_float`` and similar methods: see ``AskingTrial``. An existing study with this id continues.

        The study is created with the first parameter that the objective requests; edits of its space add the others.
        Therefore ``constraints``, a ``prior`` and a ``baseline`` can name only this parameter, and older studies
        (``transfer_from``) provide information only about it. ``mixtures`` and algorithms with a fixed space, such as
        ``{"profile": "paper"}``, need declared parameters: see ``create_study``.

        Args:
            id: the study's id.
            direction: "minimize" or "maximize"; None with several ``objectives``, each of which has a direction.
            budget: the maximum number of trials, such as ``50``, each counted once however often it is leased; or the
                maximum total cost of the results, ``{"cost": 12.5}``; or, with ``plates``, the maximum number of
                plates, ``{"plates": 3}``. With early stopping, a stopped trial counts only as the share of
                ``max_steps`` that it has taken, so more trials may start. To limit the number of started trials, use
                ``n_trials`` of ``run``.
            tolerance: the study is complete when its gap, the model's bound on what further trials can gain, is at most
                this, such as ``0.01``, in the objective's units.
            stop: rules that end the study before the budget is used up: ``{"no_gain_for": 20}``,
                ``{"gap_share_below": 0.01}`` or both.
            lease_seconds: how long a trial stays with a worker that sends no heartbeat, such as ``600``, unless the
                worker gives another duration.
            max_attempts: the number of expired leases after which a trial fails, such as ``3``.
            max_runtime_seconds: time limit of one attempt, such as ``7200``, regardless of heartbeats.
            failure_limit: the number of failed trials in a row after which the study is paused, such as ``10``.
            pending_limit: the maximum number of unfinished trials, such as ``8``.
            title: the name of the study for display, such as ``"Suzuki coupling"``; by default its id. None removes it.
            description: what the study is about, for people.
            tags: strings by name, for searching studies, such as ``{"project": "solvents"}``.
            quantities: labels, units, digits and natural bounds of measured quantities by name, where "value" stands
                for a single objective, such as
                ``{"value": {"label": "Yield", "unit": "%", "digits": 1, "low": 0, "high": 100}}``.
            outcome_constraints: bounds of metrics, each with ``lower``, ``upper`` or both, such as
                ``[{"metric": "latency_ms", "upper": 20}]``; the best point must satisfy them.
            early_stopping: the rule that ends a trial before its last step, based on its reports: ``MedianRule(27)``,
                ``AshaRule(27)`` or ``PatienceRule(27, no_gain_for=5)``, or a dict with these arguments, such as
                ``{"rule": "median", "max_steps": 27}``.
            noise_std: standard deviation of a result, such as ``0.1``, in the objective's units; ``0`` if results are
                exact. With None, it is learned.
            per_cost: ``True`` suggests the points with the largest expected gain per expected cost.
            robust: ``True`` gives less weight to results that other results contradict, and suggests their points
                again.
            seed: studies with the same definition, seed (such as ``1``) and results suggest the same points. With None,
                the server draws a seed.
            constraints: what every point satisfies: strings in Python syntax with the names of parameters, such as
                ``["a + b <= 1", 'kernel == "rbf" or degree <= 3']``. All must hold. Each of these lines is a
                constraint:

                - ``0.2 <= a + 2 * b <= 1``: ``+ - * / **``, ``abs``, ``min``, ``max``, ``sqrt``, ``log``, ``exp``;
                  compare by ``<= < >= >``
                - ``layers * units <= 1024``
                - ``solvent in ["DMF", "water"]``: compare choices by ``==``, ``!=``, ``in``, ``not in``
                - ``not (kernel == "poly" and c > 10)``: join comparisons by ``and``, ``or``, ``not``
                - ``kernel != "poly" or degree <= 3``: if ``kernel`` is "poly", then ``degree <= 3``
                - ``"flow rate" <= 2 * area``: quote a name that is not an identifier
            mixtures: shares of a whole, such as ``[{"parameters": ["water", "ethanol", "glycerol"], "at_most": 2}]``;
                ``total``, ``at_most`` and ``least`` are optional.
            metrics: the metrics of each result in addition to its value, such as ``["latency_ms"]``.
            objectives: two to four objectives, instead of a ``direction``, such as
                ``[{"metric": "accuracy", "direction": "maximize"}, {"metric": "cost", "direction": "minimize"}]``.
                ``reference`` (only results better than this count in the hypervolume) and ``noise_std`` are optional.
            prior: beliefs about the position of the optimum, by parameter: ``{"lr": {"around": 0.001, "factor": 10}}``
                on a log scale, ``{"x": {"around": 2, "width": 1}}`` on a linear scale,
                ``{"optimizer": {"weights": {"adam": 3}}}`` for choices.
            baseline: the current settings, by parameter, such as ``{"temperature": 80}``: among equally good points,
                the recommendation changes the fewest of them.
            transfer_from: ids of older studies, such as ``["net-2025"]``, whose results the model also uses, as far as
                they agree with the new ones.
            cost: the source of the metric "cost": ``"told"`` (each result gives it) or ``"measured"`` (the duration of
                the attempt in seconds).
            plates: batches of trials that share some values, such as ``{"size": 24, "shared": ["temperature"]}``.
                Results of the same plate share an offset, whose size the model learns.
            algorithm: an algorithm other than ``auto``, with its constants, such as ``{"profile": "paper"}``, or
                ``{"kind": "random"}`` and ``{"kind": "sobol"}`` as baselines: see docs/systems.md.
            others: there are no other settings.
        """
        return AsyncDefinedByRun(
            self._transport,
            client_calls.define_by_run(
                id,
                direction,
                **given(
                    budget=budget,
                    tolerance=tolerance,
                    stop=stop,
                    lease_seconds=lease_seconds,
                    max_attempts=max_attempts,
                    max_runtime_seconds=max_runtime_seconds,
                    failure_limit=failure_limit,
                    pending_limit=pending_limit,
                    title=title,
                    description=description,
                    tags=tags,
                    quantities=quantities,
                    outcome_constraints=outcome_constraints,
                    early_stopping=early_stopping,
                    noise_std=noise_std,
                    per_cost=per_cost,
                    robust=robust,
                    seed=seed,
                    constraints=constraints,
                    mixtures=mixtures,
                    metrics=metrics,
                    objectives=objectives,
                    prior=prior,
                    baseline=baseline,
                    transfer_from=transfer_from,
                    cost=cost,
                    plates=plates,
                    algorithm=algorithm,
                    **others,
                ),
            ),
        )
