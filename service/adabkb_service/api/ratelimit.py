"""Headers with the remaining quota, according to draft-ietf-httpapi-ratelimit-headers-10."""

from __future__ import annotations

from adabkb_service.errors import RateLimit


def rate_limit_headers(limit: RateLimit) -> dict[str, str]:
    """RateLimit-Policy: quota (q) per window in seconds (w). RateLimit: remaining quota (r), seconds until it increases
    (t)."""
    return {
        "RateLimit-Policy": f'"{limit.name}";q={limit.quota};w={limit.window}',
        "RateLimit": f'"{limit.name}";r={limit.left};t={limit.reset}',
    }
