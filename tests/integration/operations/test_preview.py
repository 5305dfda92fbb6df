"""A preview of a change of a study, and the definition of a study as a template."""

from __future__ import annotations

from typing import Any

import pytest

from adabkb_service.contract.requests import PatchStudyBody
from adabkb_service.contract.study import StudyDefinition
from adabkb_service.errors import Invalid
from adabkb_service.operations.service import Service
from adabkb_service.operations.studies.manage import create
from adabkb_service.operations.studies.preview import preview
from adabkb_service.operations.studies.template import template
from tests.integration.operations.conftest import definition
from tests.integration.operations.test_combinations import FEATURES, made
from tests.integration.operations.verbs import Value, change, edit, get, observe, queue
from tests.samples import some

X = {"name": "x", "kind": "float", "low": 0, "high": 2}


def shown(running: Service, **changes: Any) -> Any:
    return running.do(preview("s", PatchStudyBody.model_validate(changes).changes())).view


def test_preview_describes_a_change_and_stores_nothing(running: Service) -> None:
    create(running, definition())
    for x in (-0.9, 0.5, 1.0):
        observe(running, "s", Value(x, parameters={"x": x, "y": 1.0}))
    queue(running, "s", {"x": -0.5, "y": 1.0})
    before = get(running, "s")
    found = shown(running, parameters=[X], constraints=["x <= 1.5"], stop={"no_gain_for": 9}, budget=20)
    assert (found.results, found.leaving, found.returning, found.withdrawn) == (2, 1, 0, 1)
    assert found.best.value == 0.5
    assert [(each.what, each.before, each.after) for each in found.differences] == [
        ("x", "number, \N{MINUS SIGN}1 to 2", "number, 0 to 2"),
        ("Constraints", "", "x <= 1.5"),
        ("Budget", "no limit", "20 trials"),
        ("Ends early", "", "after 9 results without an improvement"),
    ]
    (x,) = shown(running, prior={"x": {"around": 1, "width": 0.5}}, baseline={"x": 0}).differences
    assert (x.before, x.after) == (
        "number, \N{MINUS SIGN}1 to 2",
        "number, \N{MINUS SIGN}1 to 2; probably best: 1, ± 0.5; in use: 0",
    )
    assert get(running, "s") == before
    edit(running, X)
    assert shown(running, parameters=[{**X, "low": -1}]).returning == 1
    assert shown(running, parameters=[X]).differences == []
    with pytest.raises(Invalid):
        shown(running, constraints=["x > 3"])


@pytest.mark.parametrize(
    "features",
    some(
        [[name] for name in FEATURES if name != "older"],
        [[name] for name in ("constraints", "plates", "mixtures", "prior", "edited")],
    ),
)
def test_template_creates_the_same_study(running: Service, features: list[str]) -> None:
    first = create(running, made(features)).view
    found = running.do(template("s")).view.definition
    second = create(running, StudyDefinition.model_validate({**found, "id": "t", "seed": first.seed})).view
    own = {"id", "created_at", "updated_at"}
    assert second.model_dump(exclude=own) == first.model_dump(exclude=own)


def test_template_has_the_current_limits_and_space(running: Service) -> None:
    create(running, definition(budget=5, stop={"no_gain_for": 3}))
    changes = {"budget": 9, "stop": None, "failure_limit": None, "constraints": ["x < 1"], "parameters": [X]}
    change(running, "s", PatchStudyBody.model_validate(changes).changes())
    found = running.do(template("s")).view.definition
    assert (found["budget"], found["failure_limit"], found["constraints"]) == (9, None, ["x < 1"])
    assert not {"stop", "id", "seed", "space_version", "defaults"} & found.keys()
    assert found["parameters"][0] == X
