"""Creating studies, and opening those that exist."""

import math
from typing import Any

import numpy as np
import pytest

from adabkb_client import Categorical, Client, Conflict, Float, Invalid, Ordinal, Parameter


def test_creating_again_opens_the_same_study_and_another_definition_is_a_conflict(client: Client) -> None:
    space = {"x": Float(0, 1)}
    first = client.create_study("s", space, direction="minimize", seed=1, budget=3)
    first.observe(first.suggest(), 1.0)
    again = client.create_study("s", space, direction="minimize", seed=1, budget=3)
    assert again.info().counts.completed == 1
    with pytest.raises(Conflict):
        client.create_study("s", {"x": Float(0, 2)}, direction="minimize", seed=1, budget=3)


def test_a_script_that_asks_for_another_budget_learns_how_to_change_it(client: Client) -> None:
    space = {"x": Float(0, 1)}
    study = client.create_study("s", space, direction="minimize", seed=1, budget=16, tags={"a": "1"})
    with pytest.raises(Conflict, match=r"budget 16, not 20; change it with study\.update\(budget=20\).*update=True"):
        client.create_study("s", space, direction="minimize", seed=1, budget=np.int64(20))
    assert study.info().budget == 16
    client.create_study(
        "s", space, direction="minimize", seed=1, budget=np.int64(20), title="T", tags={"a": "2"}, update=True
    )
    info = study.info()
    assert (info.budget, info.tags, info.title, info.description) == (20, {"a": "2"}, "T", None)
    assert repr(info).startswith("<Study 's' (T): running")
    assert [each.id for each in client.studies({"a": "2"})] == ["s"]
    assert not list(client.studies({"a": "1"}))


def test_settings_are_compared_with_what_they_are_now(client: Client) -> None:
    space = {"x": Float(0, 1)}
    study = client.create_study("s", space, direction="minimize", seed=1, budget=3)
    study.update(budget=5, failure_limit=2)
    client.create_study("s", space, direction="minimize", seed=1, budget=5)
    with pytest.raises(Conflict, match=r"update\(budget=3\)"):
        client.create_study("s", space, direction="minimize", seed=1, budget=3)


def test_an_update_changes_nothing_of_a_study_that_differs_in_more(client: Client) -> None:
    study = client.create_study("s", {"x": Float(0, 1)}, direction="minimize", seed=1, budget=3)
    with pytest.raises(Conflict, match=r"parameter 'x': high is 1\.0, not 2\.0"):
        client.create_study("s", {"x": Float(0, 2)}, direction="minimize", seed=1, budget=5, update=True)
    assert study.info().budget == 3


def test_a_space_is_edited_and_opened_by_its_new_definition(client: Client) -> None:
    study = client.create_study("s", {"x": Float(0, 1)}, direction="minimize", seed=1)
    study.add_result({"x": 0.25}, 1.0)
    study.add_result({"x": 0.75}, 2.0)
    wider: dict[str, Parameter] = {"x": Float(0.5, 2), "b": Categorical([(1, 2), None])}
    info = study.update(parameters=wider, defaults={"b": (1, 2)}, budget=5)
    assert (info.space_version, info.defaults, info.budget) == (2, {"b": (1, 2)}, 5)
    assert [each.outside for each in study.observations()] == [True, False]
    best = study.best()
    assert best is not None
    assert best.parameters == {"x": 0.75, "b": (1, 2)}
    assert client.create_study("s", wider, direction="minimize", seed=1)
    with pytest.raises(Conflict, match=r"study\.update\(parameters=\.\.\.\) edits its space"):
        client.create_study("s", {"x": Float(0, 1)}, direction="minimize", seed=1, update=True)
    with pytest.raises(Invalid, match=r"parameter 'y', high: must be greater than low"):
        study.update(parameters={"x": Float(0, 1), "y": Float(2, 1)})
    assert study.update(constraints=["x >= 1"]).constraints == ("x >= 1",)
    assert study.best() is None
    with pytest.raises(TypeError, match=r"constraints=\['x >= 0.5'\]"):
        study.update(constraints="x >= 0.5")
    assert study.update(constraints=[]).constraints == ()


def test_a_study_with_constraints_is_opened_again_and_its_trials_satisfy_them(client: Client) -> None:
    space: dict[str, Parameter] = {"x": Float(0, 1), "y": Float(0, 1)}
    constraints = ["x + y <= 0.5", "y >= x"]
    study = client.create_study("s", space, direction="minimize", constraints=constraints)
    for trial in study.suggest(4):
        assert trial.parameters["x"] + trial.parameters["y"] <= 0.5
        assert trial.parameters["y"] >= trial.parameters["x"]
    assert client.create_study("s", space, direction="minimize", constraints=constraints, update=True)
    assert study.info().constraints == tuple(constraints)
    with pytest.raises(Conflict, match=r"constraints has 2 items, not 1"):
        client.create_study("s", space, direction="minimize", constraints=constraints[:1])
    with pytest.raises(Invalid) as caught:
        client.create_study("bad", space, direction="minimize", constraints=["x <= 1", "x + z <= 1"])
    assert list(caught.value.pointers) == ["/constraints/1"]
    assert "column 5: 'z' is not a parameter (known: x, y)" in str(caught.value)


def test_a_wrong_definition_is_refused_with_the_place_of_the_error(client: Client) -> None:
    with pytest.raises(Invalid) as caught:
        client.create_study("bad", {"x": Float(2, 1)}, direction="minimize")
    assert any(pointer.startswith("/parameters/0") for pointer in caught.value.pointers)
    assert "parameter 'x', high: must be greater than low" in str(caught.value)
    assert str(caught.value).count("must be greater than low") == 1
    assert caught.value.request_id
    assert not list(client.studies())


@pytest.mark.parametrize(
    ("spec", "kind", "message"),
    [
        (Float(0, math.nan), ValueError, "parameter 'x': high must be finite, not nan"),
        (Ordinal([1.0, math.inf]), ValueError, "parameter 'x': values must be finite, not inf"),
        ((0, 1), TypeError, r"parameter 'x' must be declared by Float\(low, high\)"),
    ],
)
def test_a_parameter_that_cannot_be_sent_is_named_with_the_remedy(
    client: Client, spec: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        client.create_study("bad", {"x": spec}, direction="minimize")
