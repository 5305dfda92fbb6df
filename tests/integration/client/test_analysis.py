"""Importances, slices and the partition as the client gets them."""

import numpy as np
import pytest

from adabkb_client import Categorical, Client, Fixed, Float, Invalid, Parameter


def test_what_the_model_has_found_out_comes_as_records(client: Client) -> None:
    space: dict[str, Parameter] = {"x": Float(0, 1), "widths": Categorical([(8,), (8, 8)]), "seed": Fixed(7)}
    study = client.create_study("found-out", space, direction="minimize", seed=1)
    assert study.importance().reason == "too_few_results"
    study.observe_many([{"parameters": {"x": x / 8, "widths": (8,), "seed": 7}, "value": x} for x in range(9)])
    found = study.importance()
    assert [each.name for each in found.parameters] == ["x", "widths", "seed"]
    assert found.parameters[0].total > 0.9
    cut = study.slice("widths", "x", points=3, at={"seed": np.int64(7)})
    assert [(axis.name, axis.values) for axis in cut.axes] == [("widths", ((8,), (8, 8))), ("x", (0.0, 0.5, 1.0))]
    assert cut.at == {"seed": 7}
    points = [{"widths": widths, "x": x, "seed": 7} for widths in ((8,), (8, 8)) for x in (0.0, 0.5, 1.0)]
    assert list(cut.predictions) == study.predict(points)
    assert [cell["key"] for cell in study.partition("leaf")] == ["0"]
    with pytest.raises(Invalid, match="'y' is not a parameter of this study"):
        study.slice("y")


def test_an_assessment_comes_as_records_and_is_shown_as_its_sentences(client: Client) -> None:
    space: dict[str, Parameter] = {"x": Float(0, 1), "kind": Categorical(["a", "b"])}
    study = client.create_study("assessed", space, direction="maximize", seed=1)
    assert repr(study.validation()) == "<Validation: none (too_few_results), 0 results>"
    study.observe_many([{"parameters": {"x": x / 15, "kind": "a"}, "value": x % 7 + x / 2} for x in range(16)])
    found, judged = study.assessment(), study.validation()
    assert (found.results, judged.results, len(judged.items)) == (16, 16, 16)
    assert judged.inside is not None
    assert repr(judged).startswith(f"<Validation of 16 results: {judged.inside:.0%} in their 90% intervals, error ")
    assert found.progress.best == study.best()
    assert found.progress.expected is not None
    assert found.findings is not None
    assert dict(found.findings.untried) == {"kind": ("b",)}
    assert found.latest is None
    assert repr(found).startswith(f"<Assessment of 16 results: {found.standing}")
    shown = str(found).splitlines()
    assert shown[:2] == [found.standing, found.progress.text]
    checks = [f"! {each.text}" for each in found.checks]
    verdict = found.verdicts[""]
    assert shown[2:] == [*found.findings.text.splitlines(), found.outlook.text, verdict.text, *checks]
    assert verdict == judged.verdict
    for rows in found.findings.importances.values():
        assert [each.name for each in rows] == ["x", "kind"]
