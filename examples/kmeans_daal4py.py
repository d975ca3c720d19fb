"""k-means and linear regression over MPI in daal4py, each rank with its part of the points.

    perfscope run -- mpirun -n 2 python examples/kmeans_daal4py.py

Both algorithms run distributed: each rank works on its rows, daal4py exchanges partial results by
MPI. The data follows from the seed, so the result is the same on any number of ranks. With
--skew the first rank has more rows than the others, which is the imbalance to be found.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy only makes the points; daal4py computes

import daal4py
import numpy as np
from numpy.typing import NDArray

CENTER_DISTANCE = 6.0
NOISE = 0.1

Table = NDArray[np.float64]


def options() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--points", type=int, default=200_000, help="rows of all ranks together")
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=50, help="most iterations of k-means")
    parser.add_argument("--rounds", type=int, default=1, help="how often both algorithms run")
    parser.add_argument("--threads", type=int, default=-1, help="of each rank; -1: all CPUs")
    parser.add_argument("--skew", type=float, default=0.0, help="share of rows moved to rank 0")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--log", metavar="FILE", help="appends each rank's rows and seconds")
    return parser.parse_args()


def points(chosen: argparse.Namespace) -> tuple[Table, Table]:
    """All points in clusters, and a value for each that depends on its coordinates linearly."""
    random = np.random.default_rng(chosen.seed)
    centers = random.normal(size=(chosen.clusters, chosen.features)) * CENTER_DISTANCE
    # The first rows are one of each cluster: where k-means starts.
    labels = np.arange(chosen.points) % chosen.clusters
    rows = centers[labels] + random.normal(size=(chosen.points, chosen.features))
    slopes = np.arange(1.0, chosen.features + 1.0)
    values = rows @ slopes + random.normal(size=chosen.points) * NOISE
    return rows, values[:, None]


def part(count: int, *, rank: int, ranks: int, skew: float) -> slice:
    """The rows of a rank: equal parts, of which rank 0 takes a share of the others' too."""
    cuts = np.linspace(0, count, ranks + 1)
    cuts[1:-1] += (count - cuts[1:-1]) * skew
    return slice(int(cuts[rank]), int(cuts[rank + 1]))


class Watch:
    """Seconds of each algorithm by the program's own clock."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Adds what runs inside to a part."""
        before = time.monotonic()
        yield
        self.seconds[name] += time.monotonic() - before


def main() -> None:
    """Clusters the points and fits a line through them; rank 0 prints what came out."""
    chosen = options()
    if chosen.threads > 0:
        daal4py.daalinit(nthreads=chosen.threads)
    else:
        daal4py.daalinit()
    rank, ranks = daal4py.my_procid(), daal4py.num_procs()
    every_row, every_value = points(chosen)
    own = part(chosen.points, rank=rank, ranks=ranks, skew=chosen.skew)
    rows, values = every_row[own].copy(), every_value[own].copy()
    watch = Watch()
    for _ in range(chosen.rounds):
        with watch.part("kmeans"):
            clusters = daal4py.kmeans(chosen.clusters, chosen.iterations, distributed=True).compute(
                rows, every_row[: chosen.clusters].copy()
            )
        with watch.part("regression"):
            line = daal4py.linear_regression_training(distributed=True).compute(rows, values)
        with watch.part("prediction"):
            fitted = daal4py.linear_regression_prediction().compute(rows, line.model)
    if chosen.log:
        row = {"rank": rank, "rows": len(rows), "rounds": chosen.rounds, "seconds": watch.seconds}
        with Path(chosen.log).open("a", encoding="utf-8") as log:
            log.write(json.dumps(row) + "\n")
    residual = float(np.abs(fitted.prediction - values).max())
    if rank == 0:
        slopes = line.model.Beta[0, 1:]
        print(f"ranks {ranks}")
        print(f"k-means objective {clusters.objectiveFunction[0, 0]:.6g}")
        print(f"regression slopes {slopes.min():.2f} to {slopes.max():.2f}, ", end="")
        print(f"largest error {residual:.2f}")
    daal4py.daalfini()


if __name__ == "__main__":
    main()
