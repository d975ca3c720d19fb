"""Gradient-boosted trees on the ranks of MPI by XGBoost's communicator: each with its rows."""

import time

import numpy as np
import xgboost as xgb
from mpi4py import MPI
from xgboost import collective
from xgboost.tracker import RabitTracker

ROUNDS, ROWS, FEATURES = 100, 40000, 20


class Clock(xgb.callback.TrainingCallback):
    """When each round was over."""

    def __init__(self) -> None:
        self.times = []

    def after_iteration(self, model, epoch, evals_log):
        """A tree was grown and evaluated."""
        self.times.append(time.time())
        return False


world = MPI.COMM_WORLD
arguments, tracker = None, None
if world.rank == 0:
    tracker = RabitTracker(host_ip="127.0.0.1", n_workers=world.size)
    tracker.start()
    arguments = tracker.worker_args()
arguments = world.bcast(arguments)
random = np.random.default_rng(world.rank)
features = random.random((ROWS, FEATURES))
labels = (features[:, :3].sum(axis=1) > 1.5).astype(int)
clock = Clock()
with collective.CommunicatorContext(**arguments):
    training = xgb.DMatrix(features, labels, nthread=1)
    settings = {"objective": "binary:logistic", "max_depth": 6, "nthread": 1, "eta": 0.1}
    model = xgb.train(settings, training, ROUNDS, callbacks=[clock])
    if world.rank == 0:
        right = ((model.predict(training) > 0.5) == labels).mean()
        print(f"accuracy {right:.4f}")
if tracker is not None:
    tracker.wait_for()
    print("steps", len(clock.times))
    seconds = clock.times[-1] - clock.times[0]
    print(f"samples/s {world.size * ROWS * (len(clock.times) - 1) / seconds:.1f}", flush=True)
