"""A whole study by the tools of an agent, without a model: this script calls them as an agent's program would.

adabkb serve
python examples/mcp_study.py
"""

import asyncio
import os
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp_types import TextResourceContents

STUDY = "mcp-example"
PARAMETERS = {
    "temperature": {"kind": "float", "low": 20, "high": 120},
    "catalyst": {"kind": "categorical", "choices": ["A", "B", "C"]},
}


def measured_yield(temperature: float, catalyst: str) -> float:
    """What a laboratory would measure, in percent."""
    return 90 - ((temperature - 80) / 10) ** 2 - {"A": 12, "B": 0, "C": 5}[catalyst]


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, and return its answer."""
    answer = await client.call_tool(tool, arguments)
    if answer.is_error:
        raise SystemExit(f"{tool}: {answer.content}")
    found: dict[str, Any] = answer.structured_content or {}
    return found


async def main() -> None:
    environment = {name: value for name, value in os.environ.items() if name.startswith(("ADABKB_", "SSL_"))}
    program = [sys.executable, "-c", "from adabkb_service.cli import main; main()", "mcp"]
    server = StdioServerParameters(command=program[0], args=program[1:], env=environment)
    async with Client(server) as client:
        await call(client, "create_study", study=STUDY, parameters=PARAMETERS, direction="maximize", budget=10, seed=1)
        while trials := (await call(client, "suggest", study=STUDY))["trials"]:
            number, parameters = trials[0]["trial"], trials[0]["parameters"]
            value = measured_yield(**parameters)
            await call(client, "observe", study=STUDY, trial=number, value=value, key=f"yield-of-{number}")
            print(f"trial {number}: {value:.1f}% at {parameters}")
        recommendation = await call(client, "recommendation", study=STUDY)
        print(f"best: {recommendation['observed']['value']:.1f}% at {recommendation['observed']['parameters']}")
        report = (await client.read_resource(f"adabkb://studies/{STUDY}/report")).contents[0]
        assert isinstance(report, TextResourceContents)
        print(report.text)


asyncio.run(main())
