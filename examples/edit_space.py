"""Edit the space of a running study: wider bounds, because the best result is at an end of the range,
then one more parameter.

make serve                               # in another terminal
.venv/bin/python examples/edit_space.py [number of trials]
"""

import sys

from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from adabkb_client import Best, Client, Float, Study

MEASUREMENTS, CULTIVARS = load_wine(return_X_y=True)


def accuracy(gamma: float, tol: float = 1e-3) -> float:
    """Return the mean accuracy over five folds. Before ``tol`` becomes a parameter, it has its default."""
    estimator = make_pipeline(StandardScaler(), SVC(gamma=gamma, tol=tol))
    return float(cross_val_score(estimator, MEASUREMENTS, CULTIVARS, cv=5).mean())


def best_of(study: Study, trials: int) -> Best:
    """Run this number of further trials, and return the best result."""
    best = study.run(accuracy, n_trials=trials).recommendation.observed
    assert best is not None
    return best


def main(budget: int) -> None:
    with Client() as client:
        narrow = {"gamma": Float(1e-6, 1e-4, log=True)}
        study = client.create_study(f"edit-space-{budget}", narrow, direction="maximize", budget=budget, seed=1)
        best = best_of(study, budget // 3)
        print(f"in the narrow space {best.value:.3f} at gamma {best.parameters['gamma']:.2g}")

        study.update(parameters={"gamma": Float(1e-6, 10, log=True)})
        best = best_of(study, budget // 3)
        print(f"in the wide space {best.value:.3f} at gamma {best.parameters['gamma']:.2g}")

        study.update(parameters={"tol": Float(1e-5, 1e-1, log=True)}, defaults={"tol": 1e-3})
        best = best_of(study, budget - 2 * (budget // 3))
        info = study.info()
        print(f"with tol {best.value:.3f} by {dict(best.parameters)}")
        print(f"version {info.space_version} of the space, {info.counts.observations} results, all used by the model")


if __name__ == "__main__":
    main(budget=int(sys.argv[1]) if len(sys.argv) > 1 else 24)
