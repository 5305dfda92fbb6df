"""Each call of the client against the real server."""

import csv
import io
import json
import math
import sys

import numpy as np
import pytest

from adabkb_client import (
    Bool,
    Categorical,
    Client,
    Conflict,
    Fixed,
    Float,
    Int,
    Invalid,
    NotFound,
    NoTrialAvailable,
    Ordinal,
    Parameter,
    ResultItem,
    Study,
    StudyComplete,
)
from adabkb_service.storage import idempotency
from adabkb_service.storage.database import Database


def test_every_kind_of_parameter_comes_back_as_its_type(client: Client) -> None:
    study = client.create_study(
        "kinds",
        {
            "rate": Float(1e-4, 1.0, log=True),
            "layers": Int(1, 9, step=2),
            "batch": Ordinal([16, 32, 64]),
            "loss": Categorical(["l1", "l2"]),
            "bias": Bool(),
            "dropout": Float(0, 0.5, step=0.1),
            "depth": Categorical([None, 3, "full", 0.5, True]),
            "widths": Ordinal([(64,), (64, 64), [128, 64]]),
            "seed": Fixed(7),
            "tags": Fixed(("a", None)),
        },
        direction="minimize",
        seed=1,
    )
    for trial in study.suggest(8):
        point = trial.parameters
        assert 1e-4 <= point["rate"] <= 1.0
        assert point["layers"] in {1, 3, 5, 7, 9}
        assert point["batch"] in {16, 32, 64}
        assert point["loss"] in {"l1", "l2"}
        assert isinstance(point["bias"], bool)
        assert point["dropout"] in {0.0, 0.1, 0.2, 0.3, 0.4, 0.5}
        assert point["depth"] in [None, 3, "full", 0.5, True]
        assert point["widths"] in {(64,), (64, 64), (128, 64)}
        assert (point["seed"], point["tags"]) == (7, ("a", None))
        assert study.observe(trial, 1.0).trial


def test_choices_of_every_type_are_returned_unchanged(client: Client) -> None:
    space: dict[str, Parameter] = {
        "depth": Categorical([None, 3, "full"]),
        "widths": Categorical([(64,), (64, 64)]),
        "seed": Fixed(7),
    }
    study = client.create_study("types", space, direction="minimize", seed=1)
    assert client.create_study("types", space, direction="minimize", seed=1).id == "types"
    point = {"depth": None, "widths": (64, 64)}
    study.add_result(point, 0.5)
    study.add_result({**point, "widths": [64], "seed": 7}, 1.5)
    assert [dict(each.parameters) for each in study.observations()] == [
        {"depth": None, "widths": (64, 64), "seed": 7},
        {"depth": None, "widths": (64,), "seed": 7},
    ]
    best = study.best()
    assert best is not None
    assert best.parameters == {**point, "seed": 7}
    assert study.queue({**point, "depth": "full"}).parameters == {"depth": "full", "widths": (64, 64), "seed": 7}
    found = study.recommendation().observed
    assert found is not None
    assert found.parameters["widths"] == (64, 64)
    with pytest.raises(Invalid, match="parameter 'seed': is fixed at 7"):
        study.add_result({**point, "seed": 8}, 0.5)
    with pytest.raises(Invalid, match=r"parameter 'widths': must be one of \[64\], \[64, 64\]"):
        study.add_result({**point, "widths": (64, 64, 64)}, 0.5)


def test_an_unknown_study_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound):
        client.study("nowhere")
    with pytest.raises(NotFound):
        client.study("a..b?c")
    with pytest.raises(ValueError, match="without slashes"):
        client.study("a/../b?c")


@pytest.mark.long
def test_all_studies_are_listed_and_deleted_ones_are_not(client: Client) -> None:
    """The client requests 500 at a time."""
    for number in range(502):
        client.create_study(f"s{number}", {"x": Float(0, 1)}, direction="minimize")
    client.delete_study("s2")
    assert {study.id for study in client.studies()} == {f"s{number}" for number in range(502)} - {"s2"}


def test_a_study_issues_its_budget_and_then_says_why_not(client: Client) -> None:
    study = client.create_study("s", {"x": Float(0, 1)}, direction="minimize", budget=3, seed=1)
    trials = study.suggest(count=5)
    assert len({trial.parameters["x"] for trial in trials}) == 3
    with pytest.raises(NoTrialAvailable) as waiting:
        study.suggest()
    assert not isinstance(waiting.value, StudyComplete)
    assert waiting.value.reason == "budget"
    for trial in trials:
        study.observe(trial, trial.parameters["x"])
    with pytest.raises(StudyComplete) as over:
        study.suggest(count=2)
    assert over.value.reason == "budget"
    study.update(budget=4)
    assert study.suggest().number == 4


