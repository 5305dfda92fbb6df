"""Data for the web interface that the API does not have: search, order, thinned results."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from adabkb_service.contract.reports import OneReportBody
from adabkb_service.contract.requests import PointValueBody, SuggestBody, TrialValueBody
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.errors import StudyNotFound
from adabkb_service.operations.correct import correct
from adabkb_service.operations.model.assessment import assessment
from adabkb_service.operations.model.predict import recommendation
from adabkb_service.operations.model.sample import sampled
from adabkb_service.operations.observe import observe
from adabkb_service.operations.report import report
from adabkb_service.operations.reports.overview import Overview
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import change, create, get
from adabkb_service.operations.suggest import suggest
from adabkb_service.operations.words.wording import best_listed
from adabkb_service.storage.bounded_pages import ROWS_PER_PAGE
from adabkb_service.storage.result_table import RowKind, Sort
from tests.integration.operations.verbs import Value, observe_batch

SPACE = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
"""Values rise and fall, so that there are several records, and groups of results with inner points."""
VALUES = [round(math.sin(3.0 * i) + 3.0 / (1 + i), 6) for i in range(40)]


def records(values: list[float]) -> list[tuple[int, float]]:
    """Number and value of each result that is smaller than all before it."""
    before = [math.inf, *accumulate(values, min)]
    return [(i, value) for i, value in enumerate(values, 1) if value < before[i - 1]]


def studied(running: Service, name: str, values: list[float], **more: object) -> str:
    definition = {
        "id": name,
        "direction": "minimize",
        "parameters": SPACE,
        "algorithm": {"profile": "paper"},
        "seed": 1,
    }
    create(running, StudyDefinition.model_validate({**definition, **more}))
    for i, value in enumerate(values):
        running.do(observe(name, PointValueBody(parameters={"x": i / 100}, value=value)))
    return name


def test_records_include_only_results_that_count(running: Service) -> None:
    study, page = studied(running, "s", VALUES), Overview(running)
    assert page.history(study)["records"] == records(VALUES)
    best = VALUES.index(min(VALUES))
    running.do(correct(study, best + 1, {"excluded": True}, None))
    without = [math.inf if i == best else value for i, value in enumerate(VALUES)]
    assert page.history(study)["records"] == records(without), "cached only until the study changes"


@pytest.mark.long
@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, marks=pytest.mark.long),
        {"algorithm": {"profile": "auto"}, "outcome_constraints": [{"metric": "m", "upper": 0.0}]},
    ],
    ids=["", "constrained"],
)
def test_records_are_extended_with_new_results(running: Service, more: dict[str, Any]) -> None:
    """Partial results have the same records as complete ones; results that violate a constraint have none."""
    study, page, values = studied(running, "s", [], **more), Overview(running), list[float]()
    for i, value in enumerate(VALUES):
        metrics = {"metrics": {"m": float(i % 4 == 1)}} if more else {}
        point = PointValueBody.model_validate({"parameters": {"x": i / 100}, "value": value, **metrics})
        running.do(observe(study, point))
        values.append(math.inf if metrics and i % 4 == 1 else value)
        if i % 3 == 0:
            assert page.history(study)["records"] == records(values)
    assert len(records(values)) > 3


def test_records_of_exactly_one_page_of_results_are_found(running: Service) -> None:
    """With outcome constraints, the results are read in pages; here the first page is full, and no other follows."""
    study = studied(running, "s", [], algorithm={"profile": "auto"}, outcome_constraints=[{"metric": "m", "upper": 0}])
    items = [Value(1.0 - i / 1000, parameters={"x": i / 1000}, metrics={"m": 0.0}) for i in range(ROWS_PER_PAGE)]
    observe_batch(running, study, items)
    assert len(Overview(running).history(study)["records"]) == ROWS_PER_PAGE
    listed = Overview(running).studies("", None, 0, 10)
    assert listed.lines[0].best_so_far.worst == 1.0


def test_many_results_are_thinned_to_their_extremes_and_a_sample(running: Service) -> None:
    study = studied(running, "s", VALUES)
    whole = Overview(running).history(study)["results"]
    assert [each["value"] for each in whole] == VALUES
    assert all(each["is_sampled"] for each in whole)
    thinned = Overview(running, most_results=10).history(study)
    runs = [VALUES[start : start + 8] for start in range(0, 40, 8)]
    sample = sampled(len(VALUES), 10)
    kept = {extreme for run in runs for extreme in (min(run), max(run))} | {VALUES[seq - 1] for seq in sample}
    assert {each["value"] for each in thinned["results"]} == kept
    assert {each["seq"] for each in thinned["results"] if each["is_sampled"]} == sample
    assert thinned["count"] == len(VALUES)


@pytest.mark.parametrize("count", [3000, 20_000])
def test_a_sample_makes_no_bands(count: int) -> None:
    """As many results of the sample are in the middle as of all results, where the extremes of each group are not."""
    values = np.random.default_rng(1).normal(size=count)
    is_middle = np.abs(values) < 0.5
    sample = np.array(sorted(sampled(count, 1500))) - 1
    assert len(sample) == pytest.approx(1500, rel=0.1)
    assert is_middle[sample].mean() == pytest.approx(is_middle.mean(), abs=0.05)
    counts, _ = np.histogram(sample, bins=10, range=(0, count))
    assert counts.min() > 100, "from all parts of the study"


def test_a_sample_changes_little_when_a_study_grows() -> None:
    assert sampled(1500, 1500) == set(range(1, 1501))
    before, after = sampled(10_000, 1500), sampled(12_000, 1500)
    assert {seq for seq in after if seq <= 10_000} < before
    assert sampled(0, 1500) == set()


def test_coverage_counts_all_results_of_a_large_study(running: Service) -> None:
    more = {"parameters": [*SPACE, {"name": "kind", "kind": "categorical", "choices": ["a", "b"]}]}
    study = studied(running, "s", [], **more)
    for i, value in enumerate(VALUES):
        parameters = {"x": i / 100, "kind": "ab"[i % 2]}
        running.do(observe(study, PointValueBody(parameters=parameters, value=value)))
    running.do(correct(study, 1, {"excluded": True}, None))
    found = Overview(running, most_results=10).tried(study, ["x", "kind"], [[0, 0.1, 1], []], None)
    assert [(each.parts, each.results, each.failed) for each in found] == [
        ((0, 0), 4, 0),  # without the excluded one
        ((0, 1), 5, 0),
        ((1, 0), 15, 0),
        ((1, 1), 15, 0),
    ]
    assert (found[1].low, found[1].high) == (min(VALUES[1:10:2]), max(VALUES[1:10:2]))


def test_history_has_the_gap_as_of_each_suggestion(running: Service) -> None:
    study, page = studied(running, "s", VALUES[:1]), Overview(running)
    known: list[float | None] = [None]  # the first point is user-supplied
    for number, value in enumerate(VALUES[1:5], 1):
        known.append(recommendation(running, study).gap)
        running.do(suggest(study, SuggestBody()))
        running.do(observe(study, TrialValueBody(trial=number, value=value)))
    assert len(set(known)) == 5
    assert [each["gap"] for each in page.history(study)["results"]] == known


def test_natural_bounds_limit_the_gap(running: Service) -> None:
    """In a study that minimizes a quantity of at least 0.9 and has the best result 1, at most 0.1 can be gained."""
    study, page = studied(running, "s", [3.0, 1.0, 2.0]), Overview(running)
    running.do(suggest(study, SuggestBody()))
    running.do(observe(study, TrialValueBody(trial=1, value=2.5)))
    unlimited = running.do(get(study)).view.gap
    assert unlimited is not None
    assert unlimited > 0.2
    running.do(change(study, {"quantities": {"value": {"low": 0.9}}}))
    outlook = assessment(running, study).outlook
    shown = [
        running.do(get(study)).view.gap,
        recommendation(running, study).gap,
        outlook.gap,
        page.history(study)["results"][-1]["gap"],
    ]
    assert shown == [pytest.approx(0.1)] * 3 + [None]  # without an explanation, this number would be misleading
    assert outlook.text.startswith("It is too early to say. ") or "best possible result" in outlook.text
    running.do(change(study, {"quantities": {"value": {"low": -50.0}}}))
    assert running.do(get(study)).view.gap == unlimited


def test_the_list_doubts_the_same_best_result_as_the_page(running: Service) -> None:
    """An outlier, until it is corrected, and a result beyond a natural bound."""
    values = [float(round(30 - (i - 9) ** 2 / 4)) for i in range(20)]
    study = studied(running, "s", values, algorithm={"profile": "auto"}, direction="maximize")
    page = Overview(running)

    def is_doubted() -> bool:
        told = assessment(running, study).progress.is_doubted
        running.do(replace(get(study), stores_model_stats=True))
        (line,) = page.studies("", None, 0, 10).lines
        assert line.is_doubted == told
        return told

    assert not is_doubted()
    running.do(correct(study, 4, {"value": 340.5}, None))
    assert is_doubted()
    (line,) = page.studies("", None, 0, 10).lines
    assert (line.study.best, line.repeated) == (340.5, None)
    without = [-value for value in values]
    without[3] = math.inf
    rising = [(seq, -value) for seq, value in records(without)]
    assert line.best_so_far.records == rising, "the curve of the best result so far leaves it out, and goes on after it"
    running.do(correct(study, 4, {"value": values[3]}, None))
    assert not is_doubted()
    running.do(change(study, {"quantities": {"value": {"high": 20.0}}}))
    assert is_doubted()
    running.do(observe(study, PointValueBody(parameters={"x": 0.08}, value=28.0)))
    (line,) = page.studies("", None, 0, 10).lines
    assert line.repeated is not None
    assert (line.repeated.count, line.repeated.mean) == (2, 29.0)
    assert best_listed(line.study, line.repeated) == "29"
    asked: list[str] = []

    def note(*told: Any) -> None:
        asked.append(told[2])

    sa.event.listen(running.database.engine, "before_cursor_execute", note)
    try:
        assert page.studies("", None, 0, 10).lines == [line]
    finally:
        sa.event.remove(running.database.engine, "before_cursor_execute", note)
    assert asked
    assert not [each for each in asked if "FROM observations" in each], "a list of unchanged studies reads no results"


def test_learning_curves_can_be_selected(running: Service) -> None:
    study, page = studied(running, "s", [], algorithm={"kind": "random"}, direction="maximize"), Overview(running)
    for number, value in enumerate((3.0, 9.0, 5.0, 7.0), start=1):
        running.do(suggest(study, SuggestBody()))
        running.do(report(study, number, OneReportBody(step=1, value=value)))
        if number < 4:
            running.do(observe(study, TrialValueBody(trial=number, value=value)))

    def numbers(**which: Any) -> list[int]:
        return [each["trial"] for each in page.curves(study, **which)]

    assert numbers() == [1, 2, 3, 4]
    assert numbers(best=2) == [2, 3], "the fourth trial has no result yet"
    assert numbers(numbers=[4, 1, 8]) == [1, 4]


def test_studies_are_found_by_id_tag_and_state_newest_first(running: Service) -> None:
    page = Overview(running)
    for name, tags in (("alpha", {"owner": "Anna"}), ("beta", {"owner": 'Jürgen "ben"'}), ("gamma_1", {})):
        studied(running, name, [1.0], tags=tags)
        running.clock.advance(1)  # type: ignore[attr-defined]

    def found(text: str = "", state: str | None = None, offset: int = 0, limit: int = 10) -> list[str]:
        return [line.study.id for line in page.studies(text, state, offset, limit).lines]  # type: ignore[arg-type]

    assert found() == ["gamma_1", "beta", "alpha"]
    assert found(offset=1, limit=1) == ["beta"]
    assert found("ANNA") == ["alpha"]
    assert found("jürgen") == found('"BEN"') == ["beta"]
    assert found("a_") == ["gamma_1"], "no character of a search is special"
    assert found("%") == []
    assert found(state="paused") == []
    assert page.studies("a", None, 0, 10).counts == {"running": 3}


def test_rows_can_be_sorted_with_missing_values_last(running: Service) -> None:
    study, page = studied(running, "s", []), Overview(running)
    for worker in ("anna", "ben", "anna"):
        running.do(suggest(study, SuggestBody(worker=worker)))
    for trial, value in ((1, 5.0), (2, 7.0)):
        running.do(observe(study, TrialValueBody(trial=trial, value=value)))

    def found(sort: str, *, descending: bool = False, kind: RowKind | None = None, worker: str = "") -> list[int]:
        listed = page.table(study, kind, worker, Sort(sort, is_descending=descending), 0, 10)
        return [line.trial.number for line in listed.lines if line.trial is not None]

    assert found("value") == [1, 2, 3]
    assert found("value", descending=True) == [2, 1, 3]
    assert found("trial", descending=True) == [3, 2, 1]
    assert found("worker", worker="ANN") == [1, 3]
    assert found("trial", kind="open") == [3]
    assert page.table(study, None, "", Sort("when"), 1, 1).count == 3
    assert [trial.number for trial in page.timeline(study)] == [1, 2, 3]
    assert [result.value for result in page.results_of(study, 2)] == [7.0]
    with pytest.raises(StudyNotFound):
        page.history("nowhere")
