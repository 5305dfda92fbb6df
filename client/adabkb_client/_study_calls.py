"""The calls of a study, one procedure each: ``_resource.py`` performs them, ``_async_resource.py`` awaits them."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from mimetypes import guess_type
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, Literal, SupportsFloat, Unpack
from urllib.parse import quote

from adabkb_client._analysis import Assessment, Front, Importance, Slice, Validation
from adabkb_client._calls import Call, Listing, Param, Steps, naming_settings
from adabkb_client._catalogue import Catalogue
from adabkb_client._decoding import decode
from adabkb_client._importing.importing import import_results
from adabkb_client._importing.report import ImportReport
from adabkb_client._importing.sources import Source
from adabkb_client._models import (
    Access,
    Answer,
    Best,
    Event,
    File,
    Link,
    Observation,
    Parameters,
    Prediction,
    Recommendation,
    StudyInfo,
    Webhook,
)
from adabkb_client._parameters import Parameter, named, to_wire
from adabkb_client._plain import Numbers, encoded, point, shown
from adabkb_client._report_calls import ReportCalls
from adabkb_client._settings import StudyChanges, check_dicts
from adabkb_client._trial_calls import result_of


class StudyCalls(ReportCalls):
    """The calls of one study."""

    # The study itself

    def info(self) -> Steps[StudyInfo]:
        """Return the study's definition and state."""
        return decode(StudyInfo, (yield Call("GET", self._path)))

    def best(self) -> Steps[Best | None]:
        """Return the best observation so far."""
        return (yield from self.info()).best

    @naming_settings
    def update(
        self,
        /,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        defaults: Parameters | None = None,
        **changes: Unpack[StudyChanges],
    ) -> Steps[StudyInfo]:
        """Change settings, or edit the space.

        None removes a limit. A study whose budget is used up runs again when it is raised, and one that has stopped
        because there was no gain runs again when ``stop`` is removed or allows more results.

        Results at points of the edited space go on to count; the others stay on record. See the guide
        "Editing a running study's space".

        Args:
            parameters: parameters that replace those of the same names or are added; the others stay.
            defaults: the values that parameters which are added had in the trials so far.
            changes: the settings that can be changed: see ``StudyChanges``.

        Raises:
            Invalid: a value is wrong, or the study's space cannot be edited.
            TypeError, ValueError: as ``Client.create_study`` of parameters.
        """
        check_dicts(changes)
        space = {} if parameters is None else {"parameters": to_wire(parameters)}
        before = {} if defaults is None else {"defaults": point(defaults)}
        with named(parameters or {}):
            return decode(StudyInfo, (yield Call("PATCH", self._path, {**changes, **space, **before})))

    def _edit_space(self, parameters: Sequence[Mapping[str, Any]], defaults: Parameters) -> Steps[StudyInfo]:
        """Edit the space by parameters in wire form, as ``info`` has them."""
        body = {"parameters": list(parameters), **({"defaults": point(defaults)} if defaults else {})}
        return decode(StudyInfo, (yield Call("PATCH", self._path, body)))

    def change_catalogue(
        self,
        parameter: str,
        *,
        add: Catalogue | None = None,
        withdraw: Sequence[str] = (),
        restore: Sequence[str] = (),
    ) -> Steps[StudyInfo]:
        """Add rows to a catalogue, withdraw some or restore withdrawn ones, while the study runs.

        Results in withdrawn rows go on to count, and no withdrawn row is suggested. Trials that wait in them fail.

        Args:
            parameter: the name of the catalogue.
            add: new rows, with the same descriptors in the same order.
            withdraw: names of rows that are not to be suggested any more.
            restore: names of withdrawn rows that are to be suggested again.

        Raises:
            Invalid: there is no such catalogue or row, or a new row is in it.
            TypeError: the rows are a text and no list.
        """
        for name, rows in (("withdraw", withdraw), ("restore", restore)):
            if isinstance(rows, str):
                raise TypeError(f"{name}={rows!r} must be a list of rows: {name}=[{rows!r}]")
        change: dict[str, Any] = {} if add is None else {"add": add.to_csv()}
        change |= {name: list(rows) for name, rows in (("withdraw", withdraw), ("restore", restore)) if rows}
        return decode(StudyInfo, (yield Call("PATCH", self._path, {"catalogues": {parameter: change}})))

    def pause(self) -> Steps[StudyInfo]:
        """Issue nothing until ``resume``; results are still accepted."""
        return decode(StudyInfo, (yield Call("PATCH", self._path, {"state": "paused"})))

    def resume(self) -> Steps[StudyInfo]:
        """Issue trials again."""
        return decode(StudyInfo, (yield Call("PATCH", self._path, {"state": "running"})))

    def delete(self, *, purge: bool = False) -> Steps[None]:
        """Delete the study and everything in it: for good with ``purge``, else ``Client.restore_study`` brings it back
        for 30 days."""
        yield Call("DELETE", self._path, params={"purge": "true" if purge else None})

    # Who may do what with it

    def access(self) -> Steps[Access]:
        """Return whose the study is, and with whom it is shared."""
        return decode(Access, (yield Call("GET", f"{self._path}/access")))

    def share(self, user: str, right: Literal["read", "work"] = "read") -> Steps[Access]:
        """Let a user, or everybody who has a token ("*"), read the study or work on it."""
        return self._change_access({"shared_with": {user: right}})

    def unshare(self, user: str) -> Steps[Access]:
        """Share the study with a user, or with everybody, no longer."""
        return self._change_access({"shared_with": {user: None}})

    def give(self, owner: str) -> Steps[Access]:
        """Give the study to another owner; the former one has no right to it any more."""
        return self._change_access({"owner": owner})

    def link(self, expires_at: datetime | None = None) -> Steps[Link]:
        """Make a token that reads this study and nothing else.

        Args:
            expires_at: until when it is good, with a time zone; None is for good.
        """
        body = {} if expires_at is None else {"expires_at": expires_at.isoformat()}
        return decode(Link, (yield Call("POST", f"{self._path}/links", body)))

    def unlink(self, link: Link | str) -> Steps[None]:
        """Let a link be of no use any more."""
        yield Call("DELETE", f"{self._path}/links/{link.id if isinstance(link, Link) else link}")

    # Files of trials

    def files(self, trial: int) -> Listing[File]:
        """Yield the files of a trial, in order of addition, without their content."""
        return Listing(f"{self._path}/trials/{trial}/files", lambda each: decode(File, each))

    def add_file(
        self, trial: int, content: bytes | str | PathLike[str], name: str | None = None, media_type: str | None = None
    ) -> Steps[File]:
        """Attach a file, such as a photograph or a spectrum, to a trial.

        Args:
            trial: its number.
            content: the path of the file, or bytes.
            name: of the file; by default that of the path. Bytes need one.
            media_type: such as "image/png"; by default what the name says.

        Raises:
            ValueError: the content is bytes, and there is no name.
        """
        if isinstance(content, bytes):
            if name is None:
                raise ValueError('bytes have no name: give one, such as name="spectrum.csv"')
        else:
            path = Path(content)
            name, content = name or path.name, path.read_bytes()
        kind = media_type or guess_type(name)[0] or "application/octet-stream"
        address = f"{self._path}/trials/{trial}/files"
        return decode(File, (yield Call("POST", address, params={"name": name}, content=content, media_type=kind)))

    def read_file(self, trial: int, file: int) -> Steps[bytes]:
        """Return the content of a file of a trial, by its number."""
        content: bytes = yield Call("GET", f"{self._path}/trials/{trial}/files/{file}", as_bytes=True)
        return content

    def remove_file(self, trial: int, file: int) -> Steps[None]:
        """Delete a file of a trial for good."""
        yield Call("DELETE", f"{self._path}/trials/{trial}/files/{file}")

    # Who is told

    def webhooks(self) -> Steps[list[Webhook]]:
        """Return the webhooks of the study, the oldest first, without their secrets."""
        found = yield Call("GET", f"{self._path}/webhooks")
        return [decode(Webhook, each) for each in found["items"]]

    def add_webhook(self, url: str, notifications: Sequence[str] | None = None) -> Steps[Webhook]:
        """Let the server send messages about the study to an address, from now on.

        Args:
            url: where to, by POST. It must be reachable from the server, and inside the server's network only where its
                setting ``webhook_networks`` allows it.
            notifications: which, of "trial.reserved", "trial.overdue", "trial.done", "study.ended" and
                "study.needs_attention"; by default all.

        Returns:
            The webhook with its secret, which no other answer has.
        """
        wanted = {} if notifications is None else {"notifications": list(notifications)}
        return decode(Webhook, (yield Call("POST", f"{self._path}/webhooks", {"url": url, **wanted})))

    def change_webhook(
        self,
        webhook: Webhook | str,
        *,
        url: str | None = None,
        notifications: Sequence[str] | None = None,
        is_on: bool | None = None,
    ) -> Steps[Webhook]:
        """Change where messages are sent and which, or turn a webhook off and on.

        One that is turned on sends what has happened since it was turned off, or turned itself off.
        """
        given = {"url": url, "notifications": notifications and list(notifications), "is_on": is_on}
        changes = {name: value for name, value in given.items() if value is not None}
        return decode(Webhook, (yield Call("PATCH", self._of_webhook(webhook), changes)))

    def remove_webhook(self, webhook: Webhook | str) -> Steps[None]:
        """Remove a webhook, given as such or by its id: it receives no more messages."""
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
        value: SupportsFloat | None = None,
        *,
        std_error: SupportsFloat | None = None,
        metrics: Numbers | None = None,
        std_errors: Numbers | None = None,
        reason: str | None = None,
    ) -> Steps[Answer]:
        """Replace the value of an observation, and the metrics that are given. The model is rebuilt; the log keeps both
        values and the reason."""
        return self._amend(observation, {**result_of(value, std_error, metrics, std_errors), "reason": reason})

    def exclude(self, observation: Observation | int, reason: str | None = None) -> Steps[Answer]:
        """Exclude an observation from the model; it stays in the log."""
        return self._amend(observation, {"excluded": True, "reason": reason})

    def include(self, observation: Observation | int, reason: str | None = None) -> Steps[Answer]:
        """Include an excluded observation again."""
        return self._amend(observation, {"excluded": False, "reason": reason})

    def import_results(
        self,
        source: Source,
        *,
        columns: Mapping[str, str] | None = None,
        value: str = "value",
        std_error: str | None = "std_error",
        state: str | None = "state",
        dry_run: bool = False,
        progress: bool = True,
    ) -> Steps[ImportReport]:
        """Store results from elsewhere, each once, however often the import is repeated; they cost no budget.

        A row that does not fit stops no other. A result is stored already if the study's log has it as one of a point
        that nobody suggested, with the same parameters, value and standard error; one that a source has twice is stored
        twice.

        Args:
            source: the path of a file (.csv, .jsonl, either with .gz, or .xlsx, which needs pandas and openpyxl), a
                pandas DataFrame, an iterable of dicts, or a study of Optuna.
            columns: the column of a parameter by its name. By default it is named like the parameter, or
                ``parameters.<name>`` as in exports of a study, or ``params_<name>`` as in Optuna's frames. A dict
                ``parameters`` within a row is taken apart. A fixed parameter needs no column.
            value: the column of the results; finite numbers.
            std_error: the column of their standard errors, if there is one; an empty cell is unknown.
            state: the column of the rows' states, if there is one. A row with any other state than "completed",
                "complete" or none is left out, and so is one whose column ``excluded`` is true. None: every row counts.
            dry_run: store nothing, and report what would be stored.
            progress: show a progress bar in a terminal or notebook.

        Returns:
            What was stored, and what does not fit, by the number of the row.

        Raises:
            ValueError: there is no column for a parameter, for the value or for a metric, a column is named for what is
                no parameter, a file is not what its name says, or a study of Optuna has another direction, or several.
            TypeError, ImportError, OSError: the source is of no such kind, needs a package, or cannot be read.
            ConnectionFailed: the server stayed away; the same call goes on where this one ended.
        """
        return import_results(
            self.id, source, columns or {}, value, std_error, state, dry_run=dry_run, progress=progress
        )

    def recommendation(
        self, *, feasible_probability: float | None = None, context: Parameters | None = None
    ) -> Steps[Recommendation]:
        """Return the best point by the model and the best observed one; of several objectives the front by the model.

        Args:
            feasible_probability: with which the point of the model is to keep the outcome constraints; 0.95 if not
                given.
            context: values of all context parameters of a study that has some. The point of the model is the best one
                in this context, and need not have been evaluated; without the context there is none.

        Raises:
            Invalid: a probability is given, and the study has no outcome constraints; or the context is not that of the
                study.
        """
        params: dict[str, Param] = {"feasible_probability": feasible_probability}
        if context is not None:
            params["context"] = json.dumps(point(context))
        return decode(Recommendation, (yield Call("GET", f"{self._path}/recommendation", params=params)))

    def front(self, *, feasible_probability: float | None = None) -> Steps[Front]:
        """Return the Pareto front of a study with several objectives, and the hypervolume over time.

        Args:
            feasible_probability: with which the points of the model are to keep the outcome constraints; 0.95 if not
                given.

        Raises:
            Invalid: the study has one objective; or a probability is given, and there are no outcome constraints.
        """
        params: dict[str, Param] = {"feasible_probability": feasible_probability}
        return decode(Front, (yield Call("GET", f"{self._path}/front", params=params)))

    def predict(self, points: Sequence[Parameters]) -> Steps[list[Prediction]]:
        """Return the model's prediction of the objective at each point.

        Args:
            points: a list, each a dict of values by parameter.

        Raises:
            TypeError: they are no list, or one of them is no dict.
        """
        if isinstance(points, Mapping | str):
            raise TypeError(f"points must be a list of dicts, such as predict([point]), not {shown(points)}")
        body = {"points": [point(parameters) for parameters in points]}
        answer = yield Call("POST", f"{self._path}/predict", body)
        return [decode(Prediction, prediction) for prediction in answer["predictions"]]

    def importance(self, metric: str | None = None) -> Steps[Importance]:
        """Return which parameters the objective depends on: Sobol' indices of the posterior mean over the space.

        Args:
            metric: what to explain in place of the objective; required if there are several objectives.
        """
        return decode(Importance, (yield Call("GET", f"{self._path}/importance", params={"metric": metric})))

    def validation(self, metric: str | None = None) -> Steps[Validation]:
        """Return each result with its prediction from the other results (leave-one-out).

        Args:
            metric: what to predict in place of the objective; required if there are several objectives.
        """
        return decode(Validation, (yield Call("GET", f"{self._path}/validation", params={"metric": metric})))

    def assessment(self) -> Steps[Assessment]:
        """Return the study in a few sentences: is it going well, why this point, what was learned, can one stop; with
        warnings, and with the facts that the sentences are made from."""
        return decode(Assessment, (yield Call("GET", f"{self._path}/assessment")))

    def slice(self, *parameters: str, points: int | None = None, at: Parameters | None = None) -> Steps[Slice]:
        """Return the posterior along one or two parameters.

        Args:
            parameters: names of those that vary.
            points: values of each of them at most; 50 by default, and 25 (at most 31) of each of two.
            at: values of other parameters; the rest are as in the point that the model recommends.
        """
        params: dict[str, Param] = {"parameter": list(parameters), "points": points}
        if at is not None:
            params["at"] = encoded(point(at)).decode()
        return decode(Slice, (yield Call("GET", f"{self._path}/slice", params=params)))

    # The model and the log, in wire form: see docs/http.md for the fields

    def model(self) -> Steps[dict[str, Any]]:
        """Return the model's constants and size."""
        document: dict[str, Any] = yield Call("GET", f"{self._path}/model")
        return document

    def tree(self) -> Listing[dict[str, Any]]:
        """Yield the cells of the partition tree."""
        return Listing(f"{self._path}/tree", dict)

    def partition(
        self, status: Literal["leaf", "expanded", "pruned"] | None = None, metric: str | None = None
    ) -> Listing[dict[str, Any]]:
        """Yield the cells of the partition tree, all or those of one status, with what the model says of each: of a
        metric, which is required if there are several objectives, or else of the objective."""
        return Listing(f"{self._path}/partition", dict, {"status": status, "metric": metric})

    def dictionary(self) -> Listing[dict[str, Any]]:
        """Yield the points of the dictionary, which the sketch is built on."""
        return Listing(f"{self._path}/dictionary", dict)

    def events(self) -> Listing[Event]:
        """Yield the study's log in order."""
        return Listing(f"{self._path}/events", lambda event: decode(Event, event))

    def export(self, format: Literal["jsonl", "csv"] = "jsonl") -> Steps[str]:
        """Return everything about the study (jsonl) or a table of its observations (csv)."""
        text: str = yield Call("GET", f"{self._path}/export", params={"format": format}, as_text=True)
        return text

    def export_excel(self) -> Steps[bytes]:
        """Return the table of ``export("csv")`` as an Excel file, whose columns have labels and units."""
        content: bytes = yield Call("GET", f"{self._path}/export", params={"format": "xlsx"}, as_bytes=True)
        return content

    def export_report(self) -> Steps[str]:
        """Return a report as Markdown, for a notebook: definition, best point, results, who did what, hash of the log.

        The page has the same report with charts, to print or to save as PDF.
        """
        text: str = yield Call("GET", f"{self._path}/report", as_text=True)
        return text

    def _change_access(self, changes: Mapping[str, Any]) -> Steps[Access]:
        return decode(Access, (yield Call("PATCH", f"{self._path}/access", changes)))

    def _glance(self) -> Steps[StudyInfo]:
        """The study, if the server answers at once."""
        return decode(StudyInfo, (yield Call("GET", self._path, retry_for=0.0)))

    def _amend(self, observation: Observation | int, body: Mapping[str, Any]) -> Steps[Answer]:
        seq = observation.seq if isinstance(observation, Observation) else index(observation)
        return self._decode(Answer, (yield Call("PATCH", f"{self._path}/observations/{seq}", body)))
