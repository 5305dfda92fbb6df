"""Builds ``docs/`` for the wheel of the documentation."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parents[1]


class Hook(BuildHookInterface[Any]):
    """Builds the site for a wheel; a warning is an error. An editable installation uses that of the checkout."""

    PLUGIN_NAME = "custom"
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the site."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", self._folder.name]
        subprocess.run(
            [*command, "--config-file", str(ROOT / "mkdocs.yml")],
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            check=True,
        )
        build_data["force_include"][self._folder.name] = "adabkb_docs/pages"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the temporary files."""
        del version, build_data, artifact_path
        if self._folder:
            self._folder.cleanup()
