"""Which faults are planted, which fix is made, and the edit that predicts it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """An example: where it runs, and what all its runs have in common."""

    environment: str
    script: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Variant:
    """One way to run a program; `{steps}` among the options is the number of steps."""

    id: str
    program: Program
    options: tuple[str, ...]
    steps: int


@dataclass(frozen=True)
class Row:
    """A fault and its fix."""

    fault: str  # what the table calls the fault
    fix: str  # and the fix
    before: Variant  # the run with the fault
    after: Variant  # the run with the fix really made
    edit: str  # what `perfscope whatif` is asked about the run with the fault


TRAINER = Program(
    "mpich",
    "train_numpy.py",
    (
        *("--quiet", "--batch", "32", "--hidden", "64", "--samples", "320", "--work", "sleep"),
        *("--evaluate-samples", "512", "--evaluate-ms", "80", "--steps", "{steps}"),
    ),
)
SGAN = Program(
    "tensorflow",
    "sgan_keras.py",
    (
        *("--parallel", "mpi4py", "--epochs", "{steps}", "--iterations-per-epoch", "5"),
        *("--evaluate-samples", "150"),
    ),
)
STEP = ("--forward-ms", "5", "--backward-ms", "10")
NEVER = ("--evaluate-every", "none")
EVERY_EPOCH = ("--evaluate-every", "epoch")  # of 5 steps
EVERY_15 = ("--evaluate-every", "15")


def _trainer(name: str, steps: int, *options: str) -> Variant:
    return Variant(name, TRAINER, options, steps)


def _sgan(name: str, *options: str) -> Variant:
    return Variant(name, SGAN, options, 24)


HEALTHY = _trainer("healthy", 150, *STEP, *NEVER)
EVALUATED = _trainer("evaluated", 150, *STEP, *EVERY_EPOCH)
RARELY = _trainer("evaluated every 15", 150, *STEP, *EVERY_15)
STRAGGLER = _trainer("straggler", 150, *STEP, *NEVER, "--slow-rank", "1", "--slow-ms", "10")
UNEVEN = _trainer(
    "uneven", 120, *STEP, *NEVER, "--imbalance", "2", "--imbalance-rank", "1", "--batch", "32"
)
EVEN = _trainer("even", 120, "--forward-ms", "7.5", "--backward-ms", "15", *NEVER, "--batch", "48")
STARVED = _trainer("starved", 120, *STEP, *NEVER, "--slow-input-ms", "26")
FED = _trainer("two producers", 120, *STEP, *NEVER, "--slow-input-ms", "26", "--producers", "2")
REFILLED = _trainer("refilled", 120, *STEP, *EVERY_EPOCH, "--slow-input-ms", "20")
UNREFILLED = _trainer("never refilled", 120, *STEP, *NEVER, "--slow-input-ms", "20")
SMALL = _trainer("400 allreduces", 600, *NEVER, "--tensors", "400")
FUSED = _trainer("one allreduce", 600, *NEVER)
SGAN_EVALUATED = _sgan("S-GAN evaluated", "--evaluate-every", "1")
SGAN_RARELY = _sgan(
    "S-GAN evaluated every 15", "--evaluate-every", "15", "--evaluate-unit", "iterations"
)
SGAN_NEVER = _sgan("S-GAN never evaluated", "--evaluate-every", "0")

ROWS = (
    Row(
        *("rank 0 evaluates every epoch (5 steps)", "every 15 steps"),
        *(EVALUATED, RARELY, "every:3:evaluation@0"),
    ),
    Row("rank 0 evaluates every epoch", "never", EVALUATED, HEALTHY, "remove:evaluation@0"),
    Row("rank 0 evaluates every 15 steps", "never", RARELY, HEALTHY, "remove:evaluation@0"),
    Row(
        *("rank 0 evaluates every epoch while its queue refills", "never"),
        *(REFILLED, UNREFILLED, "remove:evaluation@0"),
    ),
    Row("rank 1 loses 10 ms a step", "as fast as rank 0", STRAGGLER, HEALTHY, "straggler@1"),
    Row("rank 1 has twice the work", "the same work dealt out evenly", UNEVEN, EVEN, "balance"),
    Row("input starves: one producer", "two producers", STARVED, FED, "producers:2"),
    Row("400 small allreduces a step", "fused to one", SMALL, FUSED, "fuse:64M"),
    Row(
        *("S-GAN: rank 0 evaluates every epoch (5 iterations)", "every 15 iterations"),
        *(SGAN_EVALUATED, SGAN_RARELY, "every:3:evaluation@0"),
    ),
    Row(
        *("S-GAN: rank 0 evaluates every epoch", "never"),
        *(SGAN_EVALUATED, SGAN_NEVER, "remove:evaluation@0"),
    ),
)
