"""``python -m tools.client_breaks OLD``: what programs use of the client in OLD and would miss here.

It prints a line for each and ends with 1 if there is any. What programs use are the names of ``adabkb_client`` with
their members. Modules are imported and inspected, as the methods of some classes are made of procedures.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import griffe

PACKAGE = "adabkb_client"
HERE = Path(__file__).parents[1] / "client"
BUILT_BY_CLIENT = tuple(f"{PACKAGE}.{module}." for module in ("_records", "_analysis"))
"""Modules of records that calls return: a new field of one breaks no program."""

COLOR = re.compile(r"\x1b\[\d+m")


def loaded(folder: Path) -> griffe.Module:
    """The package in a folder, imported anew."""
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    try:
        package = griffe.load(PACKAGE, force_inspection=True)
    finally:
        sys.path.remove(str(folder))
    assert isinstance(package, griffe.Module)
    assert package.filepath == folder / PACKAGE / "__init__.py"
    return package


def breaks(old: griffe.Module, new: griffe.Module) -> Iterator[str]:
    """A line for each break of what the old package exports."""
    used = set(_used(old))
    for found in griffe.find_breaking_changes(old, new):
        path = found.obj.canonical_path
        is_new_field = (
            found.kind in (griffe.BreakageKind.PARAMETER_ADDED_REQUIRED, griffe.BreakageKind.PARAMETER_MOVED)
            and path.startswith(BUILT_BY_CLIENT)
            and path.endswith(".__init__")
        )
        if not is_new_field and any(each in used for each in (found.obj.path, path, found.obj.path.rpartition(".")[0])):
            yield COLOR.sub("", found.explain(griffe.ExplanationStyle.ONE_LINE)).partition(": ")[2]


def _used(package: griffe.Module) -> Iterator[str]:
    """Where the exported names of a package are defined, what these inherit from, and the members of both."""
    for name in map(str, package.exports or ()):
        yield f"{PACKAGE}.{name}"
        exported = package[name]
        if exported.is_alias and not exported.target_path.startswith(PACKAGE):
            continue  # a type of Python by another name
        for each in (exported, *(exported.mro() if exported.is_class else ())):
            yield each.canonical_path
            yield from (member.canonical_path for member in each.members.values())


if __name__ == "__main__":
    found = dict.fromkeys(breaks(loaded(Path(sys.argv[1]).resolve()), loaded(HERE)))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
