"""One fault each, its cure, and what the report must say of both."""

from __future__ import annotations

from dataclasses import dataclass

TRAINER = "train_numpy.py"
KERAS = "faults/keras_loop.py"


@dataclass(frozen=True)
class Case:
    """A fault and its cure.

    Attributes:
        fault: what is wrong.
        environment: below .envs/.
        script: below examples/.
        before: options with the fault.
        after: options with the cure.
        expected: the diagnosis that must fire.
        ranks: those that it must name; empty: any.
        words: that its title or first actions must hold.
        companions: diagnoses that may fire as well, as the same time shows in them.
        ranks_started: by mpirun; 0: without mpirun.
        wrapper: between mpirun and Python, with the fault only.
    """

    fault: str
    environment: str
    script: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    expected: str
    ranks: tuple[int, ...] = ()
    words: str = ""
    companions: tuple[str, ...] = ()
    ranks_started: int = 2
    wrapper: tuple[str, ...] = ()


STEP = ("--quiet", "--batch", "64", "--hidden", "128", "--work", "sleep", "--forward-ms", "8")
NEVER = (*STEP, "--evaluate-every", "none", "--steps", "200")
CHECKPOINTS = (
    *("--checkpoint-every", "20", "--checkpoint-ms", "150"),
    *("--checkpoint-file", "{place}/parameters.npz"),
)


def _trainer(
    fault: str,
    options: tuple[str, ...],
    expected: str,
    *,
    ranks: tuple[int, ...] = (),
    words: str = "",
    companions: tuple[str, ...] = (),
    ranks_started: int = 2,
) -> Case:
    """A case of the trainer, whose cure is to leave the options away."""
    return Case(
        fault,
        "mpich",
        TRAINER,
        (*NEVER, *options),
        NEVER,
        expected,
        ranks,
        words,
        companions,
        ranks_started,
    )


CASES = (
    _trainer(
        "rank 0 evaluates alone every 20 steps",
        ("--evaluate-every", "20", "--evaluate-ms", "150"),
        "rank_zero_evaluation",
        ranks=(0,),
        words="evaluate",
    ),
    _trainer(
        "all ranks evaluate every 10 steps",
        ("--evaluate-every", "10", "--evaluate-ms", "200", "--evaluate-on", "all"),
        "frequent_evaluation",
        ranks=(0, 1),
        words="evaluate",
    ),
    _trainer(
        "rank 1 loses 15 ms in each step",
        ("--slow-rank", "1", "--slow-ms", "15"),
        "load_imbalance",
        ranks=(1,),
        words="rank 1",
    ),
    _trainer(
        "rank 0 has twice the work",
        ("--imbalance", "2", "--imbalance-rank", "0"),
        "load_imbalance",
        ranks=(0,),
        words="rank 0",
    ),
    _trainer(
        "another rank loses 20 ms each step",
        ("--random-slow-ms", "20"),
        "transient_imbalance",
        words="another rank",
    ),
    _trainer(
        "a producer that is too slow",
        ("--slow-input-ms", "30"),
        "data_stall",
        words="input",
        companions=("load_imbalance", "transient_imbalance"),
    ),
    _trainer(
        "rank 0 writes a checkpoint every 20 steps",
        CHECKPOINTS,
        "rank_zero_evaluation",
        ranks=(0,),
        words="checkpoint",
    ),
    _trainer(
        "the only rank writes a checkpoint every 20 steps",
        CHECKPOINTS,
        "checkpoint_stall",
        words="background",
        ranks_started=1,
    ),
    _trainer(
        "an allreduce of 32 MiB more",
        ("--network-extra-kib", "32768"),
        "network_bound",
        words="half as many bytes",
    ),
    _trainer(
        "400 allreduces instead of one",
        ("--tensors", "400"),
        "small_allreduces",
        words="small collectives",
        companions=("transient_imbalance",),
    ),
    Case(
        "each step keeps 512 KiB",
        "mpich",
        TRAINER,
        (*STEP, "--evaluate-every", "none", "--steps", "2500", "--leak-kib", "512"),
        (*STEP, "--evaluate-every", "none", "--steps", "2500"),
        "memory_growth",
        ranks=(0, 1),
    ),
    Case(
        "8 BLAS threads on each of 2 ranks",
        "mpich",
        TRAINER,
        (
            *("--quiet", "--evaluate-every", "none", "--steps", "60", "--hidden", "1024"),
            *("--blas-threads", "8"),
        ),
        ("--quiet", "--evaluate-every", "none", "--steps", "60", "--hidden", "1024"),
        "threads_over_cores",
        words="OMP_NUM_THREADS",
        companions=("load_imbalance", "transient_imbalance", "network_bound"),
    ),
    Case(
        "both ranks bound to one core",
        "mpich",
        TRAINER,
        ("--quiet", "--evaluate-every", "none", "--steps", "120", "--hidden", "512"),
        ("--quiet", "--evaluate-every", "none", "--steps", "120", "--hidden", "512"),
        "shared_cores",
        ranks=(0, 1),
        words="Bind each rank",
        companions=(
            "threads_over_cores",
            "load_imbalance",
            "transient_imbalance",
            "network_bound",
        ),
        wrapper=("taskset", "-c", "0"),
    ),
    Case(
        "Keras: predict in a loop builds a pipeline in every call",
        "tensorflow",
        KERAS,
        ("--call", "predict", "--calls", "200"),
        ("--call", "predict_on_batch", "--calls", "200"),
        "start_up",
        words="predict_on_batch",
        companions=("memory_growth",),
        ranks_started=0,
    ),
    Case(
        "Keras: a model built and compiled in every iteration",
        "tensorflow",
        KERAS,
        ("--call", "rebuild", "--calls", "60"),
        ("--call", "train", "--calls", "60"),
        "start_up",
        words="once, before the loop",
        companions=("memory_growth",),
        ranks_started=0,
    ),
    Case(
        "TensorFlow: a function traced in every call",
        "tensorflow",
        KERAS,
        ("--call", "retrace", "--calls", "200"),
        ("--call", "traced", "--calls", "200"),
        "start_up",
        words="input_signature",
        companions=("memory_growth",),
        ranks_started=0,
    ),
)

HEALTHY: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("mpich", NEVER),
    ("openmpi", NEVER),
    ("intelmpi", NEVER),
)
"""Environments and options of runs of which no diagnosis may say a fault."""