def test_asking_for_no_trial_is_refused(study: Study) -> None:
    with pytest.raises(Invalid, match="count"):
        study.suggest(count=0)
    assert study.info().counts.trials == 0


def test_a_trial_of_another_study_is_refused_before_it_is_sent(client: Client, study: Study) -> None:
    other = client.create_study("other", {"x": Float(0, 1)}, direction="maximize", seed=1)
    other.suggest()
    queued = study.queue({"x": 0.5, "y": 2.0})
    leased = study.heartbeat(study.suggest()).trial
    assert leased is not None
    for trial in (queued, leased, *study.trials()):
        for call in (lambda trial: other.observe(trial, 1.0), other.fail, other.heartbeat, other.release):
            with pytest.raises(ValueError, match="belongs to study 's', not to 'other'"):
                call(trial)
    with study.trial() as mine, pytest.raises(ValueError, match="belongs to study 's'"):
        other.observe(mine, 1.0)
    assert other.info().counts.active == 1


def test_a_paused_study_issues_nothing_but_takes_results(study: Study) -> None:
    trial = study.suggest()
    study.pause()
    with pytest.raises(NoTrialAvailable, match="paused"):
        study.suggest()
    assert study.observe(trial, 1.0).study.counts.completed == 1
    study.resume()
    assert study.suggest().number == 2


def test_results_read_back_as_they_were_reported(study: Study) -> None:
    trial = study.suggest()
    study.observe(trial, np.float32(0.5), std_error=0.25, parameters={"x": np.float64(0.125), "y": 3})
    study.add_result({"x": 1, "y": np.int64(2)}, -1.0)
    run, free = study.observations()
    assert (run.trial, run.attempt, run.value, run.std_error) == (trial.number, 1, 0.5, 0.25)
    assert run.parameters == {"x": 0.125, "y": 3}
    assert (free.trial, free.value, free.parameters) == (None, -1.0, {"x": 1, "y": 2})
    best = study.best()
    assert best is not None
    assert best.value == 0.5


def test_the_same_result_again_changes_nothing_and_another_is_a_conflict(study: Study) -> None:
    trial = study.suggest()
    first = study.observe(trial, 1.0)
    assert study.observe(trial.number, 1.0).observation == first.observation
    with pytest.raises(Conflict):
        study.observe(trial, 2.0)
    assert len(list(study.observations())) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_is_refused_before_it_is_sent(study: Study, value: float) -> None:
    trial = study.suggest()
    with pytest.raises(ValueError, match="finite"):
        study.observe(trial, value)
    with pytest.raises(ValueError, match="std_error"):
        study.observe(trial, 1.0, std_error=value)
    with pytest.raises(ValueError, match="parameter 'x' must be a finite number"):
        study.add_result({"x": value, "y": 1.0}, 1.0)


def test_a_batch_tells_the_fate_of_each_item(client: Client) -> None:
    """The client sends 1,000 at a time; here the last item is in the second batch."""
    space = {"x": Float(0, 1), "y": Float(1, 100, log=True)}
    study = client.create_study("s", space, direction="maximize", seed=1, algorithm={"kind": "random"})
    point = {"x": 0.5, "y": 10.0}
    items: list[ResultItem] = [
        {"parameters": point, "value": 1.0},
        {"parameters": {"x": 9}, "value": 1.0},
        *(ResultItem(parameters=point, value=float(number)) for number in range(998)),
        {"trial": 77, "value": 1.0},
    ]
    assert len(study.observe_many(items, dry_run=True)) == 1001
    assert not list(study.observations())
    stored, invalid, *others, unknown = study.observe_many(items)
    assert stored.answer is not None
    assert stored.answer.observation is not None
    assert stored.answer.observation.value == 1.0
    assert isinstance(invalid.error, Invalid)
    assert [other.error for other in others] == [None] * 998
    assert isinstance(unknown.error, NotFound)
    assert len(list(study.observations())) == 999


def test_failed_released_and_queued_trials(study: Study) -> None:
    failed, released = study.suggest(2)
    answer = study.fail(failed, "diverged")
    assert answer.trial is not None
    assert (answer.trial.state, answer.trial.reason) == ("failed", "diverged")
    study.release(released)
    queued = study.queue({"x": 0.75, "y": 2.0})
    assert [trial.number for trial in study.trials(state="queued")] == [queued.number]
    assert study.suggest().number == released.number
    assert study.suggest().parameters == {"x": 0.75, "y": 2.0}


