"""What is built with the package: the inner loops from C; and where the client and the documentation come from that it
needs.

``python hatch_build.py`` builds the inner loops for a checkout. The compiler is Zig's, a package of PyPI that is
installed for the build alone, or the one that the environment variable ``CC`` names.
"""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.tags import platform_tags

ROOT = Path(__file__).parent
NATIVE = Path("adabkb_service", "engine", "native")
COMPILER = ["ziglang>=0.17,<0.18"]
# No operation is fused or reordered: all processors of a kind compute the same bits.
OPTIONS = ["-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-fPIC", "-shared"]
ZIG_OPTIONS = ["-Wall", "-Wextra", "-Werror", "-fno-sanitize=undefined", "-s"]
# System and processor -> what Zig calls them, with the oldest release of the system, and the wheel's platform.
TARGETS = {
    ("Linux", "x86_64"): ("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64"),
    ("Linux", "aarch64"): ("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64"),
    ("Darwin", "x86_64"): ("x86_64-macos.11.0", "macosx_11_0_x86_64"),
    ("Darwin", "arm64"): ("aarch64-macos.11.0", "macosx_11_0_arm64"),
    ("Windows", "AMD64"): ("x86_64-windows-gnu", "win_amd64"),
}


def target() -> tuple[str, str] | None:
    """The entry of ``TARGETS`` for this machine; None where only its own compiler knows it, as with musl."""
    if platform.system() == "Linux" and platform.libc_ver()[0] != "glibc":
        return None
    return TARGETS.get((platform.system(), platform.machine()))


def compile_inner_loops(folder: Path) -> None:
    """Compile the C files into the libraries that ``engine/native/library.py`` opens.

    Args:
        folder: where the libraries are written to.

    Raises:
        subprocess.CalledProcessError: the compiler has found an error, which it has printed.
    """
    sources = sorted(map(str, (ROOT / "service" / NATIVE).glob("*.c")))
    libraries: dict[str, list[str]] = {"inner-loops.so": []}
    if platform.machine() in ("x86_64", "AMD64"):
        libraries["inner-loops-avx2.so"] = ["-mavx2"]
    for name, more in libraries.items():
        libraries_of_c = [] if os.name == "nt" else ["-lm"]
        command = [*_compiler(), *OPTIONS, *more, *sources, "-o", str(folder / name), *libraries_of_c]
        subprocess.run(command, check=True)


def _compiler() -> list[str]:
    if own := os.environ.get("CC"):
        return shlex.split(own)
    known = target()
    return [sys.executable, "-m", "ziglang", "cc", *(["-target", known[0]] if known else []), *ZIG_OPTIONS]


class Dependencies(MetadataHookInterface):
    """Needs the client of the same version, and the server needs the documentation. In a checkout they are folders of
    it, so that ``pip install .`` needs no index with them. For a release, and where they are installed as editable,
    the environment variable ``ADABKB_RELEASE`` makes them the distributions of those names."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dependencies."""
        is_checkout = (ROOT / "client/pyproject.toml").exists() and not (ROOT / "PKG-INFO").exists()
        is_release = "ADABKB_RELEASE" in os.environ or not is_checkout

        def needed(name: str, folder: str) -> str:
            return f"{name}=={metadata['version']}" if is_release else f"{name} @ {(ROOT / folder).as_uri()}"

        docs = needed("adabkb-docs", "site")
        metadata["dependencies"] = [needed("adabkb-client", "client"), f"{docs} ; extra == 'server'"]


class Hook(BuildHookInterface[Any]):
    """Compiles the inner loops, in place for a checkout."""

    PLUGIN_NAME = "custom"
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def dependencies(self) -> list[str]:
        """Of the build."""
        return [] if os.environ.get("CC") else COMPILER

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile them."""
        if version == "editable":
            compile_inner_loops(ROOT / "service" / NATIVE)
            return
        self._folder = tempfile.TemporaryDirectory()
        libraries = Path(self._folder.name)
        compile_inner_loops(libraries)
        for library in libraries.iterdir():
            build_data["force_include"][str(library)] = (NATIVE / library.name).as_posix()
        known = None if os.environ.get("CC") else target()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{known[1] if known else next(iter(platform_tags()))}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the temporary files."""
        del version, build_data, artifact_path
        if self._folder:
            self._folder.cleanup()


if __name__ == "__main__":
    compile_inner_loops(ROOT / "service" / NATIVE)
