"""The methods of the blocking client that perform the procedures of ``StudyCalls``.

Written by ``python -m tools.client_methods``; change the procedures instead.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import Any, Literal, Never, SupportsFloat, SupportsIndex

from adabkb_client._analysis import Assessment, Front, Importance, Slice, Validation
from adabkb_client._http.transport import Transport
from adabkb_client._items import Items
from adabkb_client._parameters import Catalogue, Parameter
from adabkb_client._records import (
    Access,
    Answer,
    BatchItem,
    Best,
    CurvePoint,
    DictionaryPoint,
    Event,
    Explanation,
    File,
    ImportReport,
    Link,
    ModelInfo,
    Observation,
    Parameters,
    PartitionCell,
    Prediction,
    Recommendation,
    ResultItem,
    StudyInfo,
    Trial,
    TrialState,
    Webhook,
)
from adabkb_client._settings import (
    NOT_GIVEN,
    AshaRule,
    Belief,
    CostBudget,
    EarlyStopping,
    MedianRule,
    Mixture,
    OutcomeConstraint,
    PatienceRule,
    PlateBudget,
    Quantity,
    Stop,
    given,
)
from adabkb_client._study_calls import StudyCalls
from adabkb_client._tables import Source
from adabkb_client._trial_calls import Leased
from adabkb_client._values import Numbers, as_it_is


class Study:
    """One method for each procedure of ``StudyCalls``."""

    _transport: Transport
    _calls: StudyCalls
    id: str

    def info(self) -> StudyInfo:
        """Return the study's definition and state."""
        return self._transport.perform(self._calls.info())

    def best(self, *, context: Parameters | Literal["latest"] | None = None) -> Best | None:
        """Return the best result as it was measured; None without results, and with several objectives.

        To choose the point to use, call ``recommendation``: with noise, the best measured value is partly luck.
        ``best()`` is ``recommendation().observed``, and equals ``info().best``. See ``front`` for several objectives.

        Args:
            context: values of all context parameters, or "latest" for those of the latest result: the best result in
                exactly this context, in place of the best one of all contexts. The point that the model expects to be
                best now, evaluated or not, is ``recommendation(context="latest").model``.

        Raises:
            Invalid: the context does not fit the study.
        """
        return self._transport.perform(self._calls.best(context=context))

    def update(
        self,
        /,
        *,
        parameters: Mapping[str, Parameter] = NOT_GIVEN,
        defaults: Parameters = NOT_GIVEN,
        constraints: Sequence[str] | None = NOT_GIVEN,
        mixtures: Sequence[Mixture] | None = NOT_GIVEN,
        prior: Mapping[str, Belief] | None = NOT_GIVEN,
        baseline: Mapping[str, Any] | None = NOT_GIVEN,
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
        **others: Never,
    ) -> StudyInfo:
        """Change settings, or edit the space.

        What is not given stays. None removes a setting: ``update(budget=None)`` a limit, ``update(prior=None)`` all
        beliefs. An empty list or dict also removes a setting that is a list or a dict. None is refused for
        ``lease_seconds``, ``max_attempts``, a cost budget and ``early_stopping``. Early stopping keeps its rule,
        ``max_steps`` and ``metric``; you can change its other numbers. ``stop`` replaces both of its rules.

        A study whose budget is used up continues when you raise it. A study that ended for lack of improvement
        continues when you remove or relax ``stop``.

        The model uses the results inside the edited space. The others are kept, but ignored. See the guide "Edit a
        running study's space".

        Args:
            parameters: parameters that replace those of the same names or are added; the others stay.
            defaults: the values of added parameters in the existing trials.
            constraints: the constraints that replace all former ones, such as ``["a + b <= 1"]``: see
                ``Client.create_study`` for the syntax.
            mixtures: the shares of a whole that replace all former mixtures.
            prior: the beliefs about the optimum that replace all former ones.
            baseline: the current settings that replace all former ones.
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
            others: there are no other settings.

        Raises:
            Invalid: a value is invalid, or the study's space cannot be edited.
            TypeError, ValueError: a parameter is invalid, as in ``Client.create_study``.
        """
        return self._transport.perform(
            self._calls.update(
                parameters=parameters,
                defaults=defaults,
                constraints=constraints,
                mixtures=mixtures,
                prior=prior,
                baseline=baseline,
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
                    **others,
                ),
            )
        )

    def _edit_space(self, parameters: Sequence[Mapping[str, Any]], defaults: Parameters) -> StudyInfo:
        """Edit the space with parameters as JSON, as in ``info``."""
        return self._transport.perform(self._calls._edit_space(parameters, defaults))

    def change_catalogue(
        self, parameter: str, *, add: Catalogue | None = None, withdraw: Sequence[str] = (), restore: Sequence[str] = ()
    ) -> StudyInfo:
        """Add rows to a catalogue, withdraw some or restore withdrawn ones, while the study runs.

        The model still uses the results of withdrawn rows, but the server no longer suggests these rows. Waiting trials
        in them are withdrawn, too.

        Args:
            parameter: the name of the catalogue.
            add: new rows, with the same descriptors in the same order.
            withdraw: names of rows that the server must not suggest again.
            restore: names of withdrawn rows that the server may suggest again.

        Raises:
            Invalid: the catalogue or a row does not exist, or a new row exists already.
            TypeError: the new rows are not a ``Catalogue``, or ``withdraw`` or ``restore`` is a string instead of
                a list.
        """
        return self._transport.perform(
            self._calls.change_catalogue(parameter, add=add, withdraw=withdraw, restore=restore)
        )

    def pause(self) -> StudyInfo:
        """Pause the study: issue no trials until ``resume``. Results are still accepted."""
        return self._transport.perform(self._calls.pause())

    def resume(self) -> StudyInfo:
        """Issue trials again."""
        return self._transport.perform(self._calls.resume())

    def delete(self, *, purge: bool = False) -> None:
        """Delete the study and everything in it: permanently with ``purge``, otherwise ``Client.restore_study`` can
        restore it for 30 days.
        """
        self._transport.perform(self._calls.delete(purge=purge))

    def access(self) -> Access:
        """Return the study's owner and the users with whom it is shared."""
        return self._transport.perform(self._calls.access())

    def share(self, user: str, right: Literal["read", "work"] = "read") -> Access:
        """Share the study with a user, or with everybody who has a token or logs in ("*"), for reading or for work."""
        return self._transport.perform(self._calls.share(user, right))

    def unshare(self, user: str) -> Access:
        """Stop sharing the study with a user or with everybody."""
        return self._transport.perform(self._calls.unshare(user))

    def give(self, owner: str) -> Access:
        """Give the study to another owner. The former owner loses access, and the study's webhooks are turned off."""
        return self._transport.perform(self._calls.give(owner))

    def link(self, expires_at: datetime | None = None) -> Link:
        """Create a link with a token that can only read this study.

        Args:
            expires_at: the time of expiry, with a time zone; None means never.
        """
        return self._transport.perform(self._calls.link(expires_at))

    def links(self) -> Items[Link]:
        """Yield the links to the study, newest first, without their tokens."""
        return Items(self._calls.links(), as_it_is, self._transport)

    def unlink(self, link: Link | str) -> None:
        """Revoke a link."""
        self._transport.perform(self._calls.unlink(link))

    def files(self, trial: Leased | Trial | int) -> Items[File]:
        """Yield the files of a trial, in order of addition, without their content."""
        return Items(self._calls.files(trial), as_it_is, self._transport)

    def add_file(
        self,
        trial: Leased | Trial | int,
        content: bytes | str | PathLike[str],
        name: str | None = None,
        media_type: str | None = None,
    ) -> File:
        """Attach a file, such as a photograph or a spectrum, to a trial.

        Args:
            trial: the trial, or its number.
            content: the path of the file, or bytes.
            name: the file's name; by default that of the path. Bytes need a name.
            media_type: such as "image/png"; by default derived from the name.

        Raises:
            ValueError: the content is bytes without a name.
        """
        return self._transport.perform(self._calls.add_file(trial, content, name, media_type))

    def read_file(self, trial: Leased | Trial | int, file: File | int) -> bytes:
        """Return the content of a file of a trial."""
        return self._transport.perform(self._calls.read_file(trial, file))

    def remove_file(self, trial: Leased | Trial | int, file: File | int) -> None:
        """Permanently delete a file of a trial."""
        self._transport.perform(self._calls.remove_file(trial, file))

    def result_files(self, observation: Observation | int) -> Items[File]:
        """Yield the files of a result without a trial, in order of addition, without their content."""
        return Items(self._calls.result_files(observation), as_it_is, self._transport)

    def add_result_file(
        self,
        observation: Observation | int,
        content: bytes | str | PathLike[str],
        name: str | None = None,
        media_type: str | None = None,
    ) -> File:
        """Attach a file, such as a photograph or a spectrum, to a result without a trial. For a trial's result, see
        ``add_file``.

        Args:
            observation: the result without a trial, or its number.
            content: as in ``add_file``.
            name: as in ``add_file``.
            media_type: as in ``add_file``.

        Raises:
            Invalid: the result is that of a trial.
            ValueError: the content is bytes without a name.
        """
        return self._transport.perform(self._calls.add_result_file(observation, content, name, media_type))

    def read_result_file(self, observation: Observation | int, file: File | int) -> bytes:
        """Return the content of a file of a result without a trial."""
        return self._transport.perform(self._calls.read_result_file(observation, file))

    def remove_result_file(self, observation: Observation | int, file: File | int) -> None:
        """Permanently delete a file of a result without a trial."""
        self._transport.perform(self._calls.remove_result_file(observation, file))

    def webhooks(self) -> Items[Webhook]:
        """Yield the webhooks of the study, oldest first, without their secrets."""
        return Items(self._calls.webhooks(), as_it_is, self._transport)

    def add_webhook(self, url: str, notifications: Sequence[str] | None = None) -> Webhook:
        """Add a webhook: the server sends messages about the study to a URL from now on.

        Args:
            url: where to send messages by POST. It must be reachable from the server. In the server's own network, the
                setting ``webhook_networks`` must allow it.
            notifications: the notifications to send, of "trial.reserved", "trial.overdue", "trial.done", "study.ended"
                and "study.needs_attention"; by default all.

        Returns:
            The webhook with its secret, which is returned only once.
        """
        return self._transport.perform(self._calls.add_webhook(url, notifications))

    def change_webhook(
        self,
        webhook: Webhook | str,
        *,
        url: str = NOT_GIVEN,
        notifications: Sequence[str] = NOT_GIVEN,
        is_on: bool = NOT_GIVEN,
    ) -> Webhook:
        """Change the URL or the notifications of a webhook, or turn it on or off.

        What is not given stays. Turning it on also sends the messages missed while it was off.

        Raises:
            Invalid: a value is None or otherwise invalid. Every webhook has a URL and notifications.
        """
        return self._transport.perform(
            self._calls.change_webhook(webhook, url=url, notifications=notifications, is_on=is_on)
        )

    def remove_webhook(self, webhook: Webhook | str) -> None:
        """Remove a webhook, given as an object or by its id; it receives no more messages."""
        self._transport.perform(self._calls.remove_webhook(webhook))

    def observations(self) -> Items[Observation]:
        """Yield the observations in the order in which they were stored."""
        return Items(self._calls.observations(), as_it_is, self._transport)

    def correct(
        self,
        observation: Observation | int,
        value: SupportsFloat = NOT_GIVEN,
        *,
        std_error: SupportsFloat | None = NOT_GIVEN,
        metrics: Numbers = NOT_GIVEN,
        std_errors: Mapping[str, SupportsFloat | None] = NOT_GIVEN,
        reason: str | None = None,
    ) -> Answer:
        """Replace the value of an observation and the given metrics, or add those that it lacks. The server rebuilds
        the model; the log keeps both values and the reason.

        What is not given stays. None removes a standard error, which is then unknown.

        Args:
            observation: the result, or its number.
            value: the correct value; a finite number.
            std_error: the standard error of ``value``.
            metrics: the correct metrics by name; the others stay.
            std_errors: standard errors of metrics by name; the others stay.
            reason: the reason, for the log.

        Raises:
            Invalid: the study has no such metric, or a standard error is that of a number that the result lacks.
            ValueError, TypeError: a number is not finite, or not a number.
        """
        return self._transport.perform(
            self._calls.correct(
                observation, value, std_error=std_error, metrics=metrics, std_errors=std_errors, reason=reason
            )
        )

    def exclude(self, observation: Observation | int, reason: str | None = None) -> Answer:
        """Exclude an observation from the model; it stays in the log."""
        return self._transport.perform(self._calls.exclude(observation, reason))

    def include(self, observation: Observation | int, reason: str | None = None) -> Answer:
        """Include an excluded observation again."""
        return self._transport.perform(self._calls.include(observation, reason))

    def annotate_result(self, observation: Observation | int, attributes: Mapping[str, Any]) -> Answer:
        """Set attributes of a result without a trial, such as a note. The model ignores them. For a trial's result, see
        ``annotate``.

        Args:
            observation: the result without a trial, or its number.
            attributes: as in ``annotate``.

        Raises:
            Invalid: the attributes are too many or too large, or the result is that of a trial.
            TypeError, ValueError: a value cannot be written as JSON.
        """
        return self._transport.perform(self._calls.annotate_result(observation, attributes))

    def import_results(
        self,
        source: Source,
        *,
        columns: Mapping[str, str] | None = None,
        value: str = "value",
        std_error: str | None = "std_error",
        state: str | None = "state",
        plate: str | None = "plate",
        decimal: Literal[".", ","] = ".",
        choices: Mapping[str, Mapping[str, Any]] | None = None,
        dry_run: bool = False,
        progress: bool = True,
    ) -> ImportReport:
        """Import results and failures. They do not count towards the budget, failures do not pause the study, and a
        repeated import stores nothing twice.

        An invalid row does not affect the others. A row is skipped as repeated if the log has a result without a trial
        at the same parameters and plate, with all numbers of the row. If that result lacks some of the numbers, they
        are added to it. Rows that occur twice in one source are both stored.

        Args:
            source: the path of a file (.csv, .jsonl, either with .gz, or .xlsx, which needs openpyxl), a
                pandas DataFrame, an iterable of dicts, a study of Optuna, or what ``minimize`` has returned.
            columns: the column of each parameter, by the parameter's name. By default, the column has the name of the
                parameter, or ``parameters.<name>`` as in exports, or ``params_<name>`` as in Optuna's frames. A dict
                ``parameters`` within a row is unpacked. A fixed parameter needs no column.
            value: the column of the results; finite numbers.
            std_error: the column of the standard errors, if any; an empty cell means unknown.
            state: the column of the rows' states, if any. An empty state, "completed", "ok", "done" and similar words
                mean a result. "failed", "error" and "crashed" mean a failed evaluation, whose reason may be in the
                column ``reason``; such a row is skipped if parameters are missing. Rows with other states, and rows
                whose column ``excluded`` is true, are skipped. None: every row is a result.
            plate: in a study with plates, the column of the numbers of the rows' plates, if any; an empty cell means
                that the result is on no plate.
            decimal: the decimal mark of numbers in text, such as "," for 0,5.
            choices: the choices that cells with other texts mean, by the parameter's name, such as
                ``{"kernel": {"Gaussian": "rbf"}}``. Differences only in upper and lower case need no entry.
            dry_run: store nothing, and report what would be stored.
            progress: show a progress bar in a terminal or notebook.

        Returns:
            What was stored, and the invalid rows by number.

        Raises:
            ValueError: a column for a parameter, the value or a metric is missing, ``columns`` or ``choices`` names an
                unknown parameter, a file does not have the format of its ending, or the source has another direction
                or, as a study of Optuna, several.
            TypeError, ImportError, OSError: the source has an unsupported type, needs a package, or cannot be read.
            ConnectionFailed: the server was down; repeat the call to continue.
        """
        return self._transport.perform(
            self._calls.import_results(
                source,
                columns=columns,
                value=value,
                std_error=std_error,
                state=state,
                plate=plate,
                decimal=decimal,
                choices=choices,
                dry_run=dry_run,
                progress=progress,
            )
        )

    def recommendation(
        self, *, feasible_probability: float | None = None, context: Parameters | Literal["latest"] | None = None
    ) -> Recommendation:
        """Return the point to use: by default, take ``recommendation().model``.

        ``model`` is the evaluated point that the model expects to be best; noise affects this choice least.
        ``observed`` is the best result as it was measured, as in ``best()``. With several objectives, there is a
        ``front`` instead.

        Args:
            feasible_probability: required probability that the model's point satisfies the outcome constraints; by
                default 0.95.
            context: values of all context parameters, if the study has any, or "latest" for those of the latest
                result. The model's point is then the best one in this context, whether evaluated or not. In a
                study with context parameters, there is no such point without this argument. With several objectives,
                the model's front is the one in this context.

        Raises:
            Invalid: a probability is given but the study has no outcome constraints, or the context does not fit the
                study.
        """
        return self._transport.perform(
            self._calls.recommendation(feasible_probability=feasible_probability, context=context)
        )

    def front(
        self, *, feasible_probability: float | None = None, context: Parameters | Literal["latest"] | None = None
    ) -> Front:
        """Return the Pareto front of a study with several objectives, and the hypervolume over time.

        Use it instead of ``best`` and ``recommendation``: by default, choose a point of its ``model``.

        Args:
            feasible_probability: required probability that the model's points satisfy the outcome constraints; by
                default 0.95.
            context: values of all context parameters, if the study has any, or "latest" for those of the latest
                result. The model's front is the one in this context; in a study with context parameters, it is empty
                without this argument.

        Raises:
            Invalid: the study has one objective, a probability is given but there are no outcome constraints, or the
                context does not fit the study.
        """
        return self._transport.perform(self._calls.front(feasible_probability=feasible_probability, context=context))

    def predict(self, points: Sequence[Parameters]) -> list[Prediction]:
        """Return the model's prediction of the objective at each point.

        Args:
            points: a list of dicts, each with values by parameter.

        Raises:
            TypeError: ``points`` is not a list of dicts.
        """
        return self._transport.perform(self._calls.predict(points))

    def importance(self, metric: str | None = None) -> Importance:
        """Return which parameters the objective depends on: Sobol' indices of the posterior mean over the space.

        Args:
            metric: the metric to explain instead of the objective; required if there are several objectives.
        """
        return self._transport.perform(self._calls.importance(metric))

    def validation(self, metric: str | None = None) -> Validation:
        """Return each result with its prediction from the other results (leave-one-out).

        Args:
            metric: the metric to predict instead of the objective; required if there are several objectives.
        """
        return self._transport.perform(self._calls.validation(metric))

    def assessment(self) -> Assessment:
        """Return a summary of the study in a few sentences (progress, latest trial, findings, outlook), with warnings
        and the facts behind them.
        """
        return self._transport.perform(self._calls.assessment())

    def slice(self, *parameters: str, points: int | None = None, at: Parameters | None = None) -> Slice:
        """Return the posterior along one or two parameters.

        Args:
            parameters: names of the parameters to vary.
            points: the maximum number of values per parameter; by default 50, or 25 (at most 31) for two parameters.
            at: values of other parameters. Parameters that are not given have the values of the recommended point.
        """
        return self._transport.perform(self._calls.slice(*parameters, points=points, at=at))

    def model(self) -> ModelInfo:
        """Return the statistics and the learned parameters of the model."""
        return self._transport.perform(self._calls.model())

    def partition(
        self, status: Literal["leaf", "expanded", "pruned"] | None = None, metric: str | None = None
    ) -> Items[PartitionCell]:
        """Yield the cells of the partition tree, each with the model's prediction of the objective or of a metric. With
        ``status``, only the cells of this status. ``metric`` is required with several objectives.
        """
        return Items(self._calls.partition(status, metric), as_it_is, self._transport)

    def dictionary(self) -> Items[DictionaryPoint]:
        """Yield the points of the dictionary, that is, the inducing points of the model."""
        return Items(self._calls.dictionary(), as_it_is, self._transport)

    def events(self) -> Items[Event]:
        """Yield the study's log in order."""
        return Items(self._calls.events(), as_it_is, self._transport)

    def export(self, format: Literal["jsonl", "csv", "curves"] = "jsonl") -> str:
        """Return everything about the study ("jsonl"), the table of its trials and results ("csv"), or the table of the
        intermediate values ("curves", which is CSV, too).
        """
        return self._transport.perform(self._calls.export(format))

    def export_excel(self) -> bytes:
        """Return the table of ``export("csv")`` as an Excel file, whose columns have labels and units."""
        return self._transport.perform(self._calls.export_excel())

    def export_report(self) -> str:
        """Return a report as Markdown: definition, best point, results, workers and changes, and the hash of the log.
        The web interface has a report with charts and up to 5,000 rows, to print or save as PDF.
        """
        return self._transport.perform(self._calls.export_report())

    def observe(
        self,
        trial: Leased | Trial | int,
        value: SupportsFloat | None = None,
        *,
        std_error: SupportsFloat | None = None,
        parameters: Parameters | None = None,
        metrics: Numbers | None = None,
        std_errors: Numbers | None = None,
        partial: bool = False,
        seconds: SupportsFloat | None = None,
        attempt: int | None = None,
    ) -> Answer:
        """Report a trial's result. When this returns, the result is stored durably. Sending it again changes nothing.

        A result may be reported in parts. Each call adds numbers that were missing, and ``answer.observation.missing``
        names those that are still missing.

        Args:
            trial: the trial, or its number. In a ``with study.trial()`` block, this ends the trial; the end of the
                block then changes nothing.
            value: the objective; a finite number. With several objectives, give them as metrics and no value.
            std_error: the standard error of ``value``, if known.
            parameters: the evaluated point, if it differs from the suggested one. Parameters with
                ``context="measured"`` are required; these alone suffice if nothing else differs.
            metrics: every metric of the study by name.
            std_errors: standard errors of metrics, where known.
            partial: whether numbers may be missing, because they will be reported later.
            seconds: how long the evaluation took; by default, the time since this process got the leased trial or, for
                other trials, since the server issued it.
            attempt: the attempt of a trial that is given by its number; by default the current one.

        Raises:
            Invalid: the metrics differ from the study's.
            ValueError, TypeError: a number is not finite, or not a number; or the trial belongs to another study.
            Conflict: this attempt of the trial already has another value or was reported as failed, or the trial was
                stopped.
            ResultKept: the server could not be reached for longer than the client's ``retry_for``, or did not say
                whether it stored the result. The result is kept on disk, and is sent when a client on this machine
                next reaches the server.
        """
        return self._transport.perform(
            self._calls.observe(
                trial,
                value,
                std_error=std_error,
                parameters=parameters,
                metrics=metrics,
                std_errors=std_errors,
                partial=partial,
                seconds=seconds,
                attempt=attempt,
            )
        )

    def add_result(
        self,
        parameters: Parameters,
        value: SupportsFloat | None = None,
        *,
        std_error: SupportsFloat | None = None,
        metrics: Numbers | None = None,
        std_errors: Numbers | None = None,
        partial: bool = False,
        plate: int | None = None,
    ) -> Answer:
        """Report a result at your own point. It does not count towards the budget.

        Args:
            parameters: the evaluated point.
            value: the objective, as in ``observe``.
            std_error: the standard error of ``value``, if known.
            metrics: every metric of the study by name.
            std_errors: standard errors of metrics, where known.
            partial: whether numbers may be missing; ``correct`` adds them.
            plate: in a study with plates, the number of the plate on which the point was measured: one of the study's
                plates, or your own number for an earlier plate. The result takes no place on the plate.

        Raises:
            Invalid: the point is not in the space, the plate has other values of the shared parameters, or a plate
                is given, but the study has none.
            ValueError, TypeError: a number is not finite, or not a number.
        """
        return self._transport.perform(
            self._calls.add_result(
                parameters,
                value,
                std_error=std_error,
                metrics=metrics,
                std_errors=std_errors,
                partial=partial,
                plate=plate,
            )
        )

    def observe_many(self, items: Sequence[ResultItem], *, dry_run: bool = False) -> list[BatchItem]:
        """Report many results in as few requests as possible, and return the outcome of each.

        An item is a dict as in docs/http.md: ``{"trial": 3, "value": 0.1}`` or
        ``{"parameters": {...}, "value": 0.1, "std_error": 0.01, "plate": 3}``. A refused item does not stop the others.
        With ``dry_run``, nothing is stored.

        Raises:
            TypeError: an item is not a dict.
        """
        return self._transport.perform(self._calls.observe_many(items, dry_run=dry_run))

    def fail(
        self,
        trial: Leased | Trial | int,
        reason: str | None = None,
        *,
        seconds: SupportsFloat | None = None,
        attempt: int | None = None,
    ) -> Answer:
        """Report that the evaluation of a trial failed. The trial is not issued again, unless you ``retry`` it.

        Args:
            trial: the trial, or its number.
            reason: the reason, for the log.
            seconds: as in ``observe``.
            attempt: as in ``observe``.

        Raises:
            Conflict: the trial is completed or was stopped, or the attempt is not the current one.
        """
        return self._transport.perform(self._calls.fail(trial, reason, seconds=seconds, attempt=attempt))

    def report(
        self,
        trial: Leased | Trial | int,
        step: SupportsIndex,
        value: SupportsFloat,
        *,
        cost: SupportsFloat | None = None,
        parameters: Parameters | None = None,
        lease_seconds: float | None = None,
        attempt: int | None = None,
    ) -> bool:
        """Report an intermediate value of a trial, renew its lease, and return whether the trial is stopped.

        Sending a report again changes nothing. If the trial is stopped, end the evaluation without a result.

        Args:
            trial: the trial, or its number.
            step: number of steps done so far; 0 before the first step. It must be larger than in the previous report,
                which may be repeated.
            value: value of the objective after this step; a finite number.
            cost: what the attempt has cost so far, in a study with ``cost="told"``. Required if ``early_stopping``
                compares trials.
            parameters: the values so far of the context parameters that are measured with the result. Required if the
                study has ``early_stopping``.
            lease_seconds: duration of the lease from now on; by default as before.
            attempt: the attempt of a trial that is given by its number; by default the current one.

        Raises:
            ValueError: the value is not finite, or the trial belongs to another study.
            TypeError: the step is not a whole number, or the value is not a number.
            Invalid: the step is larger than ``max_steps``, or smaller than that of the previous report.
            Conflict: this attempt has reported another value at the step or has lost its lease, or the trial
                has ended.
        """
        return self._transport.perform(
            self._calls.report(
                trial, step, value, cost=cost, parameters=parameters, lease_seconds=lease_seconds, attempt=attempt
            )
        )

    def report_many(
        self,
        trial: Leased | Trial | int,
        reports: Sequence[
            tuple[SupportsIndex, SupportsFloat]
            | tuple[SupportsIndex, SupportsFloat, SupportsFloat]
            | tuple[SupportsIndex, SupportsFloat, SupportsFloat | None, Parameters]
        ],
        *,
        lease_seconds: float | None = None,
        attempt: int | None = None,
    ) -> bool:
        """Report several intermediate values of a trial, each as (step, value), (step, value, cost) or (step, value,
        cost, parameters): see ``report``. Either all of them are stored or none.
        """
        return self._transport.perform(
            self._calls.report_many(trial, reports, lease_seconds=lease_seconds, attempt=attempt)
        )

    def _deliver_reports(self, trial: Leased, reports: Sequence[Mapping[str, Any]] = ()) -> bool:
        """Send the reports of a leased trial, and return whether it is stopped.

        Reports that cannot be delivered stay in memory, and are sent with the next one.

        Raises:
            Invalid, Conflict: as ``report``.
        """
        return self._transport.perform(self._calls.deliver_reports(trial, reports))

    def curve(self, trial: Leased | Trial | int, attempt: int | None = None) -> Items[CurvePoint]:
        """Yield the reports of an attempt of a trial, by step; by default the current attempt."""
        return Items(self._calls.curve(trial, attempt), as_it_is, self._transport)

    def heartbeat(
        self, trial: Leased | Trial | int, *, lease_seconds: float | None = None, attempt: int | None = None
    ) -> Answer:
        """Renew a trial's lease.

        Args:
            trial: the trial, or its number.
            lease_seconds: duration of the lease from now on; by default as before.
            attempt: as in ``observe``.

        Raises:
            Conflict: the lease is lost: the trial has ended or was released, another worker holds it, or the attempt
                has exceeded ``max_runtime_seconds``.
        """
        return self._transport.perform(self._calls.heartbeat(trial, lease_seconds=lease_seconds, attempt=attempt))

    def release(self, trial: Leased | Trial | int, reason: str | None = None, *, attempt: int | None = None) -> Answer:
        """Release a trial without a result; it is issued again before any new point.

        Args:
            trial: the trial, or its number.
            reason: why the attempt has no result, for the log.
            attempt: as in ``observe``.

        Raises:
            Conflict: the trial has ended, or another worker holds it.
        """
        return self._transport.perform(self._calls.release(trial, reason, attempt=attempt))

    def withdraw(self, trial: Leased | Trial | int, reason: str | None = None, *, attempt: int | None = None) -> Answer:
        """End a trial without a result: decline a suggestion, or remove a queued point.

        This is not a failure, and does not count towards the budget. The next suggestions differ from the trial's
        point. ``retry`` undoes this. Withdrawing a trial again changes nothing.

        Args:
            trial: the trial, or its number.
            reason: why it will not be evaluated.
            attempt: as in ``observe``.

        Raises:
            Conflict: the trial has an outcome, or another worker holds it.
        """
        return self._transport.perform(self._calls.withdraw(trial, reason, attempt=attempt))

    def _settle(self, trial: Leased, error: BaseException | None) -> None:
        """Fail or release a trial at the end of its block, unless its outcome was reported before, or the server or
        the connection caused the error.
        """
        self._transport.perform(self._calls.settle(trial, error))

    def retry(self, trial: Leased | Trial | int, reason: str | None = None) -> Answer:
        """Retry a failed or withdrawn trial: it is issued again before any new point. A failed trial does not count
        towards the budget again.

        Nothing changes if the trial is waiting or active. The log keeps the reason.

        Raises:
            Conflict: the trial has a result or was stopped, it cannot be issued (its point is outside the edited space
                or between steps, or its place on a plate is taken), the study has converged, or the budget has no room
                for the trial.
        """
        return self._transport.perform(self._calls.retry(trial, reason))

    def retry_failed(self, reason: str | None = None) -> list[Trial]:
        """Retry all failed trials, and return them. A paused study also needs ``resume``."""
        return self._transport.perform(self._calls.retry_failed(reason))

    def annotate(self, trial: Leased | Trial | int, attributes: Mapping[str, Any]) -> Answer:
        """Set attributes of a trial in any state. The model ignores them.

        Args:
            trial: the trial, or its number.
            attributes: JSON values by name. None removes an attribute; a dict is merged into an existing one. A trial
                has up to 64 attributes with 16,384 bytes in total; a name has no colon.

        Raises:
            Invalid: the attributes are too many or too large.
            TypeError, ValueError: a value cannot be written as JSON.
        """
        return self._transport.perform(self._calls.annotate(trial, attributes))

    def queue(self, parameters: Parameters, *, plate: Literal["open", "new"] | None = None) -> Trial:
        """Queue your own point. It is issued before any suggestion, and counts towards the budget.

        Args:
            parameters: the point.
            plate: in a study with plates, "open" for a place on the last plate or, if that is full, on the next one;
                "new" for a place on a new plate. With None, the point is on no plate.

        Raises:
            Invalid: the point is not in the space, the last plate has other values of the shared parameters, or a
                plate is given, but the study has none.
            Conflict: the study is complete, or its budget is used up or allows no other plate.
        """
        return self._transport.perform(self._calls.queue(parameters, plate=plate))

    def repeat(
        self, point: Leased | Trial | int | Parameters, times: int = 1, *, plate: Literal["open", "new"] | None = None
    ) -> list[Trial]:
        """Queue a point again once or several times, to repeat the measurement.

        Args:
            point: a trial or its number; or the parameters of a point. The point of a trial is that of its first
                result or, without a result, the suggested one.
            times: number of trials to queue at this point, 1 to 100. They are issued before any suggestion, and
                each counts towards the budget.
            plate: as in ``queue``. All of these trials are on the same plate.

        Raises:
            Invalid: the point is not in the space, the last plate has other values of the shared parameters or not
                enough places, or a plate is given, but the study has none.
            Conflict: the study is complete, or its budget does not allow that many trials or another plate; none is
                queued.
        """
        return self._transport.perform(self._calls.repeat(point, times, plate=plate))

    def trials(self, state: TrialState | None = None, attributes: Mapping[str, Any] | None = None) -> Items[Trial]:
        """Yield the trials by number: all, or only those in a state, or with all of the given attributes, or both."""
        return Items(self._calls.trials(state, attributes), as_it_is, self._transport)

    def why(self, trial: Leased | Trial | int) -> Explanation:
        """Return the inputs of a trial's suggestion, and all events about the trial, as JSON: see docs/http.md."""
        return self._transport.perform(self._calls.why(trial))
