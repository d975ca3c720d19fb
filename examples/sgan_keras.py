"""A semi-supervised GAN on digits in Keras, data-parallel with Horovod or mpi4py.

    perfscope run -- mpirun -n 2 python examples/sgan_keras.py

A generator draws digits, a discriminator tells them from real ones, and a classifier that shares
the discriminator's layers learns the ten digits from the few images whose label it may see. Rank 0
alone evaluates the classifier, one image after the other, while the other ranks already wait for
it. See README.md beside this file.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from sgan.options import Options, parse_options


def main() -> None:
    """Trains as the command line says and prints the result."""
    options = parse_options()
    from sgan.images import load
    from sgan.networks import Networks, choose_threads
    from sgan.parallel import connect

    choose_threads(
        inter=options.inter_threads or options.threads,
        intra=options.intra_threads or options.threads,
    )
    team = connect(options.parallel)
    data = load(options, rank=team.rank, size=team.size)
    networks = Networks(options, team)
    team.start(networks.models)
    begin = time.monotonic()
    accuracy = None
    iteration = 0
    for epoch in range(options.epochs):
        with mark_epoch(epoch):
            for _ in range(options.iterations_per_epoch):
                iteration += 1
                team.lose_time(options)
                losses = networks.train(data, iteration)
                team.average(networks.models)
                if is_due(options, iteration, ranks=team.size) and team.rank == 0:
                    before = time.monotonic()
                    accuracy = networks.evaluate(data)
                    team.evaluated(time.monotonic() - before)
                    shown = "  ".join(f"{name} {value:.4f}" for name, value in losses.items())
                    print(f"iteration {iteration}: {shown}  accuracy {accuracy:.4f}", flush=True)
    team.finish(options)
    if team.rank == 0:
        shown = "none" if accuracy is None else f"{accuracy:.4f}"
        seconds = time.monotonic() - begin
        print(f"result: parallel {team.name}  accuracy {shown}  seconds {seconds:.2f}", flush=True)


def mark_epoch(epoch: int) -> Any:
    """Tells a recording which epoch runs: no framework can see that of a loop written by hand."""
    for module in ("perfscope", "perfscope_agent.marker"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(module).phase("train", epoch=epoch)
    return contextlib.nullcontext()


def is_due(options: Options, iteration: int, *, ranks: int) -> bool:
    """Whether an evaluation follows an iteration (counted from 1)."""
    every = options.evaluate_every
    if every <= 0:
        return False
    if options.evaluate_unit == "epochs":
        every *= options.iterations_per_epoch
    elif options.evaluate_unit == "nodes":
        every *= ranks
    return iteration % every == 0


if __name__ == "__main__":
    sys.exit(main())
