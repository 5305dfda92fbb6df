"""Tune a random forest on digits for a small error and few nodes: two objectives, and the front between them.

.venv/bin/python examples/forest_front.py [number of trials]
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from adabkb_client import Client, Float, Int, Parameter

SPACE: dict[str, Parameter] = {
    "trees": Int(1, 200, log=True),
    "depth": Int(1, 20),
    "features": Float(0.02, 1.0, log=True),
}
X, X_TEST, Y, Y_TEST = train_test_split(*load_digits(return_X_y=True), random_state=0)


def evaluate(trees: int, depth: int, features: float) -> dict[str, Any]:
    model = RandomForestClassifier(trees, max_depth=depth, max_features=features, random_state=0).fit(X, Y)
    nodes = sum(tree.tree_.node_count for tree in model.estimators_)
    return {"metrics": {"error": 1.0 - model.score(X_TEST, Y_TEST), "nodes": nodes}}


def main(trials: int, folder: Path) -> None:
    with Client.local(folder / "forest.db") as client:
        study = client.create_study(
            "forest",
            SPACE,
            objectives=[
                {"metric": "error", "direction": "minimize", "reference": 0.5},
                {"metric": "nodes", "direction": "minimize", "reference": 20_000},
            ],
            budget=trials,
            seed=1,
        )
        study.run(evaluate)
        found = study.front()
        for point in sorted(found.observed, key=lambda each: each.metrics["nodes"]):
            print(
                f"error {point.metrics['error']:.3f} with {point.metrics['nodes']:.0f} nodes: {dict(point.parameters)}"
            )
        print(f"{len(found.observed)} of {found.results} results are on the front; hypervolume {found.hypervolume:.1f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 40, Path(name))
