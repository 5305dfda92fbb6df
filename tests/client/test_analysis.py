"""Importances, slices and the partition as the client gets them."""

import numpy as np
import pytest

from adabkb_client import Categorical, Client, Fixed, Float, Invalid, Parameter


def test_what_the_model_has_found_out_comes_as_records(client: Client) -> None:
    space: dict[str, Parameter] = {"x": Float(0, 1), "widths": Categorical([(8,), (8, 8)]), "seed": Fixed(7)}
    study = client.create_study("found-out", space, direction="minimize", seed=1)
    assert study.importance().reason == "too_few_results"
    study.observe_many([{"parameters": {"x": x / 4, "widths": (8,), "seed": 7}, "value": x} for x in range(5)])
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
