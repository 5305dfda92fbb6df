"""The search. The engine runs in this process, and scikit-learn evaluates the candidates."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from inspect import getclosurevars
from numbers import Integral
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._split import _yields_constant_splits
from sklearn.model_selection._validation import _insert_error_scores, _warn_or_raise_about_fit_failures
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from adabkb_integrations.domain import Domain
from adabkb_integrations.model import Model, Position, Result, one_thread
from adabkb_integrations.sklearn.axes import domain

MAX_SEED = 2**31 - 1


class AdaBKBSearchCV(BaseSearchCV):  # type: ignore[misc]  # scikit-learn has no types
    """Cross-validated search by Ada-BKB under the ``auto`` profile, with the interface of ``RandomizedSearchCV``.

    Each candidate is chosen by a Gaussian process fitted to the previous scores. With ``n_jobs``, enough candidates are
    chosen jointly to keep all workers busy.

    All other arguments are those of ``RandomizedSearchCV``. With several metrics, ``refit`` names the metric to
    maximize.

    Args:
        estimator: the estimator to tune.
        param_distributions: by parameter, a list of values (ordered if they are ascending or descending numbers), a
            frozen distribution of scipy.stats with bounds (such as ``uniform``, ``loguniform``, ``randint``), or a
            parameter of ``adabkb_client`` (``Float``, ``Int``, ``Ordinal``, ``Categorical``, ``Bool``, ``Fixed``).
        n_iter: the number of candidates.
        fold_noise: whether the model uses the standard error of the mean over the folds as the noise of a score. "auto"
            does so if each batch of candidates has its own folds. On the same folds, most of that error is the same for
            all candidates, and the remaining noise is learned.
        random_state: searches with the same integer, and the same ``n_jobs``, have the same candidates.

    Raises:
        TypeError, ValueError: in ``fit``, if a parameter is not declared as above, or no metric is named.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSearchCV._parameter_constraints,
        "param_distributions": [dict],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "fold_noise": ["boolean", StrOptions({"auto"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        param_distributions: Mapping[str, Any],
        *,
        n_iter: int = 50,
        fold_noise: bool | str = "auto",
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[..., int] = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: int | np.random.RandomState | None = None,
        error_score: float | str = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.fold_noise = fold_noise
        self.random_state = random_state
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def _run_search(self, evaluate_candidates: Callable[..., Mapping[str, Any]], *, callback_ctx: Any = None) -> None:
        """Evaluate ``n_iter`` candidates, in batches."""
        searched = domain(self.param_distributions)
        count = self.n_iter
        if searched.size < count:
            count = int(searched.size)
            warnings.warn(
                f"The search space has {count} points, fewer than n_iter={self.n_iter}; each is evaluated once.",
                UserWarning,
                stacklevel=3,
            )
        seen = getclosurevars(evaluate_candidates).nonlocals  # before scikit-learn 1.9, these are not attributes
        self._folds: int = getattr(self, "n_splits_", None) or seen["n_splits"]
        self._splitter = getattr(self, "_checked_cv_orig", None) or seen["cv_orig"]
        together = math.ceil(effective_n_jobs(self.n_jobs) / self._folds)
        fits: list[dict[str, Any]] = []
        evaluate_candidates = _of_one_search(evaluate_candidates, fits)
        if callback_ctx is None:  # before scikit-learn 1.9
            self._search(searched, count, together, evaluate_candidates)
            _warn_or_raise_about_fit_failures(fits, self.error_score)
            return
        batches = callback_ctx.subcontext(
            task_name="search", max_subtasks=math.ceil(count / together)
        ).call_on_fit_task_begin(estimator=self)

        def evaluate(candidates: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
            context = batches.subcontext(
                task_name="batch", max_subtasks=len(candidates) * self._folds, sequential_subtasks=False
            ).call_on_fit_task_begin(estimator=self)
            results: Mapping[str, Any] = evaluate_candidates(candidates, callback_ctx=context)
            context.call_on_fit_task_end(estimator=self)
            return results

        self._search(searched, count, together, evaluate)
        _warn_or_raise_about_fit_failures(fits, self.error_score)
        batches.call_on_fit_task_end(estimator=self)

    def _search(
        self,
        searched: Domain,
        count: int,
        together: int,
        evaluate: Callable[[Sequence[Mapping[str, Any]]], Mapping[str, Any]],
    ) -> None:
        seed = int(check_random_state(self.random_state).randint(MAX_SEED))
        model = Model(searched.space, seed)
        points: list[Position] = []
        while len(points) < count:
            with one_thread():  # evaluating the candidates may use more threads
                # Points are never repeated, although scores are noisy: on the same folds, the score would be the same.
                batch = model.suggest(moved=points, count=min(together, count - len(points)))
            results = evaluate([searched.decode(point) for point in batch])
            points += [tuple(point.tolist()) for point in batch]
            with one_thread():
                model.learn(dict(enumerate(self._results(points, results))))

    def _results(self, points: Sequence[Position], results: Mapping[str, Any]) -> list[Result]:
        """Return the results of all points: mean scores, and their standard errors if these count as noise."""
        metric = self.refit if f"mean_test_{self.refit}" in results else "score"  # the name of a single metric
        if f"mean_test_{metric}" not in results:
            raise ValueError("with several metrics, refit must name the metric to maximize")
        means = results[f"mean_test_{metric}"].tolist()
        errors = (results[f"std_test_{metric}"] / math.sqrt(self._folds)).tolist()
        is_noise = not _yields_constant_splits(self._splitter) if self.fold_noise == "auto" else self.fold_noise
        return [
            Result(point, mean, error if is_noise else 0.0) if math.isfinite(mean) else Result(point, None)
            for point, mean, error in zip(points, means, errors, strict=True)
        ]


def _of_one_search(evaluate_candidates: Callable[..., Mapping[str, Any]], fits: list[dict[str, Any]]) -> FunctionType:
    """Return scikit-learn's function, adapted to several batches.

    scikit-learn uses a single batch for the whole search. If all fits of a batch failed, it raises an error and drops
    the batch, but batches often have only one candidate here. To keep failed candidates in ``cv_results_``, this copy
    replaces the two functions that process a batch.

    Args:
        evaluate_candidates: the argument of ``_run_search``.
        fits: receives the outcome of each fit of all batches.
    """
    own = {
        "_warn_or_raise_about_fit_failures": lambda batch, _: fits.extend(batch),
        "_insert_error_scores": lambda _, error_score: _insert_error_scores(fits, error_score),
    }
    assert isinstance(evaluate_candidates, FunctionType)
    return FunctionType(
        evaluate_candidates.__code__,
        {**evaluate_candidates.__globals__, **own},
        argdefs=evaluate_candidates.__defaults__,
        closure=evaluate_candidates.__closure__,
    )
