"""The script sklearn_before.py, with this optimizer."""

from scipy.stats import loguniform
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from adabkb_integrations.sklearn import AdaBKBSearchCV

X, y = load_iris(return_X_y=True)
space = {"C": loguniform(1e-3, 1e3), "gamma": loguniform(1e-6, 10), "kernel": ["rbf", "linear"]}
search = AdaBKBSearchCV(SVC(), space, n_iter=8, random_state=1)
search.fit(X, y)
print(search.best_params_, search.best_score_)
