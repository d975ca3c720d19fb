"""The command line of train_numpy.py; imports nothing that loads numpy."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from enum import Enum


class Work(Enum):
    """What planted time is made of."""

    SLEEP = "sleep"  # any number of ranks fits on few cores
    COMPUTE = "compute"


class SlowPart(Enum):
    """The part of a step in which a slow rank loses its time."""

    FORWARD = "forward"
    BACKWARD = "backward"


class EvaluateOn(Enum):
    """Who evaluates: one rank while the others wait, or every rank its share."""

    RANK_ZERO = "rank0"
    ALL = "all"


@dataclass(frozen=True)
class Options:
    """What to train and which faults to plant; times in milliseconds, sizes as the names say."""

    steps: int | None
    epochs: int
    batch: int
    hidden: int
    samples: int
    seed: int
    evaluate_every: str
    evaluate_samples: int
    evaluate_on: EvaluateOn
    checkpoint_every: int
    checkpoint_on: EvaluateOn
    checkpoint_file: str
    markers: bool
    quiet: bool
    log: str | None
    work: Work
    forward_ms: float
    backward_ms: float
    evaluate_ms: float
    checkpoint_ms: float
    imbalance: float
    imbalance_rank: int
    slow_rank: int | None
    slow_ms: float
    slow_where: SlowPart
    random_slow_ms: float
    slow_input_ms: float
    queue_depth: int
    producers: int
    tensors: int
    leak_kib: int
    blas_threads: int | None
    network_extra_kib: int


def parse_options(arguments: list[str] | None = None) -> Options:
    """The options of the command line; ends the process with code 2 when they make no sense."""
    parser = argparse.ArgumentParser(
        description="Trains a small network on generated images, under mpirun or alone.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    _add_training(parser)
    _add_work(parser)
    _add_faults(parser)
    found = parser.parse_args(arguments)
    if found.evaluate_every not in ("epoch", "none") and not found.evaluate_every.isdigit():
        parser.error("--evaluate-every takes a number of steps, 'epoch' or 'none'")
    if found.evaluate_every == "0":
        parser.error("--evaluate-every 0 makes no sense; use 'none'")
    counts = ("batch", "hidden", "samples", "queue_depth", "producers", "tensors")
    for name in counts:
        if getattr(found, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    if found.imbalance <= 0:
        parser.error("--imbalance must be above 0")
    return Options(**vars(found))


def _add_training(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("training")
    group.add_argument("--steps", type=int, help="train this many steps instead of whole epochs")
    group.add_argument("--epochs", type=int, default=14)
    group.add_argument("--batch", type=int, default=256, help="samples per step and rank")
    group.add_argument("--hidden", type=int, default=1024, help="hidden units")
    group.add_argument(
        "--samples", type=int, default=32768, help="training samples, all ranks together"
    )
    group.add_argument("--seed", type=int, default=7)
    group.add_argument("--evaluate-every", default="epoch", metavar="N|epoch|none")
    group.add_argument("--evaluate-samples", type=int, default=28672)
    group.add_argument(
        "--evaluate-on", type=EvaluateOn, default=EvaluateOn.RANK_ZERO, metavar="rank0|all"
    )
    group.add_argument(
        "--checkpoint-every", type=int, default=0, metavar="N", help="steps; 0: never"
    )
    group.add_argument(
        "--checkpoint-on", type=EvaluateOn, default=EvaluateOn.RANK_ZERO, metavar="rank0|all"
    )
    group.add_argument("--checkpoint-file", default="checkpoint.npz")
    group.add_argument("--markers", action="store_true", help="mark phases and steps for perfscope")
    group.add_argument("--quiet", action="store_true", help="print the result line only")
    group.add_argument(
        "--log", metavar="FILE", help="append the program's own work times as JSON lines"
    )


def _add_work(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("time added to the real work of each part")
    group.add_argument(
        "--work",
        type=Work,
        default=Work.COMPUTE,
        metavar="sleep|compute",
        help="what the added time is made of",
    )
    for part in ("forward", "backward", "evaluate", "checkpoint"):
        group.add_argument(f"--{part}-ms", type=float, default=0.0, metavar="MS")


def _add_faults(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("planted faults")
    group.add_argument(
        "--imbalance", type=float, default=1.0, metavar="FACTOR", help="work of one rank per step"
    )
    group.add_argument("--imbalance-rank", type=int, default=0, metavar="R")
    group.add_argument(
        "--slow-rank", type=int, metavar="R", help="rank that loses --slow-ms each step"
    )
    group.add_argument("--slow-ms", type=float, default=0.0, metavar="MS")
    group.add_argument(
        "--slow-where", type=SlowPart, default=SlowPart.FORWARD, metavar="forward|backward"
    )
    group.add_argument(
        "--random-slow-ms", type=float, default=0.0, metavar="MS", help="another rank each step"
    )
    group.add_argument(
        "--slow-input-ms", type=float, default=0.0, metavar="MS", help="per batch, in the producer"
    )
    group.add_argument(
        "--queue-depth", type=int, default=4, help="batches that the producer works ahead"
    )
    group.add_argument(
        "--producers", type=int, default=1, help="threads that make batches, in the same order"
    )
    group.add_argument(
        "--tensors", type=int, default=1, help="parts in which gradients are added up, one by one"
    )
    group.add_argument(
        "--leak-kib", type=int, default=0, metavar="KIB", help="memory kept forever, per step"
    )
    group.add_argument(
        "--blas-threads", type=int, metavar="N", help="default: 1, or what the environment says"
    )
    group.add_argument(
        "--network-extra-kib", type=int, default=0, metavar="KIB", help="padding of the allreduce"
    )
