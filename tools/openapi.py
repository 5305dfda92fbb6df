"""The OpenAPI document, which takes a second to build."""

from __future__ import annotations

from functools import cache
from typing import Any

from adabkb_service.app import create_app
from adabkb_service.settings import Settings


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document of a server with the default settings."""
    return create_app(Settings(database="sqlite:///never-opened.db")).openapi()
