"""OpenTelemetry traces, if a collector is configured: a span for each request and for each of its phases.

A request's trace continues that of its client (``traceparent``, W3C Trace Context), through the thread that serves the
study, to the transaction that commits it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

HEADERS = (b"traceparent", b"tracestate")


class Traces:
    """Creates and exports spans.

    Args:
        provider: a tracer provider of the OpenTelemetry SDK.
    """

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry import trace  # noqa: PLC0415  # of the extra otel
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

        self._provider = provider
        self._tracer = provider.get_tracer("adabkb_service", version("adabkb-service"))
        self._propagator = TraceContextTextMapPropagator()
        self._server = trace.SpanKind.SERVER

    @contextmanager
    def request(self, method: str, headers: list[tuple[bytes, bytes]]) -> Iterator[Span]:
        """The span of a request, as a child of the span that its headers name; active within the block."""
        carrier = {name.decode(): value.decode("latin-1") for name, value in headers if name in HEADERS}
        parent = self._propagator.extract(carrier)
        with self._tracer.start_as_current_span(method, parent, self._server) as span:
            yield span

    def parts(self, phases: Mapping[str, tuple[float, float]], study_id: str) -> None:
        """Record spans of finished phases, as children of the current span.

        Args:
            phases: name -> start and end, by ``time.monotonic``.
            study_id: id of the study.
        """
        since_the_epoch = time.time() - time.monotonic()
        for name, (began, ended) in phases.items():
            span = self._tracer.start_span(
                name, attributes={"adabkb.study": study_id}, start_time=_nanoseconds(began + since_the_epoch)
            )
            span.end(_nanoseconds(ended + since_the_epoch))

    def close(self) -> None:
        """Export the remaining spans."""
        self._provider.shutdown()


def to_collector(address: str) -> Traces:
    """Return traces that are exported to the collector at an address by OTLP over HTTP. Environment variables configure
    the rest, such as ``OTEL_TRACES_SAMPLER`` and ``OTEL_EXPORTER_OTLP_HEADERS``.

    Raises:
        ValueError: OpenTelemetry is not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        raise ValueError("the setting 'traces' needs OpenTelemetry: pip install 'adabkb-service[otel]'") from error
    named = Resource({"service.name": "adabkb", "service.version": version("adabkb-service")})
    provider = TracerProvider(resource=named.merge(OTELResourceDetector().detect()))
    exporter = OTLPSpanExporter(endpoint=f"{address.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Traces(provider)


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
