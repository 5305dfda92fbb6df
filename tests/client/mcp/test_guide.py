"""docs/guides/agents.md: its configuration starts a server, its commands exist, its session goes as it shows."""

from __future__ import annotations

import asyncio
import json
import re

from tests.client.mcp.agents import in_process
from tests.docs import blocks, commands

PAGE = "guides/agents.md"
BLOCKS = blocks.blocks(blocks.DOCS / PAGE)


def texts(language: str) -> list[str]:
    return [block.text for block in BLOCKS if block.language == language]


def test_the_configuration_and_the_commands_are_possible() -> None:
    assert {block.language for block in BLOCKS} == {"console", "json", "text"}
    for text in texts("console"):
        for command, _ in blocks.commands(text):
            commands.check(command)
    [configuration] = map(json.loads, texts("json"))
    server = configuration["mcpServers"]["adabkb"]
    assert server["env"].keys() == {"ADABKB_URL", "ADABKB_TOKEN"}
    variants = re.findall(r'"args": (\[.*?\])', (blocks.DOCS / PAGE).read_text())
    assert len(variants) == 3
    for arguments in variants:
        commands.check(" ".join([server["command"], *json.loads(arguments)]))


def test_the_session_goes_as_it_shows(server: str) -> None:
    [session] = texts("text")

    async def held() -> None:
        async with in_process(server) as agent:
            for exchange in session.strip().split("\n\n"):
                call, shown = exchange.split("\n")
                tool, _, arguments = call.partition(" ")
                answer = json.dumps(await agent.call(tool, **json.loads(arguments)), ensure_ascii=False)
                assert blocks.matches(shown, answer), (call, answer)

    asyncio.run(held())
