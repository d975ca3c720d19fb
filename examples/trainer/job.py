"""Everything that one rank needs for training, made from the options."""

from __future__ import annotations

import math
from dataclasses import dataclass

from trainer.blas import force_blas_threads
from trainer.faults import Faults
from trainer.glyphs import BLOCK, Images, Labels, make_samples
from trainer.network import Network
from trainer.options import EvaluateOn, Options
from trainer.prefetch import Prefetch
from trainer.ranks import Ranks, find_ranks
from trainer.stopwatch import Stopwatch

FLOAT_BYTES = 4


@dataclass(frozen=True)
class Job:
    """One rank's part of the training."""

    options: Options
    ranks: Ranks
    network: Network
    batches: Prefetch
    tests: tuple[Images, Labels]
    watch: Stopwatch
    faults: Faults
    steps: int
    steps_per_epoch: int
    evaluate_every: int  # steps; 0: this rank never evaluates
    checkpoint_every: int  # steps; 0: this rank never writes checkpoints
    rank_samples: int  # samples of this rank in one step
    step_samples: int  # samples of all ranks in one step


def set_up(options: Options) -> Job:
    """Draws this rank's shard of the samples, makes the network, starts the producer."""
    if options.blas_threads is not None:
        force_blas_threads(options.blas_threads)
    ranks = find_ranks()
    faults = Faults(options, rank=ranks.rank, size=ranks.size)
    steps_per_epoch = max(1, options.samples // (options.batch * ranks.size))
    steps = options.epochs * steps_per_epoch if options.steps is None else options.steps
    batches = [options.batch] * ranks.size
    if 0 <= options.imbalance_rank < ranks.size:
        batches[options.imbalance_rank] = max(1, round(options.batch * options.imbalance))
    blocks = max(ranks.size, math.ceil(options.samples / BLOCK))
    saves = ranks.rank == 0 or options.checkpoint_on is EvaluateOn.ALL
    return Job(
        options=options,
        ranks=ranks,
        network=Network(
            options.hidden,
            seed=options.seed + ranks.rank,
            padding=options.network_extra_kib * 1024 // FLOAT_BYTES,
        ),
        batches=Prefetch(
            make_samples(seed=options.seed, blocks=range(ranks.rank, blocks, ranks.size)),
            batch=batches[ranks.rank],
            count=steps,
            depth=options.queue_depth,
            seed=(options.seed, blocks, ranks.rank),
            delay_s=options.slow_input_ms / 1e3,
            producers=options.producers,
        ),
        tests=_draw_tests(options, ranks, first_block=blocks),
        watch=Stopwatch(rank=ranks.rank, log=options.log, markers=options.markers),
        faults=faults,
        steps=steps,
        steps_per_epoch=steps_per_epoch,
        evaluate_every=_evaluation_period(options, ranks, steps_per_epoch=steps_per_epoch),
        checkpoint_every=options.checkpoint_every if saves else 0,
        rank_samples=batches[ranks.rank],
        step_samples=sum(batches),
    )


def _evaluation_period(options: Options, ranks: Ranks, *, steps_per_epoch: int) -> int:
    """Steps between evaluations on this rank; 0: never."""
    here = ranks.rank == 0 or options.evaluate_on is EvaluateOn.ALL
    if not here or options.evaluate_every == "none":
        return 0
    return steps_per_epoch if options.evaluate_every == "epoch" else int(options.evaluate_every)


def _draw_tests(options: Options, ranks: Ranks, *, first_block: int) -> tuple[Images, Labels]:
    """The samples that this rank evaluates, none of them in any rank's training set."""
    count = max(ranks.size, math.ceil(options.evaluate_samples / BLOCK))
    blocks = range(first_block, first_block + count)
    if options.evaluate_on is EvaluateOn.ALL:
        blocks = blocks[ranks.rank :: ranks.size]
    # Otherwise all ranks draw them all, or the others would wait for rank 0 before the first step.
    return make_samples(seed=options.seed, blocks=blocks)
