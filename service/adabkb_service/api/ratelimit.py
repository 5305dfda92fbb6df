"""The remaining quota, in the headers of the IETF's draft-ietf-httpapi-ratelimit-headers-10."""

from __future__ import annotations

from adabkb_service.errors import RateLimit


def rate_limit_headers(limit: RateLimit) -> dict[str, str]:
    """RateLimit-Policy: how much (q) in how many seconds (w). RateLimit: how much is left (r), more in how many (t)."""
    return {
        "RateLimit-Policy": f'"{limit.name}";q={limit.quota};w={limit.window}',
        "RateLimit": f'"{limit.name}";r={limit.left};t={limit.reset}',
    }
