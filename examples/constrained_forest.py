"""Tune a random forest of at most 3,000 nodes on digits: one objective, one outcome constraint.

.venv/bin/python examples/constrained_forest.py [number of trials]

The size of a forest is known only once it is trained, so its limit is an outcome constraint on a metric, and not a
constraint on the parameters.
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
    return {"value": 1.0 - model.score(X_TEST, Y_TEST), "metrics": {"nodes": nodes, "depth_reached": _depth(model)}}


def _depth(model: RandomForestClassifier) -> int:
    return max(int(tree.get_depth()) for tree in model.estimators_)


def main(trials: int, folder: Path) -> None:
    with Client.local(folder / "forest.db") as client:
        study = client.create_study(
            "forest",
            SPACE,
            direction="minimize",
            budget=trials,
            seed=1,
            metrics=["depth_reached"],  # recorded and predicted, without a bound
            outcome_constraints=[{"metric": "nodes", "upper": 3000}],
        )
        study.run(evaluate, progress=False)
        nodes = [dict(row.metrics or {})["nodes"] for row in study.observations()]
        print(f"{sum(count <= 3000 for count in nodes)} of {trials} forests have at most 3,000 nodes")
        found = study.recommendation()
        if found.observed is not None:
            print("best:", found.observed.value, found.observed.metrics, found.observed.parameters)
        if found.model is not None:
            means = {name: each.mean for name, each in (found.model.metrics or {}).items()}
            print("by the model:", found.model.mean, means, found.model.parameters)
            print("it satisfies the bound with probability", found.model.feasible_probability)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(trials=int(sys.argv[1]) if len(sys.argv) > 1 else 30, folder=Path(folder))
