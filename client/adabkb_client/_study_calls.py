"""The calls of a study, one procedure each.

``python -m tools.client_methods`` writes the methods of both clients, which perform or await them.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from mimetypes import guess_type
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, Literal, SupportsFloat, Unpack
from urllib.parse import quote

from adabkb_client._analysis import Assessment, Front, Importance, Slice, Validation
from adabkb_client._calls import Call, Listing, Param, Steps
from adabkb_client._parameters import Catalogue, Parameter, to_wire
from adabkb_client._records import (
    Access,
    Answer,
    Best,
    CatalogueRow,
    DictionaryPoint,
    Event,
    File,
    ImportReport,
    Link,
    ModelInfo,
    Observation,
    Parameters,
    PartitionCell,
    Prediction,
    Recommendation,
    StudyInfo,
    Trial,
    Webhook,
    decode,
)
from adabkb_client._settings import NOT_GIVEN, Belief, Mixture, check_settings, given
from adabkb_client._study_settings import StudyChanges
from adabkb_client._tables import Source
from adabkb_client._trial_calls import Leased, TrialCalls
from adabkb_client._values import Numbers, as_it_is, encoded, finite, finite_metrics, plain, point, shown
from adabkb_client.errors import WrongResult


class StudyCalls(TrialCalls):
    """The calls of one study."""

    # The study itself

    def info(self) -> Steps[StudyInfo]:
        """Return the study's definition and state."""
        return decode(StudyInfo, (yield Call("GET", self._path)))

    def best(self, *, context: Parameters | Literal["latest"] | None = None) -> Steps[Best | None]:
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
        if context is None:
            return (yield from self.info()).best
        return (yield from self.recommendation(context=context)).observed

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
        **changes: Unpack[StudyChanges],
    ) -> Steps[StudyInfo]:
        """Change settings, or edit the space.

        What is not given stays. None removes a setting: ``update(budget=None)`` a limit, ``update(prior=None)`` all
        beliefs. An empty list or dict also removes a setting that is a list or a dict. None is refused for
        ``lease_seconds``, ``max_attempts``, a cost budget and ``early_stopping``. Early stopping keeps its rule,
        ``max_steps`` and ``metric``; you can change its other numbers. ``stop`` replaces both of its rules.

        A study whose budget is used up continues when you raise the budget. A study that ended for lack of improvement
        continues when you remove or relax ``stop``.

        The model uses the results inside the edited space. Results outside are kept, but ignored. See the guide "Edit a
        running study's space".

        Args:
            parameters: parameters that replace parameters of the same names or are added; other parameters stay.
            defaults: the values of added parameters in the existing trials.
            constraints: the constraints that replace all former ones, such as ``["a + b <= 1"]``: see
                ``Client.create_study`` for the syntax.
            mixtures: the shares of a whole that replace all former mixtures.
            prior: the beliefs about the optimum that replace all former ones.
            baseline: the current settings that replace all former ones.
            changes: each of ``StudyChanges``.

        Raises:
            Invalid: a value is invalid, or the study's space cannot be edited.
            TypeError, ValueError: a parameter is invalid, as in ``Client.create_study``.
        """
        replaced = given(constraints=constraints, mixtures=mixtures, prior=prior, baseline=baseline)
        check_settings({**changes, **replaced})
        space: dict[str, Any] = {} if parameters is NOT_GIVEN else {"parameters": to_wire(parameters)}
        space |= {name: plain(value) for name, value in replaced.items()}
        before = {} if defaults is NOT_GIVEN else {"defaults": point(defaults)}
        return self.change({**changes, **space, **before})

    def change(self, changes: Mapping[str, Any]) -> Steps[StudyInfo]:
        """Change the study; ``changes`` are JSON, as in docs/http.md."""
        return decode(StudyInfo, (yield Call("PATCH", self._path, changes)))

    def _edit_space(self, parameters: Sequence[Mapping[str, Any]], defaults: Parameters) -> Steps[StudyInfo]:
        """Edit the space with parameters as JSON, as in ``info``."""
        return self.change({"parameters": list(parameters), **({"defaults": point(defaults)} if defaults else {})})

    def change_catalogue(
        self,
        parameter: str,
        *,
        add: Catalogue | None = None,
        withdraw: Sequence[str] = (),
        restore: Sequence[str] = (),
    ) -> Steps[StudyInfo]:
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
        for name, rows in (("withdraw", withdraw), ("restore", restore)):
            if isinstance(rows, str):
                raise TypeError(f"{name}={rows!r} must be a list of rows: {name}=[{rows!r}]")
        if add is not None and not isinstance(add, Catalogue):
            raise TypeError(f"add must be a Catalogue, such as Catalogue.from_csv(path), not a {type(add).__name__}")
        change: dict[str, Any] = {} if add is None else {"add": add.to_csv()}
        change |= {name: list(rows) for name, rows in (("withdraw", withdraw), ("restore", restore)) if rows}
        return self.change({"catalogues": {parameter: change}})

    def rows(self, containing: str = "") -> Listing[CatalogueRow]:
        """Yield the rows of the study's catalogue in the order of its table; none without a catalogue.

        Args:
            containing: only rows whose names contain this text, in upper or lower case.
        """
        return Listing(f"{self._path}/rows", lambda row: decode(CatalogueRow, row), {"containing": containing or None})

    def pause(self) -> Steps[StudyInfo]:
        """Pause the study: issue no trials until ``resume``. Results are still accepted."""
        return self.change({"state": "paused"})

    def resume(self) -> Steps[StudyInfo]:
        """Issue trials again."""
        return self.change({"state": "running"})

    def delete(self, *, purge: bool = False) -> Steps[None]:
        """Delete the study and everything in it: permanently with ``purge``, otherwise ``Client.restore_study`` can
        restore it for 30 days."""
        yield Call("DELETE", self._path, params={"purge": "true" if purge else None})

    # Sharing

    def access(self) -> Steps[Access]:
        """Return the study's owner and the users with whom it is shared."""
        return decode(Access, (yield Call("GET", f"{self._path}/access")))

    def share(self, user: str, right: Literal["read", "work"] = "read") -> Steps[Access]:
        """Share the study with a user, or with everybody who has a token or logs in ("*"), for reading or for work."""
        return self._change_access({"shared_with": {user: right}})

    def unshare(self, user: str) -> Steps[Access]:
        """Stop sharing the study with a user or with everybody."""
        return self._change_access({"shared_with": {user: None}})

    def give(self, owner: str) -> Steps[Access]:
        """Give the study to another owner. The former owner loses access, and the study's webhooks are turned off."""
        return self._change_access({"owner": owner})

    def link(self, expires_at: datetime | None = None) -> Steps[Link]:
        """Create a link with a token that can only read this study.

        Args:
            expires_at: the time of expiry, with a time zone; None means never.
        """
        body = {} if expires_at is None else {"expires_at": expires_at.isoformat()}
        return decode(Link, (yield Call("POST", f"{self._path}/links", body)))

    def links(self) -> Listing[Link]:
        """Yield the links to the study, newest first, without their tokens."""
        return Listing(f"{self._path}/links", lambda link: decode(Link, link))

    def unlink(self, link: Link | str) -> Steps[None]:
        """Revoke a link."""
        name = link.id if isinstance(link, Link) else link
        yield Call("DELETE", f"{self._path}/links/{quote(name, safe='')}")

    # Files of trials, and of results without a trial

    def files(self, trial: Leased | Trial | int) -> Listing[File]:
        """Yield the files of a trial, in order of addition, without their content."""
        return self._files_of(self._of_trial(trial))

    def add_file(
        self,
        trial: Leased | Trial | int,
        content: bytes | str | PathLike[str],
        name: str | None = None,
        media_type: str | None = None,
    ) -> Steps[File]:
        """Attach a file, such as a photograph or a spectrum, to a trial.

        Args:
            trial: the trial, or its number.
            content: the path of the file, or bytes.
            name: the file's name; by default that of the path. Bytes need a name.
            media_type: such as "image/png"; by default derived from the name.

        Raises:
            ValueError: the content is bytes without a name.
        """
        yield from self._check_server(trial)
        return (yield from self._add_file(self._of_trial(trial), content, name, media_type))

    def read_file(self, trial: Leased | Trial | int, file: File | int) -> Steps[bytes]:
        """Return the content of a file of a trial."""
        yield from self._check_server(trial)
        return (yield from self._read_file(self._of_trial(trial), file))

    def remove_file(self, trial: Leased | Trial | int, file: File | int) -> Steps[None]:
        """Permanently delete a file of a trial."""
        yield from self._check_server(trial)
        yield from self._remove_file(self._of_trial(trial), file)

    def result_files(self, observation: Observation | int) -> Listing[File]:
        """Yield the files of a result without a trial, in order of addition, without their content."""
        return self._files_of(_of_result(observation))

    def add_result_file(
        self,
        observation: Observation | int,
        content: bytes | str | PathLike[str],
        name: str | None = None,
        media_type: str | None = None,
    ) -> Steps[File]:
        """Attach a file, such as a photograph or a spectrum, to a result without a trial. For a trial's result, see
        ``add_file``.

        Args:
            observation: the result without a trial, or its number.
            content: as in ``add_file``.
            name: as in ``add_file``.
            media_type: as in ``add_file``.

        Raises:
            Invalid: the result belongs to a trial.
            ValueError: the content is bytes without a name.
        """
        return self._add_file(_of_result(observation), content, name, media_type)

    def read_result_file(self, observation: Observation | int, file: File | int) -> Steps[bytes]:
        """Return the content of a file of a result without a trial."""
        return self._read_file(_of_result(observation), file)

    def remove_result_file(self, observation: Observation | int, file: File | int) -> Steps[None]:
        """Permanently delete a file of a result without a trial."""
        return self._remove_file(_of_result(observation), file)

    def _of_trial(self, trial: Leased | Trial | int) -> str:
        return f"trials/{self._reference(trial)['trial']}"

    def _files_of(self, holder: str) -> Listing[File]:
        return Listing(f"{self._path}/{holder}/files", lambda each: decode(File, each))

    def _add_file(
        self, holder: str, content: bytes | str | PathLike[str], name: str | None, media_type: str | None
    ) -> Steps[File]:
        if isinstance(content, bytes):
            if name is None:
                raise ValueError('bytes have no file name; give one, such as name="spectrum.csv"')
        else:
            path = Path(content)
            name, content = name or path.name, path.read_bytes()
        kind = media_type or guess_type(name)[0] or "application/octet-stream"
        address = f"{self._path}/{holder}/files"
        return decode(File, (yield Call("POST", address, params={"name": name}, content=content, media_type=kind)))

    def _read_file(self, holder: str, file: File | int) -> Steps[bytes]:
        content: bytes = yield Call("GET", f"{self._path}/{holder}/files/{_number_of(file)}", as_bytes=True)
        return content

    def _remove_file(self, holder: str, file: File | int) -> Steps[None]:
        yield Call("DELETE", f"{self._path}/{holder}/files/{_number_of(file)}")

    # Webhooks

    def webhooks(self) -> Listing[Webhook]:
        """Yield the webhooks of the study, oldest first, without their secrets."""
        return Listing(f"{self._path}/webhooks", lambda webhook: decode(Webhook, webhook))

    def add_webhook(self, url: str, notifications: Sequence[str] | None = None) -> Steps[Webhook]:
        """Add a webhook: the server sends messages about the study to a URL from now on.

        Args:
            url: where to send messages by POST. It must be reachable from the server. In the server's own network, the
                setting ``webhook_networks`` must allow it.
            notifications: the notifications to send, of "trial.reserved", "trial.overdue", "trial.done", "study.ended"
                and "study.needs_attention"; by default all.

        Returns:
            The webhook with its secret, which is returned only once.
        """
        wanted = {} if notifications is None else {"notifications": list(notifications)}
        return decode(Webhook, (yield Call("POST", f"{self._path}/webhooks", {"url": url, **wanted})))

    def change_webhook(
        self,
        webhook: Webhook | str,
        *,
        url: str = NOT_GIVEN,
        notifications: Sequence[str] = NOT_GIVEN,
        is_on: bool = NOT_GIVEN,
    ) -> Steps[Webhook]:
        """Change the URL or the notifications of a webhook, or turn it on or off.

        What is not given stays. Turning it on also sends the messages missed while it was off.

        Raises:
            Invalid: a value is None or otherwise invalid. Every webhook has a URL and notifications.
        """
        changes = given(url=url, notifications=notifications, is_on=is_on)
        return decode(Webhook, (yield Call("PATCH", self._of_webhook(webhook), changes)))

    def remove_webhook(self, webhook: Webhook | str) -> Steps[None]:
        """Remove a webhook, given as an object or by its id; it receives no more messages."""
        yield Call("DELETE", self._of_webhook(webhook))

    def _of_webhook(self, webhook: Webhook | str) -> str:
        name = webhook.id if isinstance(webhook, Webhook) else webhook
        return f"{self._path}/webhooks/{quote(name, safe='')}"

    # Results

    def observations(self) -> Listing[Observation]:
        """Yield the observations in the order in which they were stored."""
        return Listing(f"{self._path}/observations", lambda observation: decode(Observation, observation))

    def correct(
        self,
        observation: Observation | int,
        value: SupportsFloat = NOT_GIVEN,
        *,
        std_error: SupportsFloat | None = NOT_GIVEN,
        metrics: Numbers = NOT_GIVEN,
        std_errors: Mapping[str, SupportsFloat | None] = NOT_GIVEN,
        reason: str | None = None,
    ) -> Steps[Answer]:
        """Replace the value of an observation and the given metrics, or add those that it lacks. The server rebuilds
        the model; the log keeps both values and the reason.

        What is not given stays. None removes a standard error, which is then unknown.

        Args:
            observation: the result, or its number.
            value: the correct value; a finite number.
            std_error: the standard error of ``value``.
            metrics: the correct metrics by name; other metrics stay.
            std_errors: standard errors of metrics by name; other standard errors stay.
            reason: the reason, for the log.

        Raises:
            Invalid: the study has no such metric, or a standard error is that of a number that the result lacks.
            ValueError, TypeError: a number is not finite, or not a number.
        """
        changes = given(
            value=value if value is NOT_GIVEN else finite("value", value),
            std_error=std_error if std_error is None or std_error is NOT_GIVEN else finite("std_error", std_error),
            metrics=metrics if metrics is NOT_GIVEN else finite_metrics("metrics", metrics),
            std_errors=std_errors if std_errors is NOT_GIVEN else _standard_errors(std_errors),
        )
        return self._amend(observation, {**changes, "reason": reason})

    def exclude(self, observation: Observation | int, reason: str | None = None) -> Steps[Answer]:
        """Exclude an observation from the model; it stays in the log."""
        return self._amend(observation, {"excluded": True, "reason": reason})

    def include(self, observation: Observation | int, reason: str | None = None) -> Steps[Answer]:
        """Include an excluded observation again."""
        return self._amend(observation, {"excluded": False, "reason": reason})

    def annotate_result(self, observation: Observation | int, attributes: Mapping[str, Any]) -> Steps[Answer]:
        """Set attributes of a result without a trial, such as a note. The model ignores them. For a trial's result, see
        ``annotate``.

        Args:
            observation: the result without a trial, or its number.
            attributes: as in ``annotate``.

        Raises:
            Invalid: the attributes are too many or too large, or the result belongs to a trial.
            TypeError, ValueError: a value cannot be written as JSON.
        """
        return self._amend(observation, {"attributes": dict(attributes)})

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
    ) -> Steps[ImportReport]:
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
        from adabkb_client._importing.importing import import_results  # noqa: PLC0415 (only an import needs it)

        return import_results(
            self.id,
            source,
            columns or {},
            value,
            std_error,
            state,
            plate,
            decimal=decimal,
            choices=choices or {},
            dry_run=dry_run,
            progress=progress,
        )

    def recommendation(
        self, *, feasible_probability: float | None = None, context: Parameters | Literal["latest"] | None = None
    ) -> Steps[Recommendation]:
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
        params: dict[str, Param] = {"feasible_probability": feasible_probability}
        if context is not None:
            params["context"] = context if context == "latest" else json.dumps(point(context))
        return decode(Recommendation, (yield Call("GET", f"{self._path}/recommendation", params=params)))

    def front(
        self, *, feasible_probability: float | None = None, context: Parameters | Literal["latest"] | None = None
    ) -> Steps[Front]:
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
        params: dict[str, Param] = {"feasible_probability": feasible_probability}
        if context is not None:
            params["context"] = context if context == "latest" else json.dumps(point(context))
        return decode(Front, (yield Call("GET", f"{self._path}/front", params=params)))

    def predict(self, points: Sequence[Parameters]) -> Steps[list[Prediction]]:
        """Return the model's prediction of the objective at each point.

        Args:
            points: a list of dicts, each with values by parameter.

        Raises:
            TypeError: ``points`` is not a list of dicts.
        """
        if isinstance(points, Mapping | str):
            raise TypeError(f"points must be a list of dicts, such as predict([point]), not {shown(points)}")
        body = {"points": [point(parameters) for parameters in points]}
        answer = yield Call("POST", f"{self._path}/predict", body, key=None)  # nothing changes
        return [decode(Prediction, prediction) for prediction in answer["predictions"]]

    def importance(self, metric: str | None = None) -> Steps[Importance]:
        """Return which parameters the objective depends on: Sobol' indices of the posterior mean over the space.

        Args:
            metric: the metric to explain instead of the objective; required if there are several objectives.
        """
        return decode(Importance, (yield Call("GET", f"{self._path}/importance", params={"metric": metric})))

    def validation(self, metric: str | None = None) -> Steps[Validation]:
        """Return each result with its prediction from the other results (leave-one-out).

        Args:
            metric: the metric to predict instead of the objective; required if there are several objectives.
        """
        return decode(Validation, (yield Call("GET", f"{self._path}/validation", params={"metric": metric})))

    def assessment(self) -> Steps[Assessment]:
        """Return a summary of the study in a few sentences (progress, latest trial, findings, outlook), with warnings
        and the facts behind them."""
        return decode(Assessment, (yield Call("GET", f"{self._path}/assessment")))

    def slice(self, *parameters: str, points: int | None = None, at: Parameters | None = None) -> Steps[Slice]:
        """Return the posterior along one or two parameters.

        Args:
            parameters: names of the parameters to vary.
            points: the maximum number of values per parameter; by default 50, or 25 (at most 31) for two parameters.
            at: values of other parameters. Parameters that are not given have the values of the recommended point.
        """
        params: dict[str, Param] = {"parameter": list(parameters), "points": points}
        if at is not None:
            params["at"] = encoded(point(at)).decode()
        return decode(Slice, (yield Call("GET", f"{self._path}/slice", params=params)))

    # The model and the log, as JSON: see docs/http.md for the fields

    def model(self) -> Steps[ModelInfo]:
        """Return the statistics and the learned parameters of the model."""
        document: ModelInfo = yield Call("GET", f"{self._path}/model")
        return document

    def partition(
        self, status: Literal["leaf", "expanded", "pruned"] | None = None, metric: str | None = None
    ) -> Listing[PartitionCell]:
        """Yield the cells of the partition tree, each with the model's prediction of the objective or of a metric. With
        ``status``, only the cells of this status. ``metric`` is required with several objectives."""
        return Listing(f"{self._path}/partition", as_it_is, {"status": status, "metric": metric})

    def dictionary(self) -> Listing[DictionaryPoint]:
        """Yield the points of the dictionary, that is, the inducing points of the model."""
        return Listing(f"{self._path}/dictionary", as_it_is)

    def events(self, kind: str | Collection[str] = ()) -> Listing[Event]:
        """Yield the study's log in order; with ``kind``, such as ``"paused"`` or ``["paused", "resumed"]``, only the
        events of these kinds (docs/http.md lists them)."""
        kinds = [kind] if isinstance(kind, str) else list(kind)
        return Listing(f"{self._path}/events", lambda event: decode(Event, event), {"kind": kinds or None})

    def export(self, format: Literal["jsonl", "csv", "curves"] = "jsonl") -> Steps[str]:
        """Return everything about the study ("jsonl"), the table of its trials and results ("csv"), or the table of the
        intermediate values ("curves", which is CSV, too)."""
        text: str = yield Call("GET", f"{self._path}/export", params={"format": format}, as_text=True)
        return text

    def export_excel(self) -> Steps[bytes]:
        """Return the table of ``export("csv")`` as an Excel file, whose columns have labels and units."""
        content: bytes = yield Call("GET", f"{self._path}/export", params={"format": "xlsx"}, as_bytes=True)
        return content

    def export_report(self) -> Steps[str]:
        """Return a report as Markdown: definition, best point, results, workers and changes, and the hash of the log.
        The web interface has a report with charts and up to 5,000 rows, to print or save as PDF.
        """
        text: str = yield Call("GET", f"{self._path}/report", as_text=True)
        return text

    def _change_access(self, changes: Mapping[str, Any]) -> Steps[Access]:
        return decode(Access, (yield Call("PATCH", f"{self._path}/access", changes)))

    def _glance(self) -> Steps[StudyInfo]:
        """Return the study, without retries."""
        return decode(StudyInfo, (yield Call("GET", self._path, retry_for=0.0)))

    def _amend(self, observation: Observation | int, body: Mapping[str, Any]) -> Steps[Answer]:
        return self._decode(Answer, (yield Call("PATCH", f"{self._path}/{_of_result(observation)}", body)))


def _of_result(observation: Observation | int) -> str:
    """Return the path of a result within its study."""
    seq = observation.seq if isinstance(observation, Observation) else index(observation)
    return f"observations/{seq}"


def _standard_errors(errors: Mapping[str, SupportsFloat | None]) -> dict[str, float | None]:
    if not isinstance(errors, Mapping):
        raise WrongResult(f"std_errors must be a dict of numbers by metric, not {shown(errors)}")
    return {name: None if error is None else finite(f"std_errors[{name!r}]", error) for name, error in errors.items()}


def _number_of(file: File | int) -> int:
    return file.number if isinstance(file, File) else index(file)
