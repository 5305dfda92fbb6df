"""The resources of the server: the list of studies, and a report of each."""

from __future__ import annotations

import json

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from adabkb_client._http.async_transport import AsyncTransport
from adabkb_client.errors import AdaBKBError, NotFound
from adabkb_client.mcp._reading import Reading
from adabkb_client.mcp._refusals import refused
from adabkb_client.mcp._report import report

MOST = 100
"""The maximum number of studies in the list."""


def add_resources(server: MCPServer, transport: AsyncTransport) -> None:
    """Add the resources to a server."""

    @server.resource("adabkb://studies", name="studies", mime_type="application/json")
    async def studies() -> str:
        """The first 100 studies, with how far each is."""
        try:
            return json.dumps(await Reading(transport).studies(limit=MOST), ensure_ascii=False)
        except AdaBKBError as error:
            raise ResourceError(refused(error, {})) from None

    @server.resource("adabkb://studies/{study}/report", name="report", mime_type="text/markdown")
    async def study_report(study: str) -> str:
        """A study in words and tables: definition, best result, recommendation, gap, last trials, failures."""
        try:
            return await transport.perform(report(study))
        except (AdaBKBError, ValueError) as error:
            kind = ResourceNotFoundError if isinstance(error, NotFound) else ResourceError
            raise kind(refused(error, {"study": study})) from None
