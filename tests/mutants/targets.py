"""The modules to change, and the tests that may detect changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "service" / "adabkb_service"
DECISIONS = (
    "policy",
    "betas",
    "turns",
    "restarts",
    "gap",
    "averaging",
    "issued",
    "doubts",
    "plateaus",
    "refine",
    "per_cost",
    "untried",
    "widths",
    "largest",
)
"""The modules of ``engine/auto`` with decisions: the next point and its reason, stalls of the search, and the gap. The
other modules compute their inputs."""

OF_DECISIONS = (
    "policy",
    "quadratic",
    "restarts",
    "gap",
    "averaged",
    "issued",
    "doubts",
    "plateaus",
    "refine",
    "per_cost",
    "choices",
    "catalogues",
    "categories",
    "failing",
    "prior",
    "transferred",
    "mixtures",
    "pruning",
    "objectives",
    "periodic",
    "constrained",
    "outcomes",
    "noise",
    "within",
    "degenerate",
    "decisions",
    "untried",
    "widths",
    "largest",
)


@dataclass(frozen=True, slots=True)
class Group:
    """Modules, and the tests that run their code in pytest's process."""

    modules: tuple[Path, ...]
    tests: tuple[str, ...]


def _modules(folder: str) -> tuple[Path, ...]:
    return tuple(sorted(path for path in (PACKAGE / folder).glob("*.py") if path.name != "__init__.py"))


GROUPS = {
    "study": Group(
        _modules("study"),
        (
            "tests/integration/study",
            "tests/integration/operations",
            "tests/integration/api/test_waiting.py",
            "tests/integration/api/test_metrics.py",
        ),
    ),
    "access": Group(
        _modules("access"),
        (
            "tests/integration/access",
            "tests/integration/identity/test_commands.py",
            "tests/integration/api/test_limits.py",
            "tests/integration/api/test_waiting.py",
        ),
    ),
    "engine": Group(
        tuple(next((PACKAGE / "engine" / "auto").rglob(f"{name}.py")) for name in DECISIONS),
        tuple(f"tests/unit/engine/auto/test_{name}.py" for name in OF_DECISIONS),
    ),
}
