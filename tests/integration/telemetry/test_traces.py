"""Traces from a client's program to the commit, as a collector receives them through the real exporter."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider

from adabkb_client import Client, Float
from adabkb_service.app import create_app
from adabkb_service.settings import Settings
from tests.servers import server_on


@contextmanager
def collector() -> Iterator[tuple[str, list[Span]]]:
    """The address of an OTLP collector, and the received spans."""
    spans: list[Span] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
            self.send_response(200 if self.path == "/v1/traces" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", spans
        server.shutdown()
        thread.join()


def attributes(span: Span) -> dict[str, str]:
    return {each.key: each.value.string_value or str(each.value.int_value) for each in span.attributes}


def test_trace_covers_the_client_program_to_the_commit(other_sqlite: str) -> None:
    tracer = TracerProvider().get_tracer("program")
    with collector() as (address, spans), server_on(other_sqlite, traces=address) as url, Client(url) as client:
        study = client.create_study("s", {"x": Float(0, 1)}, direction="minimize")
        with tracer.start_as_current_span("one step of an experiment") as step:
            trial = study.suggest()
        study.observe(trial, 0.5)
        # The server has stopped and exported all spans.
    trace_id = step.get_span_context().trace_id.to_bytes(16, "big")
    of_step = {span.name: span for span in spans if span.trace_id == trace_id}
    request = of_step["POST /v1/studies/{study_id}/suggest"]
    assert request.parent_span_id == step.get_span_context().span_id.to_bytes(8, "big")
    assert attributes(request)["adabkb.study"] == "s"
    assert attributes(request)["http.response.status_code"] == "200"
    assert {"queue", "decide", "commit"} <= of_step.keys()
    for name in ("queue", "decide", "commit"):
        part = of_step[name]
        assert part.parent_span_id == request.span_id
        assert part.start_time_unix_nano <= part.end_time_unix_nano
    others = [span for span in spans if span.name == "POST /v1/studies/{study_id}/observe"]
    assert [span.trace_id != trace_id for span in others] == [True]


def test_unreachable_collector_does_not_delay_requests(other_sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with server_on(other_sqlite, traces="http://127.0.0.1:9") as url, Client(url) as client:
        study = client.create_study("s", {"x": Float(0, 1)}, direction="minimize")
        assert study.suggest().number == 1


def test_missing_extra_is_reported_with_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ValueError, match=r"pip install 'adabkb-service\[otel\]'"):
        create_app(Settings(database="sqlite:///unused.db", traces="http://collector:4318"))


def test_program_without_a_trace_sends_no_trace_headers() -> None:
    from adabkb_client._http.transport import trace_headers

    assert trace.get_current_span() is trace.INVALID_SPAN
    assert trace_headers() == {}
