"""The path prefix that a proxy adds (the setting ``root_path``), such as /adabkb.

ASGI's ``path`` contains the prefix, whether the proxy has removed it from the request or not. Without it, mounted
applications are not found.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class PrefixMiddleware:
    """Sets ASGI's ``root_path`` to the prefix, and adds the prefix to paths that lack it."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        if self._prefix and scope["type"] == "http":
            scope["root_path"] = self._prefix
            if own_path(scope) == scope["path"]:
                scope["path"] = self._prefix + scope["path"]
                scope["raw_path"] = self._prefix.encode() + scope.get("raw_path", b"")
        await self._app(scope, receive, send)


def own_path(scope: Scope) -> str:
    """Return the path of a request without the prefix."""
    path: str = scope["path"]
    prefix: str = scope.get("root_path", "")
    return path.removeprefix(prefix) if path == prefix or path.startswith(f"{prefix}/") else path
