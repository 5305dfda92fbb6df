"""Templates and the headers of pages. Jinja is imported with the first page, not at the start of the server."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse

from adabkb_service.access.caller import ANYBODY
from adabkb_service.api.parts import parts_of
from adabkb_service.api.prefix import own_path
from adabkb_service.operations.words import definition_in_words, events_in_words, wording
from adabkb_service.operations.words.reasons import REASONS
from adabkb_service.operations.words.state_in_words import state_in_words
from adabkb_service.operations.words.values_in_words import figure, shown, size
from adabkb_service.page.assets import digest
from adabkb_service.page.described import described
from adabkb_service.page.limits import LIMITS, limits_now
from adabkb_service.page.sparkline import sparkline

if TYPE_CHECKING:
    from jinja2 import Environment

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Inline scripts and other hosts are forbidden, so text from users cannot run as a script."""
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "Vary": "Accept, HX-Request",
}


def page(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """Render a template as a response."""
    root = request.scope.get("root_path", "")
    caller = request.scope.get("state", {}).get("caller", ANYBODY)
    provider = parts_of(request.app).provider
    source = _environment().get_template(template)
    here = own_path(request.scope)
    text = source.render(
        root=root, here=here, assets=f"{root}/assets/{digest()}", caller=caller, provider=provider, **context
    )
    return HTMLResponse(text, status, headers=HEADERS)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 (a slow import)

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "capitalized": capitalized,
        "figure": figure,
        "shown": shown,
        "size": size,
        "iso": iso,
        "json": json.dumps,
        "segment": _segment,
    }
    environment.globals |= {
        "described": described,
        "limits": LIMITS,
        "limits_now": limits_now,
        "events_in_words": events_in_words,
        "followed_events": events_in_words.FOLLOWED,
        "sparkline": sparkline,
        "reasons": REASONS,
        "state_in_words": state_in_words,
        "wording": wording,
        "definition": definition_in_words,
    }
    return environment


def _segment(text: str) -> str:
    """Quote a text for a path segment."""
    return quote(text, safe="")


def capitalized(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def iso(moment: datetime) -> str:
    """Format a time for ``<time datetime>``; a script shows it in the browser's time zone."""
    return moment.isoformat(timespec="milliseconds")