def test_a_suggestion_is_declined_and_a_queued_point_removed(study: Study) -> None:
    queued = study.queue({"x": 0.75, "y": 2.0})
    assert study.withdraw(queued.number).study.counts.withdrawn == 1
    with study.trial() as trial:
        assert trial.number == 2
        trial.withdraw("no XPhos left")
    [first, second] = study.trials(state="withdrawn")
    assert (first.number, second.number, second.reason) == (1, 2, "no XPhos left")
    assert study.retry(second).trial == study.trials(state="released")[0]
    study.observe(study.suggest(), 1.0)
    with pytest.raises(Conflict, match="Trial 2 is completed"):
        study.withdraw(2)


def test_a_point_is_repeated_by_its_trial_or_its_parameters(study: Study) -> None:
    trial = study.suggest()
    study.observe(trial, 1.0, parameters={"x": 0.5, "y": 2.0})
    repeated = [*study.repeat(trial, times=2), *study.repeat(trial.number), *study.repeat({"x": 0.25, "y": 2.0})]
    assert [each.number for each in repeated] == [2, 3, 4, 5]
    assert [each.parameters["x"] for each in repeated] == [0.5, 0.5, 0.5, 0.25]
    assert study.suggest().number == 2
    with pytest.raises(Invalid, match="times"):
        study.repeat(trial, times=0)


def test_failed_trials_are_tried_again(study: Study) -> None:
    first, second, third = study.suggest(3)
    study.observe(first, 1.0)
    study.fail(second, "no such file")
    study.fail(third, "no such file")
    assert [trial.number for trial in study.retry_failed("mended")] == [second.number, third.number]
    assert list(study.trials("failed")) == []
    again = study.suggest()
    assert (again.number, again.attempt) == (second.number, 2)
    with pytest.raises(Conflict, match="only a failed or withdrawn trial can be retried"):
        study.retry(first)
    retried = next(event for event in study.events() if event.kind == "retried")
    assert retried.payload["reason"] == "mended"


def test_a_heartbeat_renews_the_lease(study: Study) -> None:
    trial = study.suggest(lease_seconds=5, worker="me")
    assert trial.worker == "me"
    renewed = study.heartbeat(trial).trial
    assert renewed is not None
    assert trial.leased_until is not None
    assert renewed.leased_until is not None
    assert renewed.leased_until > trial.leased_until


def test_a_heartbeat_stores_no_answer(study: Study, other_sqlite: str) -> None:
    """With thousands of workers, the answers of a day would be most of the database."""
    trial = study.suggest()
    database = Database(other_sqlite)
    with database.reading() as connection:
        before = len(idempotency.of_study(connection, "s"))
    study.heartbeat(trial)
    with database.reading() as connection:
        assert len(idempotency.of_study(connection, "s")) == before == 2  # creation and suggestion
    database.close()


def test_what_the_model_says(study: Study) -> None:
    before = study.recommendation()
    assert (before.model, before.observed) == (None, None)
    for trial in study.suggest(9):
        study.observe(trial, -((trial.parameters["x"] - 0.3) ** 2))
    after = study.recommendation()
    assert after.model is not None
    assert after.observed == study.best()
    assert study.info().gap == after.gap
    prediction = study.predict([after.model.parameters, {"x": 0, "y": 1}])[0]
    assert prediction.mean == pytest.approx(after.model.mean)
    assert prediction.lcb is not None
    assert prediction.ucb is not None
    assert prediction.lcb < after.model.mean < prediction.ucb
    assert study.model()
    assert study.partition()[0]["key"] == "0"
    assert list(study.dictionary())


def test_a_wrong_result_can_be_corrected_or_excluded(study: Study) -> None:
    high = study.add_result({"x": 0.2, "y": 10.0}, 1e6).observation
    low = study.add_result({"x": 0.8, "y": 10.0}, 2.0).observation
    assert high is not None
    assert low is not None
    corrected = study.correct(high.seq, 3.0).observation
    assert corrected is not None
    assert corrected.value == 3.0
    best = study.best()
    assert best is not None
    assert best.value == 3.0
    study.exclude(high.seq)
    best = study.best()
    assert best is not None
    assert best.value == 2.0
    assert [observation.excluded for observation in study.observations()] == [True, False]


