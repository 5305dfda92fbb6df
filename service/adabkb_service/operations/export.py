"""GET /v1/studies/{id}/export: everything a study holds, page by page, so that its size does not matter."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from pydantic import BaseModel

from adabkb_service.operations import manage, report, views
from adabkb_service.operations.service import Service

PAGE = 1000


def json_lines(service: Service, study_id: str) -> Iterator[str]:
    """The study, its trials, observations and events: one JSON object a line, told apart by ``type``.

    Raises:
        StudyNotFound: there is none; before the first line.
    """
    study = manage.get(service, study_id)
    return _json_lines(service, study)


def csv_rows(service: Service, study_id: str) -> Iterator[str]:
    """The observations, one a line; parameters in columns of their own.

    Raises:
        StudyNotFound: there is none; before the first line.
    """
    study = manage.get(service, study_id)
    return _csv_rows(service, study)


def _json_lines(service: Service, study: views.Study) -> Iterator[str]:
    yield _line("study", study)
    for trial in _all(lambda last: report.list_trials(service, study.id, state=None, after=last, limit=PAGE), "number"):
        yield _line("trial", trial)
    for observation in _observations(service, study):
        yield _line("observation", observation)
    for event in _all(lambda last: report.list_events(service, study.id, last, PAGE), "seq"):
        yield _line("event", event)


def _csv_rows(service: Service, study: views.Study) -> Iterator[str]:
    names = [parameter.name for parameter in study.parameters]
    fixed = ["seq", "trial", "attempt", "value", "std_error", "excluded", "observed_at"]
    yield _csv_line([*fixed, *(f"parameters.{name}" for name in names)])
    for observation in _observations(service, study):
        row = observation.model_dump(mode="json")
        yield _csv_line([*(row[name] for name in fixed), *(observation.parameters[name] for name in names)])


Item = TypeVar("Item", views.Trial, views.Observation, views.Event)


def _all(page: Callable[[int], list[Item]], key: str) -> Iterator[Item]:
    """The items of all pages."""
    last = 0
    while items := page(last):
        yield from items
        last = getattr(items[-1], key)


def _observations(service: Service, study: views.Study) -> Iterator[views.Observation]:
    yield from _all(lambda last: report.list_observations(service, study.id, last, PAGE), "seq")


def _line(kind: str, view: BaseModel) -> str:
    return json.dumps({"type": kind, **view.model_dump(mode="json")}, ensure_ascii=False) + "\n"


def _csv_line(values: Sequence[object]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(values)
    return buffer.getvalue()
