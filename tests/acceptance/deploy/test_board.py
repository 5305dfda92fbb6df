"""The Grafana dashboard uses only metrics and labels that a server exposes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.api.conftest import DEFINITION
from tests.servers import server_on

BOARD: dict[str, Any] = json.loads((Path(__file__).parents[3] / "deploy" / "grafana" / "adabkb.json").read_text())
NAME = re.compile(r"\b(?:adabkb|process|python)_\w+")
MATCHED = re.compile(r"(\w+)=~?\"([^\"$]*)\"")
ALERTS = (Path(__file__).parents[3] / "docs" / "telemetry.md").read_text().split("### Alerts")[1].split("\n## ")[0]
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}


def expressions() -> list[str]:
    asked = [target["expr"] for panel in BOARD["panels"] for target in panel.get("targets", ())]
    return [*asked, *(variable["query"] for variable in BOARD["templating"]["list"])]


def test_every_metric_and_label_of_the_dashboard_is_exposed(other_sqlite: str) -> None:
    server = server_on(other_sqlite, study_metrics=True, model_processes=1)
    with server as address, httpx.Client(base_url=address, timeout=60) as api:
        api.post("/v1/studies", json=DEFINITION)
        trial = api.post("/v1/studies/s/suggest").json()["trials"][0]["number"]
        api.post("/v1/studies/s/observe", json={"trial": trial, "value": 1.0})
        api.post("/v1/studies/s/suggest")
        families = list(text_string_to_metric_families(api.get("/metrics").text))
    names = {f"{family.name}{suffix}" for family in families for suffix in SUFFIXES[family.type]}
    asked = {name for expression in [*expressions(), ALERTS] for name in NAME.findall(expression)}
    assert asked <= names
    labels = {
        (label, value) for family in families for sample in family.samples for label, value in sample.labels.items()
    }
    for label, pattern in {found for expression in expressions() for found in MATCHED.findall(expression)}:
        if label != "status":  # an expression may filter by it
            assert any(re.fullmatch(pattern, value) for name, value in labels if name == label), (label, pattern)
    by = {
        name.strip()
        for expression in expressions()
        for group in re.findall(r"by \((.*?)\)", expression)
        for name in group.split(",")
    }
    assert by <= {label for label, _ in labels} | {"instance"}


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken
        taken |= cells
