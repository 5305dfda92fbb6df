"""Optimize a Suzuki coupling with the tools for agents. This script makes the calls instead of a language model.

python examples/stories/agent.py [trials]
"""

import asyncio
import csv
import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp_types import TextContent, TextResourceContents

DATA = Path(__file__).parents[2] / "benchmarks/quality/data/nature/reizman_suzuki_1.csv.gz"
with gzip.open(DATA, "rt") as lines:
    NAMES, *ROWS = csv.reader(lines)
RANGES = {"t_res": (60.0, 600.0), "temperature": (30.0, 110.0), "catalyst_loading": (0.5, 2.5)}
STUDY: dict[str, Any] = {
    "study": "suzuki",
    "parameters": {
        "catalyst": {"kind": "categorical", "choices": sorted({row[0] for row in ROWS})},
        **{name: {"kind": "float", "low": low, "high": high} for name, (low, high) in RANGES.items()},
    },
    "direction": "maximize",
    "quantities": {"value": {"label": "Yield", "unit": "%", "low": 0, "high": 100}},
    "seed": 1,
}


def measured_yield(point: dict[str, Any]) -> float:
    """Return the yield, in percent, of the most similar of the 96 measured reactions (Reizman et al., 2016)."""

    def distance(row: list[str]) -> float:
        found = float(row[0] != point["catalyst"])
        for (name, (low, high)), text in zip(RANGES.items(), row[1:4], strict=True):
            found += ((float(text) - float(point[name])) / (high - low)) ** 2
        return found

    return float(min(ROWS, key=distance)[-1])


class Agent:
    """A connection to `adabkb mcp`; prints each call and its answer."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool. A refusal is in the field `refused`, for the agent to read."""
        answer = await self._client.call_tool(tool, arguments)
        found: dict[str, Any] = answer.structured_content or {}
        if answer.is_error:
            found = {"refused": "".join(part.text for part in answer.content if isinstance(part, TextContent))}
        print(tool, json.dumps(arguments, ensure_ascii=False), json.dumps(found, ensure_ascii=False), "", sep="\n")
        return found

    async def read(self, uri: str) -> str:
        """Return the text of a resource."""
        [content] = (await self._client.read_resource(uri)).contents
        assert isinstance(content, TextResourceContents)
        return content.text


async def optimize(agent: Agent, trials: int) -> None:
    await agent.call("create_study", **STUDY, budget=trials)
    while issued := (await agent.call("suggest", study="suzuki"))["trials"]:
        number = issued[0]["trial"]
        result = {"study": "suzuki", "trial": number, "key": f"yield-{number}"}
        value = measured_yield(issued[0]["parameters"])
        if number == 3:  # a misplaced decimal point, a common typing error
            refusal = await agent.call("observe", **result, value=824.0)
            assert "far above the possible values" in refusal["refused"]
        await agent.call("observe", **result, value=value)
        if number == 5:  # as if the answer was lost: the agent repeats the call, and the server stores nothing twice
            await agent.call("observe", **result, value=value)
    await agent.call("importance", study="suzuki")
    await agent.call("recommendation", study="suzuki")
    print(await agent.read("adabkb://studies/suzuki/report"))


async def main(trials: int) -> None:
    environment = {name: value for name, value in os.environ.items() if name.startswith(("ADABKB_", "SSL_"))}
    where = ["mcp"] if "ADABKB_URL" in environment else ["mcp", "--local", "suzuki.db"]
    adabkb = str(Path(sys.executable).with_name("adabkb"))
    async with Client(StdioServerParameters(command=adabkb, args=where, env=environment)) as client:
        await optimize(Agent(client), trials)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
