"""The site is built with the wheel, which ships it; a server never builds anything."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SiteHook(BuildHookInterface[Any]):
    """Builds ``docs/`` strictly, into ``adabkb_service/_site`` of the wheel. A checkout has ``make install`` for it."""

    PLUGIN_NAME = "custom"
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build it."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", self._folder.name]
        subprocess.run(
            [*command, "--config-file", Path(self.root, "mkdocs.yml")],
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            check=True,
        )
        build_data["force_include"][self._folder.name] = "adabkb_service/_site"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Tidy up."""
        del version, build_data, artifact_path
        if self._folder:
            self._folder.cleanup()
