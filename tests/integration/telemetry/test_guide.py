"""docs/telemetry.md: its log lines match the server's, its code runs, and its Prometheus settings are valid."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import yaml
from opentelemetry.sdk.trace import TracerProvider

from adabkb_client import Client, Float
from adabkb_service.telemetry.logs import FACTS, JsonLines, TextLines
from tests.acceptance.docs import blocks
from tests.servers import server_on

PAGE = blocks.DOCS / "telemetry.md"
DEPLOY = blocks.DOCS.parent / "deploy"
*SCRAPED, LINES, PROGRAM = blocks.blocks(PAGE)


def test_log_lines_match_the_page() -> None:
    path = "/v1/studies/svm/suggest"
    record = logging.makeLogRecord(
        {
            "created": datetime(2026, 11, 23, 10, 5, 13, 120_000, UTC).timestamp(),
            "levelname": "INFO",
            "name": "adabkb.access",
            "msg": f"POST {path} 200 in 3.1 ms",
            "facts": {"method": "POST", "path": path, "status": 200, "milliseconds": 3.1},
        }
    )
    facts = {"request_id": "5d1c", "address": "10.0.0.7", "user": "ann", "study": "svm", "trial": 12}
    token = FACTS.set(facts)
    try:
        written = [TextLines().format(record), JsonLines().format(record)]
    finally:
        FACTS.reset(token)
    text, document = LINES.text.split("\n", 1)
    for shown, line in zip((text, " ".join(document.split())), written, strict=True):
        assert blocks.matches(shown, line), line


def test_program_runs_and_its_trace_is_sent(other_sqlite: str) -> None:
    names: dict[str, Any] = {"tracer": TracerProvider().get_tracer("program")}
    with server_on(other_sqlite) as url, Client(url) as client:
        names["study"] = client.create_study("s", {"x": Float(0, 1)}, direction="minimize")
        exec(PROGRAM.text, names)
    assert names["trial"].number == 1


def test_prometheus_configuration_targets_each_recipe() -> None:
    """With a token, and in each recipe with a host name that its servers accept."""
    jobs = [job for block in SCRAPED for job in yaml.safe_load(block.text)["scrape_configs"]]
    assert all(job["authorization"].keys() == {"credentials_file"} for job in jobs)
    by_caddy, compose, kubernetes = jobs
    assert (by_caddy["scheme"], by_caddy["tls_config"].keys()) == ("https", {"ca_file"})
    environment = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())["x-server"]["environment"]
    [config] = compose["static_configs"]
    assert {target.removesuffix(":8000") for target in config["targets"]} <= {*environment["ADABKB_HOSTS"].split(",")}
    objects = yaml.safe_load_all((DEPLOY / "kubernetes" / "adabkb.yaml").read_text())
    [deployment] = (each for each in objects if (each["kind"], each["metadata"]["name"]) == ("Deployment", "adabkb"))
    [relabel] = kubernetes["relabel_configs"]
    assert relabel["regex"] == deployment["spec"]["template"]["metadata"]["labels"]["app"]