def test_a_correction_keeps_what_is_not_given_and_none_removes_a_standard_error(client: Client) -> None:
    study = client.create_study("m", {"x": Float(0, 1)}, direction="minimize", metrics=["time"])
    study.add_result({"x": 0.5}, 1.0, std_error=0.1, metrics={"time": 2.0}, std_errors={"time": 0.2})
    study.correct(1, metrics={"time": 3.0})
    study.correct(1, std_error=None)
    corrected = study.correct(1, std_errors={"time": None}).observation
    assert corrected is not None
    assert (corrected.value, corrected.std_error, corrected.metrics, corrected.std_errors) == (1, None, {"time": 3}, {})
    with pytest.raises(TypeError, match="value must be a number, not None"):
        study.correct(1, None)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="metrics: cannot be null"):
        study.correct(1, metrics=None)  # type: ignore[arg-type]
    for wrong in (None, [0.1]):
        with pytest.raises(TypeError, match="std_errors must be a dict of numbers by metric, not "):
            study.correct(1, std_errors=wrong)  # type: ignore[arg-type]


def test_the_log_is_complete_and_in_order(study: Study) -> None:
    study.observe(study.suggest(), 1.0)
    events = list(study.events())
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    kinds = [event.kind for event in events]
    assert kinds[0] == "created"
    assert kinds.index("suggested") < kinds.index("observed")


def test_the_log_is_read_by_kind(study: Study) -> None:
    """Page by page, as the whole log."""
    study.observe(study.suggest(), 1.0)
    for _ in range(2):
        study.pause()
        study.resume()
    assert [event.kind for event in study.events("paused")] == ["paused"] * 2
    assert [event.kind for event in study.events(["observed", "resumed"])] == ["observed", "resumed", "resumed"]
    assert len(study.events("paused")[:1]) == 1
    with pytest.raises(Invalid, match=r"kind\.0: must be 'created', "):
        list(study.events("stopt"))


def test_a_frame_has_a_row_per_observation(study: Study) -> None:
    study.observe(study.suggest(), 1.5)
    study.add_result({"x": 0.5, "y": 10.0}, 2.5)
    frame = study.to_frame()
    assert frame["value"].tolist() == [1.5, 2.5]
    assert frame["parameters.x"].tolist()[1] == 0.5


def test_a_frame_without_pandas_names_the_package_to_install(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        study.to_frame()


def test_export_is_text_in_the_format_asked_for(study: Study) -> None:
    study.observe(study.suggest(), 1.5)
    assert all(json.loads(line) for line in study.export().splitlines())


def test_an_export_as_csv_has_the_parameters_and_result_of_each_trial(study: Study) -> None:
    trial = study.suggest()
    study.observe(trial, 1.5, std_error=0.25)
    study.add_result({"x": 0.25, "y": 20.0}, 2.5)
    failed = study.suggest()
    study.fail(failed, "no memory")
    rows = list(csv.DictReader(io.StringIO(study.export("csv"))))
    columns = ("trial", "state", "parameters.x", "parameters.y", "value", "std_error", "reason", "observation")
    assert [[row[name] for name in columns] for row in rows] == [
        ["1", "completed", str(trial.parameters["x"]), str(trial.parameters["y"]), "1.5", "0.25", "", "1"],
        ["2", "failed", str(failed.parameters["x"]), str(failed.parameters["y"]), "", "", "no memory", ""],
        ["", "completed", "0.25", "20.0", "2.5", "", "", "2"],
    ]


def test_attributes_of_trials_are_set_read_and_searched(study: Study) -> None:
    with study.trial() as trial:
        assert trial.attributes == {}
        trial.annotate({"host": "n1"})
        trial.annotate({"software": {"torch": "2.9"}})
        trial.annotate({"software": {"numpy": np.int64(2)}})
        assert trial.attributes == {"host": "n1", "software": {"torch": "2.9", "numpy": 2}}
        answer = trial.observe(1.0)
    assert answer.trial is not None
    assert answer.trial.attributes == trial.attributes
    study.annotate(1, {"software": None, "fold": 3, "sizes": [2, 4]})
    second = study.suggest()
    study.annotate(second, {"host": "n2", "fold": 3})
    assert [each.attributes for each in study.trials()] == [
        {"host": "n1", "fold": 3, "sizes": [2, 4]},
        {"host": "n2", "fold": 3},
    ]
    assert [each.number for each in study.trials(attributes={"fold": 3})] == [1, 2]
    assert [each.number for each in study.trials("active", {"fold": np.int64(3)})] == [2]
    assert [each.number for each in study.trials(attributes={"fold": 3, "host": "n1"})] == [1]
    with pytest.raises(Invalid, match=r"attributes: must have names .* without a colon, not 'a:b'"):
        study.annotate(1, {"a:b": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        study.annotate(1, {"a": float("nan")})


def test_the_log_keeps_why_a_trial_is_released(study: Study) -> None:
    study.release(study.suggest(), "no sample")
    with study.trial() as trial:
        trial.release("no sample either")
    released = [event.payload.get("reason") for event in study.events() if event.kind == "released"]
    assert released == ["no sample", "no sample either"]
