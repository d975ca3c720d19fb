"""Gradient-boosted trees in LightGBM: training with a validation set and early stopping."""

import time

import lightgbm as lgb
import numpy as np

ROUNDS, ROWS = 100, 40000

random = np.random.default_rng(0)
features = random.random((ROWS, 20))
labels = (features[:, :3].sum(axis=1) + 0.3 * random.standard_normal(ROWS) > 1.5).astype(int)
training = lgb.Dataset(features[: ROWS // 2], labels[: ROWS // 2])
validation = lgb.Dataset(features[ROWS // 2 :], labels[ROWS // 2 :], reference=training)
times = []
settings = {"objective": "binary", "num_leaves": 31, "num_threads": 1, "verbose": -1, "seed": 1}
model = lgb.train(
    settings,
    training,
    ROUNDS,
    valid_sets=[validation],
    callbacks=[lambda _: times.append(time.time()), lgb.early_stopping(100, verbose=False)],
)
print(f"logloss {model.best_score['valid_0']['binary_logloss']:.4f}")
print("steps", len(times))
print(f"samples/s {ROWS // 2 * (len(times) - 1) / (times[-1] - times[0]):.1f}", flush=True)
