"""The span of each request, if traces are configured: see ``telemetry.traces``."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adabkb_service.telemetry.logs import FACTS, note
from adabkb_service.telemetry.traces import Traces


class TracingMiddleware:
    """Assigns spans and log lines of a request to its trace."""

    def __init__(self, app: ASGIApp, traces: Traces) -> None:
        self._app = app
        self._traces = traces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._traces.request(scope["method"], scope["headers"]) as span:
            note(trace_id=f"{span.get_span_context().trace_id:032x}")
            try:
                await self._app(scope, receive, send_and_note_status)
            finally:
                route = getattr(scope.get("route"), "path", "unmatched")
                span.update_name(f"{scope['method']} {route}")
                span.set_attribute("http.request.method", scope["method"])
                span.set_attribute("http.route", route)
                span.set_attribute("http.response.status_code", status)
                for name, value in FACTS.get({}).items():
                    span.set_attribute(f"adabkb.{name}", value)
