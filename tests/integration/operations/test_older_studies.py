"""Studies with older ones: snapshots, invalid references, and replays."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from adabkb_service.access.caller import Caller
from adabkb_service.errors import Invalid
from adabkb_service.operations.data.doctor import examine
from adabkb_service.operations.data.export import json_lines
from adabkb_service.operations.data.importing import import_study
from adabkb_service.operations.data.replay import replay
from adabkb_service.operations.data.trash import delete
from adabkb_service.operations.model.why import why
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.studies.transfer import EXAMINED
from adabkb_service.storage import events, grants, observations, studies
from adabkb_service.storage.database import Database
from adabkb_service.storage.rows import ObservationRow, created_row
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, edit, observe, suggest

X = {"name": "x", "kind": "float", "low": -1, "high": 2}
GRID = [(x, y) for x in (-1.0, -0.2, 0.6, 1.4, 2.0) for y in (0.01, 0.2, 5.0, 100.0)]


def loss(x: float, y: float) -> float:
    """A function with its minimum at (0.6, 5)."""
    return (x - 0.6) ** 2 + (0.0 if y == 5.0 else 1.0)


def with_older(running: Service, **changes: Any) -> None:
    """A study with results on a grid."""
    create(running, definition(id="older", **changes))
    for x, y in GRID:
        observe(running, "older", Value(loss(x, y), parameters={"x": x, "y": y}))


def snapshots(database: Database, study: str = "s") -> list[dict[str, Any]]:
    """The snapshots of older studies in a study."""
    with database.reading() as connection:
        return created_row(events.page(connection, study, 0, 1)).payload["older"]


def faults(running: Service, caller: Caller | None = None, **changes: Any) -> dict[str, str]:
    """The errors in the definition of a study, by pointer."""
    with pytest.raises(Invalid) as refusal:
        create(running, definition(**changes), None, *([] if caller is None else [caller]))
    return {error.pointer: error.detail for error in refusal.value.errors}


def test_study_begins_where_the_older_one_was_good_and_outlives_it(
    database: Database, clock: ManualClock, running: Service
) -> None:
    with_older(running)
    shown = create(running, definition(transfer_from=["older"])).view.model_dump(mode="json")
    assert shown["transfer_from"] == ["older"]
    delete(running, "older")
    for _ in range(6):
        (trial,) = suggest(running, "s", Ask()).view.trials
        observe(running, "s", Value(loss(trial.parameters["x"], trial.parameters["y"]) * 2 + 7, trial.number))
        if trial.number == 2:
            assert trial.parameters["x"] == pytest.approx(0.6, abs=0.3)
            assert 1.0 < trial.parameters["y"] < 25.0
    decisions = [why(running, "s", number).decision for number in (1, 2)]
    assert [decision and decision.trust for decision in decisions] == [{"older": 0.0}, {"older": 1.0}]
    assert decisions[0] is not None
    assert "The model ignored the older study older." in decisions[0].in_words
    assert decisions[1] is not None
    assert "The model used the older study older with a trust of 1 " in decisions[1].in_words
    assert replay(running, "s").diverged == []
    assert list(examine(database)) == []
    lines = list(json_lines(running, "s"))
    before = suggest(running, "s", Ask()).view.trials[0].parameters
    delete(running, "s")
    import_study(database, lines)
    assert suggest(Service(database, clock=clock), "s", Ask()).view.trials[0].parameters == before
    assert create(running, definition(transfer_from=["older"])).created is False, (
        "the older study may have been deleted"
    )


def test_study_without_older_ones_has_no_such_field(database: Database, running: Service) -> None:
    shown = create(running, definition()).view.model_dump(mode="json")
    assert "transfer_from" not in shown
    (trial,) = suggest(running, "s", Ask()).view.trials
    decision = why(running, "s", trial.number).model_dump(mode="json")["decision"]
    assert "trust" not in decision
    with database.reading() as connection:
        log = events.page(connection, "s", 0)
    assert log[0].payload.keys() == {"definition", "seed"}
    assert "trust" not in log[1].payload


def test_older_values_are_mapped_to_the_new_space(database: Database, running: Service) -> None:
    with_older(running)
    narrower = {"name": "x", "kind": "float", "low": 0, "high": 2}
    create(
        running,
        definition(
            direction="maximize", parameters=[{"name": "new", "kind": "bool"}, narrower], transfer_from=["older"]
        ),
    )
    (kept,) = snapshots(database)
    assert kept["parameters"] == ["x"]
    assert sorted({x for (x,) in kept["points"]}) == pytest.approx([0.3, 0.7, 1.0])
    best = max(zip(kept["outputs"], kept["points"], strict=True))
    assert best[1] == [0.3], "a good point is assumed to be good here, although the older study minimized"
    suggest(running, "s", Ask())
    assert replay(running, "s").diverged == []


def test_snapshot_is_bounded_and_has_the_best_results(database: Database, running: Service) -> None:
    create(running, definition(id="older"))
    count = 3 * EXAMINED
    with database.writing() as connection:
        older = studies.get(connection, "older")
        rows = [
            ObservationRow(
                "older",
                seq,
                None,
                None,
                {"x": -1 + 3 * seq / count, "y": 1.0},
                abs(seq - 1000) / 10.0,
                None,
                False,
                older.created_at,
                None,
                None,
                None,
                None,
            )
            for seq in range(1, count + 1)
        ]
        observations.add(connection, rows)
    create(running, definition(transfer_from=["older"]))
    (kept,) = snapshots(database)
    assert len(kept["points"]) == 100
    xs = sorted(x for x, _ in kept["points"])
    best = [x for x in xs if abs(x - 1000 / count) < 26 / count]
    assert len(best) >= 50
    assert xs[0] < 0.05
    assert xs[-1] > 0.9


def test_unusable_older_studies_are_rejected_with_a_reason(running: Service) -> None:
    with_older(running)
    for name, parameters in {
        "few": [X],
        "other": [{**X, "name": "z"}],
        "whole": [{"name": "x", "kind": "int", "low": 0, "high": 9}],
    }.items():
        create(running, definition(id=name, parameters=parameters))
    objectives = [{"metric": name, "direction": "minimize"} for name in "ab"]
    create(running, definition(id="several", direction=None, objectives=objectives))
    found = faults(running, transfer_from=["older", "few", "other", "whole", "several"])
    assert {place: detail.split(";")[0] for place, detail in found.items()} == {
        "/transfer_from/1": "has too few results within the space of this study (0, and 4 are needed)",
        "/transfer_from/2": "has no parameter in common with this study (with the same name and kind, and not fixed)",
        "/transfer_from/3": "has no parameter in common with this study (with the same name and kind, and not fixed)",
        "/transfer_from/4": "has several objectives, but this study has only one",
    }


def test_unreadable_study_is_reported_like_a_missing_one(database: Database, running: Service) -> None:
    with_older(running)
    somebody = Caller("ann", "work")
    hidden = faults(running, somebody, transfer_from=["older"])
    assert hidden == faults(running, somebody, transfer_from=["nothing"])
    assert "is not a study that you may read" in hidden["/transfer_from/0"]
    with database.writing() as connection:
        grants.replace(connection, "older", {"ann": "read"})
    restricted = Caller("ann", "work", studies=("s",))
    assert faults(running, restricted, transfer_from=["older"]) == hidden
    assert create(running, definition(transfer_from=["older"]), None, somebody).created


@pytest.mark.long
def test_altered_snapshot_in_an_import_is_rejected(database: Database, running: Service) -> None:
    with_older(running)
    create(running, definition(transfer_from=["older"]))
    text = "".join(json_lines(running, "s"))
    delete(running, "s")
    altered = text.replace('"parameters": ["x", "y"]', '"parameters": ["x", "q"]')
    for wrong in (altered, text.replace('"older": [{"study": "older"', '"older": [{"study": "another"')):
        assert wrong != text
        with pytest.raises(Invalid, match="snapshot"):
            import_study(database, wrong.splitlines())


@pytest.mark.long
def test_older_studies_apply_to_the_edited_space(database: Database, clock: ManualClock, running: Service) -> None:
    with_older(running)
    create(running, definition(transfer_from=["older"]))
    (trial,) = suggest(running, "s", Ask()).view.trials
    observe(running, "s", Value(loss(trial.parameters["x"], trial.parameters["y"]), trial.number))
    edit(running, {**X, "low": 0.0})
    (trial,) = suggest(running, "s", Ask()).view.trials
    observe(running, "s", Value(loss(trial.parameters["x"], trial.parameters["y"]), trial.number))
    decision = why(running, "s", trial.number).decision
    assert decision is not None
    assert decision.trust == {"older": 1.0}
    assert 1.0 < trial.parameters["y"] < 25.0
    edit(running, {"name": "x", "kind": "fixed", "value": 0.6}, {"name": "y", "kind": "float", "low": 2, "high": 3})
    (trial,) = suggest(running, "s", Ask()).view.trials
    decision = why(running, "s", trial.number).decision
    assert decision is not None
    assert decision.trust == {"older": 0.0}, "it has no point in the space"
    assert_log_is_complete(database, clock, running)


OBJECTIVES = [{"metric": "error", "direction": "minimize"}, {"metric": "speed", "direction": "maximize"}]


@pytest.mark.long
@pytest.mark.parametrize("of_older", [{"objectives": OBJECTIVES, "direction": None}, {"metrics": ["speed"]}])
def test_several_objectives_use_those_that_the_older_study_measured(
    database: Database, clock: ManualClock, running: Service, of_older: dict[str, Any]
) -> None:
    create(running, definition(id="older", **of_older))
    several = {"objectives": OBJECTIVES, "direction": None}
    for x, y in GRID:
        metrics = {"error": loss(x, y), "speed": -loss(x, y)} if "objectives" in of_older else {"speed": -loss(x, y)}
        value = None if "objectives" in of_older else 1.0
        observe(running, "older", Value(value, parameters={"x": x, "y": y}, metrics=metrics))  # type: ignore[arg-type]
    create(running, definition(transfer_from=["older"], **several))
    kept = snapshots(database)
    assert [each["metric"] for each in kept] == [name for name in ("error", "speed") if name in metrics]
    assert all(len(each["points"]) == len(GRID) for each in kept)
    best = [max(zip(each["outputs"], each["points"], strict=True))[1] for each in kept]
    assert all(point == kept[0]["points"][GRID.index((0.6, 5.0))] for point in best)
    for _ in range(5):
        (trial,) = suggest(running, "s", Ask()).view.trials
        least = loss(trial.parameters["x"], trial.parameters["y"])
        observe(running, "s", Value(None, trial.number, metrics={"error": 2 * least, "speed": 7 - least}))  # type: ignore[arg-type]
    decision = why(running, "s", 2).decision
    assert decision is not None
    assert decision.trust == {"older": len(kept) / 2}, "the mean over the objectives"
    assert_log_is_complete(database, clock, running)


def test_older_study_without_a_common_objective_is_rejected(running: Service) -> None:
    with_older(running)
    several: dict[str, Any] = {"objectives": OBJECTIVES, "direction": None}
    assert faults(running, transfer_from=["older"], **several) == {
        "/transfer_from/0": "measures none of the objectives of this study (error, speed); leave it out, or use the "
        "same names"
    }
    create(running, definition(id="several", **several))
    assert "only one" in faults(running, transfer_from=["several"])["/transfer_from/0"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"transfer_from": ["a", "a"]}, "has 'a' twice"),
        ({"transfer_from": list("abcdef")}, "at most 5 items"),
        *[
            ({"transfer_from": ["a"], "algorithm": algorithm}, "the profile auto can use it")
            for name, algorithm in SYSTEMS.items()
            if name != "auto"
        ],
    ],
)
def test_incompatible_features_are_rejected(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        definition(**changes)


@pytest.mark.parametrize(
    "more",
    [
        {"metrics": ["size"], "outcome_constraints": [{"metric": "size", "upper": 2}]},
        pytest.param({"constraints": ["x <= 1.9"]}, marks=pytest.mark.long),
        pytest.param({"cost": "told", "per_cost": True}, marks=pytest.mark.long),
        pytest.param({"noise_std": 0.1}, marks=pytest.mark.long),
    ],
)
def test_older_studies_work_with_all_other_features(running: Service, more: dict[str, Any]) -> None:
    with_older(running)
    create(running, definition(transfer_from=["older"], **more))
    others: dict[str, Any] = {"metrics": {"size": 1}} if "metrics" in more else {"cost": 1.0} if "cost" in more else {}
    for _ in range(2):
        for trial in suggest(running, "s", Ask(2)).view.trials:
            observe(running, "s", Value(loss(trial.parameters["x"], trial.parameters["y"]), trial.number, **others))
    suggest(running, "s", Ask(fixed={"x": 1.0}))
    assert replay(running, "s").diverged == []
