"""docs/guides/agents.md: its configuration starts a server, and its commands exist."""

from __future__ import annotations

import json
import re

from tests.acceptance.docs import blocks, commands

PAGE = "guides/agents.md"
BLOCKS = blocks.blocks(blocks.DOCS / PAGE)


def texts(language: str) -> list[str]:
    return [block.text for block in BLOCKS if block.language == language]


def test_the_configuration_and_the_commands_are_possible() -> None:
    assert {block.language for block in BLOCKS} == {"console", "json"}
    for text in texts("console"):
        for command, _ in blocks.commands(text):
            commands.check(command)
    [configuration] = map(json.loads, texts("json"))
    server = configuration["mcpServers"]["adabkb"]
    assert server["env"].keys() == {"ADABKB_URL", "ADABKB_TOKEN"}
    variants = re.findall(r'"args": (\[.*?\])', (blocks.DOCS / PAGE).read_text())
    assert len(variants) == 4
    for arguments in variants:
        commands.check(" ".join([server["command"], *json.loads(arguments)]))
