"""Catalogues in studies: rows are suggested once, and can be added and withdrawn while the study runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from adabkb_service.contract.requests import PatchStudyBody
from adabkb_service.errors import Invalid
from adabkb_service.operations.model.predict import recommendation
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.studies.read import list_events
from adabkb_service.storage import studies
from adabkb_service.storage.catalogues import Pieces, keep
from adabkb_service.storage.database import Database
from tests.integration.operations.complete_log import assert_log_is_complete
from tests.integration.operations.conftest import OF_THE_PAPER, SYSTEMS, ManualClock, definition
from tests.integration.operations.verbs import Ask, Value, change, get, observe, queue, suggest
from tests.samples import some

HEADS = "molecule,size,polarity"


def table(count: int, first: int = 0) -> str:
    """Rows with seeded random numbers; a row has the same numbers in each table."""
    lines = (
        f"m{row},{','.join(map(str, np.random.default_rng(row).normal(size=2).round(3)))}"
        for row in range(first, first + count)
    )
    return "\n".join([HEADS, *lines])


def catalogue(count: int, **fields: Any) -> dict[str, Any]:
    return {"name": "molecule", "kind": "catalogue", "table": table(count), **fields}


def value_of(molecule: str) -> float:
    return float(((np.random.default_rng(int(molecule[1:])).normal(size=2) - 0.5) ** 2).sum())


def study(running: Service, count: int, *parameters: dict[str, Any], **fields: Any) -> None:
    create(running, definition(parameters=[catalogue(count), *parameters], direction="minimize", **fields))


def evaluated(running: Service, count: int) -> list[str]:
    """Evaluate a number of trials one after the other, and return their molecules."""
    found = []
    for _ in range(count):
        (trial,) = suggest(running, "s", Ask()).view.trials
        found.append(trial.parameters["molecule"])
        observe(running, "s", Value(value_of(found[-1]), trial.number))
    return found


def changed(running: Service, **fields: Any) -> Any:
    body = PatchStudyBody.model_validate({"catalogues": {"molecule": fields}})
    return change(running, "s", body.changes()).view


def test_rows_are_suggested_once_and_added_rows_resume_the_study(running: Service) -> None:
    study(running, 9)
    assert sorted(evaluated(running, 9)) == [f"m{row}" for row in range(9)]
    over = suggest(running, "s", Ask()).view
    assert (over.trials, over.reason) == ([], "exhausted")
    changed(running, add=table(2, first=9))
    assert sorted(evaluated(running, 2)) == ["m10", "m9"]


def test_rows_are_repeated_under_declared_noise(running: Service) -> None:
    study(running, 3, noise_std=0.1)
    assert len(evaluated(running, 8)) == 8


def test_several_workers_get_different_rows(running: Service) -> None:
    study(running, 12)
    trials = suggest(running, "s", Ask(8)).view.trials
    assert len({trial.parameters["molecule"] for trial in trials}) == 8


@pytest.mark.long
def test_withdrawn_row_is_not_suggested_but_its_result_counts(
    database: Database, clock: ManualClock, running: Service
) -> None:
    study(running, 30)
    best = min(evaluated(running, 8), key=value_of)
    rest = [f"m{row}" for row in range(30) if row % 3 == 0]
    shown = changed(running, withdraw=[best, *rest])
    assert shown.parameters[0].withdrawn == len({best, *rest})
    assert shown.best.parameters == {"molecule": best}
    assert not {best, *rest} & set(evaluated(running, 10))
    changed(running, restore=rest)
    assert set(rest) & set(evaluated(running, 5) + evaluated(running, 5))
    assert_log_is_complete(database, clock, running)


X = {"name": "x", "kind": "float", "low": 0, "high": 1}
Y = {**X, "name": "y"}


@pytest.mark.parametrize(
    ("more", "fields"),
    some(
        [((), {}), ((), {"noise_std": 0.1}), ((X,), {}), ((X, Y), {"mixtures": [{"parameters": ["x", "y"]}]})],
        [((), {})],
    ),
    ids=["without noise", "with noise", "with a number", "with a mixture"],
)
def test_study_with_all_rows_withdrawn_waits_for_others(
    running: Service, more: tuple[dict[str, Any], ...], fields: dict[str, Any]
) -> None:
    study(running, 5, *more, **fields)
    evaluated(running, 2)
    changed(running, withdraw=[f"m{row}" for row in range(5)])
    over = suggest(running, "s", Ask()).view
    assert (over.trials, over.reason) == ([], "exhausted")
    changed(running, restore=["m4"])
    changed(running, add=table(1, first=5))
    assert set(evaluated(running, 1)) <= {"m4", "m5"}


def test_rows_excluded_by_constraints_are_not_suggested(
    database: Database, clock: ManualClock, running: Service
) -> None:
    rules = ['molecule not in ["m1", "m2"]', 'not (molecule == "m3" and x > 0.5)']
    study(running, 6, X, constraints=rules)
    for _ in range(8):
        (trial,) = suggest(running, "s", Ask()).view.trials
        molecule, x = trial.parameters["molecule"], trial.parameters["x"]
        assert molecule not in ("m1", "m2")
        assert molecule != "m3" or x <= 0.5
        observe(running, "s", Value(value_of(molecule), trial.number))
    with pytest.raises(Invalid, match="violates the study's constraint molecule not in"):
        queue(running, "s", {"molecule": "m2", "x": 0.1})
    with pytest.raises(Invalid, match="leaves no point that satisfies"):
        suggest(running, "s", Ask(fixed={"molecule": "m3", "x": 0.9}))
    assert_log_is_complete(database, clock, running)


def test_study_needs_a_row_that_satisfies_its_constraints(running: Service) -> None:
    with pytest.raises(Invalid) as refused:
        study(running, 5, X, constraints=['molecule in ["m1", "m2"]', 'molecule != "m1"', 'molecule != "m2"'])
    assert "together" in str(refused.value.errors[0].detail)
    study(running, 5, X, constraints=['molecule in ["m1", "m2"]'])
    changed(running, withdraw=["m1"])
    with pytest.raises(Invalid) as refused:
        changed(running, withdraw=["m2"])
    assert "cannot be combined with the study's constraints.0" in str(refused.value.errors[0].detail)
    assert set(evaluated_with(running, 3)) == {"m2"}


def evaluated_with(running: Service, count: int) -> list[str]:
    """The molecules of a number of trials that are all pending."""
    return [trial.parameters["molecule"] for trial in suggest(running, "s", Ask(count)).view.trials]


def test_recommendation_stays_near_the_row_of_a_baseline(running: Service) -> None:
    study(running, 30, X, baseline={"molecule": "m4", "x": 0.25}, seed=1)
    for row in range(12):
        point = {"molecule": f"m{row}", "x": 0.25}
        observe(running, "s", Value(1.0 if row in (4, 9) else 3.0, parameters=point))
    observe(running, "s", Value(0.99, parameters={"molecule": "m9", "x": 0.75}))

    def near() -> Any:
        return recommendation(running, "s").model

    assert near().parameters == {"molecule": "m4", "x": 0.25}
    changed(running, withdraw=["m4"])
    assert near().parameters["molecule"] != "m4"


@pytest.mark.long
def test_older_study_with_the_same_catalogue_is_used(database: Database, clock: ManualClock, running: Service) -> None:
    create(running, definition(id="old", parameters=[catalogue(40)], direction="minimize"))
    for row in range(20):
        observe(running, "old", Value(value_of(f"m{row}"), parameters={"molecule": f"m{row}"}))
    study(running, 30, transfer_from=["old"])
    best = min((f"m{row}" for row in range(20)), key=value_of)
    assert best in evaluated(running, 3)
    changed(running, add=table(3, first=30), withdraw=["m5"])
    evaluated(running, 2)
    assert_log_is_complete(database, clock, running)


def test_change_without_effect_creates_no_event(running: Service) -> None:
    study(running, 5)
    once = changed(running, withdraw=["m1"])
    assert changed(running, withdraw=["m1"]).revision == once.revision
    assert changed(running, restore=["m2"]).revision == once.revision
    same = PatchStudyBody.model_validate({"parameters": [catalogue(5)]}).changes()
    replaced = change(running, "s", same).view
    assert replaced.parameters[0].model_dump()["withdrawn"] == 0
    assert replaced.revision == once.revision + 1
    assert change(running, "s", same).view.revision == replaced.revision


def test_waiting_trial_in_a_withdrawn_row_is_withdrawn(running: Service) -> None:
    study(running, 20)
    waiting = queue(running, "s", {"molecule": "m3"}).view
    changed(running, withdraw=["m3"])
    assert "m3" not in evaluated(running, 19)
    with running.database.reading() as connection:
        row = studies.get(connection, "s")
    assert (row.withdrawn, row.failed, row.completed, waiting.number) == (1, 0, 19, 1)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"withdraw": ["m99"]}, "has 'm99', which is not a row"),
        ({"restore": ["m99"]}, "has 'm99', which is not a row"),
        ({"add": table(2)}, "line 2 names 'm0', which is already in the catalogue"),
        ({"add": f"{HEADS}\n\nm50,1,2\n\nm0,1,2"}, "line 5 names 'm0', which is already in the catalogue"),
        ({"add": "molecule,size\nm50,1"}, "line 1 has the columns size"),
        ({"add": "\n\nmolecule,size\nm50,1"}, "line 3 has the columns size"),
        ({"add": f"{HEADS}\nm50,1,2\nm51,1,wet"}, "line 3 has 'wet' in column 'polarity'"),
    ],
)
def test_invalid_change_has_no_effect(running: Service, fields: dict[str, Any], words: str) -> None:
    study(running, 10)
    before = get(running, "s")
    with pytest.raises(Invalid) as refused:
        changed(running, **fields)
    (fault,) = refused.value.errors
    assert words in str(fault.detail)
    assert fault.pointer == f"/catalogues/molecule/{next(iter(fields))}"
    assert get(running, "s") == before


def test_withdrawn_row_cannot_be_queued_or_fixed(running: Service) -> None:
    study(running, 10)
    changed(running, withdraw=["m1"])
    for refused in (
        lambda: queue(running, "s", {"molecule": "m1"}),
        lambda: suggest(running, "s", Ask(fixed={"molecule": "m1"})),
    ):
        with pytest.raises(Invalid, match="withdrawn from the catalogue"):
            refused()


@pytest.mark.long
def test_other_parameters_are_chosen_with_a_row(database: Database, clock: ManualClock, running: Service) -> None:
    study(running, 6000, {"name": "x", "kind": "float", "low": 0, "high": 1})
    for step in range(12):
        fixed = {"molecule": "m7"} if step == 6 else None
        (trial,) = suggest(running, "s", Ask(fixed=fixed)).view.trials
        assert trial.parameters["molecule"] == "m7" or step != 6
        x = trial.parameters["x"]
        observe(running, "s", Value(value_of(trial.parameters["molecule"]) + (x - 0.3) ** 2, trial.number))
    assert_log_is_complete(database, clock, running)


def test_study_row_and_events_do_not_grow_with_the_catalogue(database: Database, running: Service) -> None:
    study(running, 5000)
    with database.reading() as connection:
        row = studies.get(connection, "s")
    assert len(str(row.definition)) < 3000
    (created,) = list_events(running, "s", 0, 1).items
    assert len(str(created.payload)) < 5000
    assert created.payload["definition"]["parameters"][0]["table"].startswith(HEADS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no rows"),
        (HEADS, "has no rows"),
        ("molecule\nm1", "line 1 has only one column"),
        ("molecule,size,size\nm1,1,2", "line 1 has the name 'size' for columns 2 and 3; give each a different name"),
        ("\nmolecule,size, \nm1,1,2", "line 2 has no name of 1 to 200 characters for column 3"),
        (f"{HEADS}\nm1,1", "line 2 has 2 cells, but the header has 3"),
        (f"{HEADS}\nm1,1,2\nm2,1,", "line 3 has '' in column 'polarity'"),
        (f"{HEADS}\nm1,1,2\nm2,nan,2", "line 3 has 'nan' in column 'size'"),
        (f"{HEADS}\nm1,1,2\n\nm1,1,2", "line 4 names 'm1', as does line 2"),
        (f"{HEADS}\n ,1,2", "line 2 has no name"),
        (f"{HEADS.replace(',', ';')}\nm1;1,5;wet", "line 2 has 'wet' in column 'polarity'"),
    ],
)
def test_invalid_table_is_rejected_with_line_and_column(text: str, words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        definition(parameters=[{"name": "molecule", "kind": "catalogue", "table": text}])
    (fault,) = refused.value.errors()
    assert words in fault["msg"]


@pytest.mark.parametrize("system", [SYSTEMS[name] for name in OF_THE_PAPER])
def test_other_systems_reject_catalogues(system: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="does not support catalogues"):
        definition(parameters=[catalogue(3)], algorithm=system)


def test_clients_must_send_the_table_itself(running: Service) -> None:
    study(running, 3)
    known = get(running, "s").parameters[0].model_dump(mode="json")
    with pytest.raises(ValidationError, match="needs its table"):
        definition(id="t", parameters=[known])
    assert get(running, "s") == change(running, "s", {"parameters": [known]}).view


def test_table_dropped_from_the_cache_is_read_again(running: Service) -> None:
    study(running, 20)
    evaluated(running, 2)
    many = "x" * 10_000_000
    for number in range(30):  # more than a process caches
        keep(Pieces(many, ({"add": str(number)},)))
    changed(running, withdraw=["m3"])
    assert "m3" not in evaluated(running, 2)
    assert get(running, "s").parameters[0].model_dump()["withdrawn"] == 1


def test_rows_with_weights_are_tried_first(database: Database, clock: ManualClock, running: Service) -> None:
    weights = {"m7": 2.0, "m30": 100.0, "m31": 50.0}
    study(running, 40, prior={"molecule": {"weights": weights}})
    assert evaluated(running, 1) == ["m30"]
    evaluated(running, 3)
    changed(running, add=table(5, first=40))
    evaluated(running, 2)
    assert_log_is_complete(database, clock, running)


@pytest.mark.long
def test_wrong_weights_of_rows_are_outweighed_by_results(running: Service) -> None:
    best = min((f"m{row}" for row in range(40)), key=value_of)
    worst = sorted((f"m{row}" for row in range(40)), key=value_of)[-5:]
    study(running, 40, prior={"molecule": {"weights": dict.fromkeys(worst, 1000.0)}})
    assert best in evaluated(running, 20)


def test_withdrawn_row_with_a_weight_is_not_suggested(running: Service) -> None:
    study(running, 40, prior={"molecule": {"weights": {"m30": 100.0, "m31": 50.0}}})
    changed(running, withdraw=["m30"])
    assert evaluated(running, 1) == ["m31"]


def test_weight_of_an_unknown_row_is_rejected() -> None:
    with pytest.raises(ValidationError, match="is not a choice of this parameter"):
        definition(parameters=[catalogue(9)], prior={"molecule": {"weights": {"m10": 2.0}}})
