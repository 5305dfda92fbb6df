"""The files of the web interface. All are in the package, since lab machines may not reach other hosts."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Response
from starlette.exceptions import HTTPException

from adabkb_service.api.admission import GuardedRoute, needs_nothing

FOLDER = Path(__file__).parent / "assets"
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
CACHED_FOR_A_YEAR = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False, route_class=GuardedRoute)


@cache
def _files() -> dict[str, bytes]:
    """Return the content of each file by name."""
    return {path.name: path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.suffix in MEDIA_TYPES}


@cache
def digest() -> str:
    """Return a digest of all assets. It is part of their URLs, so that browsers cache them until one of them
    changes."""
    hashed = hashlib.sha256()
    for name, content in _files().items():
        hashed.update(f"{name}\0{len(content)}\0".encode() + content)
    return hashed.hexdigest()[:12]


@router.get("/assets/{version}/{name}")
@needs_nothing
def get_asset(version: str, name: str) -> Response:
    """Return a file. Browsers must not cache it if the requested version differs."""
    content = _files().get(name)
    if content is None:
        raise HTTPException(404)
    keep = CACHED_FOR_A_YEAR if version == digest() else "no-store"
    return Response(content, media_type=MEDIA_TYPES[Path(name).suffix], headers={"Cache-Control": keep})
