"""A server of the Model Context Protocol (MCP), which offers the calls of the client as tools for agents.

It needs the package ``mcp`` (the extra of this name). The command ``adabkb mcp`` starts it.
"""

from adabkb_client.mcp._server import loopback, serve_http, serve_stdio

__all__ = ["loopback", "serve_http", "serve_stdio"]
