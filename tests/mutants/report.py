"""The results file, and the reasons for surviving mutants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.output import RESULTS, provenance, write
from tests.mutants.mutations import mutants
from tests.mutants.runner import kept
from tests.mutants.targets import GROUPS, PACKAGE

OUT = RESULTS / "mutants.json"
ENOUGH = 0.9
"""The share of the mutants of a group that tests must kill."""
REASONS = Path(__file__).with_name("survivors.json")
"""Module and mutant -> the reason why it survives, written by hand."""


def report(folder: Path, out: Path = OUT, known: Path = REASONS) -> bool:
    """Write the results of the outcomes in a folder. Return whether enough mutants of each group are killed. Survivors
    get their known reasons; new ones are added to the file of reasons, and killed ones are removed from it. A module
    without outcomes in the folder keeps its earlier results, and is marked as ``earlier``."""
    reasons: dict[str, dict[str, str]] = json.loads(known.read_text()) if known.exists() else {}
    before: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {"groups": {}, "survivors": []}
    groups: dict[str, Any] = {}
    survivors: list[dict[str, str]] = []
    remaining: dict[str, dict[str, str]] = {}
    for name, group in GROUPS.items():
        modules: dict[str, Any] = {}
        for path in group.modules:
            module, outcomes = path.relative_to(PACKAGE).as_posix(), kept(folder, path).outcomes
            possible = mutants(path.read_text())
            tried = [each for each in possible if outcomes.get(each.name, {}).keys() & {"killed", "survived"}]
            if not possible:
                continue
            earlier = before["groups"].get(name, {}).get("modules", {}).get(module)
            if not tried and earlier is not None:
                modules[module] = {**earlier, "earlier": True}
                remaining |= {module: reasons[module]} if module in reasons else {}
                survivors += [each for each in before["survivors"] if each["place"].startswith(f"{module}:")]
                continue
            modules[module] = {
                "possible": len(possible),
                "tried": len(tried),
                "killed": sum("killed" in outcomes[each.name] for each in tried),
            }
            for each in tried:
                if "survived" in outcomes[each.name]:
                    reason = reasons.get(module, {}).get(each.name, "")
                    remaining.setdefault(module, {})[each.name] = reason
                    place = f"{module}:{each.line}"
                    survivors.append({"place": place, "mutation": f"{each.was} -> {each.now}", "reason": reason})
        total = {key: sum(each[key] for each in modules.values()) for key in ("possible", "tried", "killed")}
        groups[name] = {**total, "share": round(total["killed"] / max(total["tried"], 1), 3), "modules": modules}
    write(out, {**provenance("tests.mutants"), "command": "make mutants", "groups": groups, "survivors": survivors})
    known.write_text(json.dumps(remaining, indent=1) + "\n")
    return all(group["share"] >= ENOUGH for group in groups.values())
