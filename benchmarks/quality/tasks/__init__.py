"""Tuning tasks: scikit-learn models on its bundled data and on the three data sets of the Ada-BKB paper."""

from __future__ import annotations

from benchmarks.quality.problems import Problem
from benchmarks.quality.tasks import data, models
from benchmarks.quality.tasks.task import Task, cross_entropy, error_rate, relative_rmse

_TASKS = (
    Task("boosting_casp", models.BOOSTING, data.casp, 1000, 1000, models.boosting_regressor, relative_rmse),
    Task("boosting_htru", models.BOOSTING, data.htru, 1500, 5000, models.boosting_classifier, cross_entropy),
    Task("svm_digits", models.SVM, data.digits, 600, 590, models.svm, error_rate),
    Task("svm_magic", models.SVM, data.magic, 800, 1100, models.svm, error_rate),
    Task("forest_magic", models.FOREST_CLASSIFIER, data.magic, 800, 1100, models.forest_classifier, cross_entropy),
    Task("forest_diabetes", models.FOREST_REGRESSOR, data.diabetes, 182, 130, models.forest_regressor, relative_rmse),
    Task("mlp_digits", models.MLP, data.digits, 600, 590, models.mlp, cross_entropy),
    Task("logistic_cancer", models.LOGISTIC, data.breast_cancer, 169, 200, models.logistic, cross_entropy),
    Task("ridge_casp", models.KERNEL_RIDGE, data.casp, 1000, 1000, models.kernel_ridge, relative_rmse),
)
TASK_PROBLEMS: dict[str, Problem] = {task.name: task for task in _TASKS}
