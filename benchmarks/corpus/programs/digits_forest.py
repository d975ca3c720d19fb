"""A search over a forest's settings with processes of joblib, as scikit-learn's users do."""

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, train_test_split

x, y = make_classification(n_samples=1500, n_features=20, random_state=0)
x_train, x_test, y_train, y_test = train_test_split(x, y, random_state=0)
settings = {"n_estimators": [20, 40], "max_depth": [4, 8]}
search = GridSearchCV(RandomForestClassifier(random_state=0), settings, cv=3, n_jobs=2)
search.fit(x_train, y_train)
print("best", search.best_params_)
print(f"right {search.score(x_test, y_test):.3f}")
print("steps", 0, flush=True)
