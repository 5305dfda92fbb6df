"""A script that uses scikit-learn's search."""

from scipy.stats import loguniform
from sklearn.datasets import load_iris
from sklearn.model_selection import RandomizedSearchCV
from sklearn.svm import SVC

X, y = load_iris(return_X_y=True)
space = {"C": loguniform(1e-3, 1e3), "gamma": loguniform(1e-6, 10), "kernel": ["rbf", "linear"]}
search = RandomizedSearchCV(SVC(), space, n_iter=8, random_state=1)
search.fit(X, y)
print(search.best_params_, search.best_score_)
