"""Headers with the remaining quota, according to draft-ietf-httpapi-ratelimit-headers-10."""

from __future__ import annotations

from adabkb_service.errors import RateLimit


def rate_limit_headers(limit: RateLimit) -> dict[str, str]:
    """Return the two headers. RateLimit-Policy has the quota (q) and its window in seconds (w). RateLimit has the
    remaining quota (r) and the seconds (t) until the quota is full or, in a refusal, until the request would be
    allowed."""
    return {
        "RateLimit-Policy": f'"{limit.name}";q={limit.quota};w={limit.window}',
        "RateLimit": f'"{limit.name}";r={limit.left};t={limit.reset}',
    }
