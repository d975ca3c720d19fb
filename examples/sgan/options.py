"""The command line."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

HELP_PREDICT = "what the program calls to use a model: predict() is meant for large inputs"
HELP_UNIT = "N iterations, N epochs, or N iterations for each rank of the job"


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    epochs: int
    iterations_per_epoch: int
    batch: int
    labels_per_class: int
    latent: int
    hidden: int
    predict_method: str
    evaluate_every: int
    evaluate_unit: str
    evaluate_samples: int
    parallel: str
    slow_rank: int
    slow_ms: float
    threads: int
    inter_threads: int
    intra_threads: int
    seed: int
    log: str | None


def parse_options() -> Options:
    """The options of this run."""
    parser = argparse.ArgumentParser(description="A semi-supervised GAN on digits.")
    add = parser.add_argument
    add("--epochs", type=int, default=3)
    add("--iterations-per-epoch", type=int, default=20)
    add("--batch", type=int, default=32, help="images per iteration and rank")
    add("--labels-per-class", type=int, default=10, help="images whose label may be seen")
    add("--latent", type=int, default=32, help="numbers from which an image is drawn")
    add("--hidden", type=int, default=128)
    add(
        "--predict-method",
        choices=("predict", "predict_on_batch"),
        default="predict_on_batch",
        help=HELP_PREDICT,
    )
    add("--evaluate-every", type=int, default=1, metavar="N", help="0: never")
    add(
        "--evaluate-unit",
        choices=("iterations", "epochs", "nodes"),
        default="epochs",
        help=HELP_UNIT,
    )
    add("--evaluate-samples", type=int, default=100)
    add("--parallel", choices=("auto", "horovod", "mpi4py", "none"), default="auto")
    add("--slow-rank", type=int, default=-1, help="a rank that loses time in each iteration")
    add("--slow-ms", type=float, default=50.0)
    add("--threads", type=int, default=1, help="of TensorFlow on each rank; 0: it chooses")
    add("--inter-threads", type=int, default=0, help="operations at once; 0: as --threads")
    add("--intra-threads", type=int, default=0, help="inside an operation; 0: as --threads")
    add("--seed", type=int, default=7)
    add("--log", help="file for one JSON line an iteration and rank: what the slow rank lost")
    return Options(**vars(parser.parse_args()))
