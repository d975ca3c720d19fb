"""Whole training jobs, recorded against unrecorded, in turn in the same run."""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.jobs import ROOT, prefix
from benchmarks.recorder.bounded import MeasurementError, run

HERE = Path(__file__).parent
RANKS = 2
MOST_PAIRS = 40
PARTS = {"stacks": ("--stack-hz", "0"), "samples": ("--sample-hz", "0")}
"""What can be left out of the recorded runs, with the options of `perfscope run` for it."""
LONGEST_RUN_S = 60.0
GOAL_PERCENT = 1.0


@dataclass(frozen=True)
class Workload:
    """A job that is measured."""

    name: str  # as in the table
    environment: str  # below .envs/, with what the job needs
    script: str  # below examples/
    starts: str  # the function of the script whose first call begins the training
    steps: int  # what `{steps}` among the options is, and what the cost is divided by
    options: tuple[str, ...]  # of the script
    # below the environment's bin/, with its options
    launcher: tuple[str, ...] = ("mpirun", "-n", str(RANKS))

    @property
    def prefix(self) -> Path:
        """Where its environment is."""
        return prefix(self.environment)

    def command(self, clocks: Path, *, shorter: int) -> list[str]:
        """The command line; its processes leave their times in `clocks`."""
        options = [word.format(steps=self.steps // shorter) for word in self.options]
        python = [] if self.launcher[0] == "torchrun" else [str(self.prefix / "bin" / "python")]
        start = [str(self.prefix / "bin" / self.launcher[0]), *self.launcher[1:], *python]
        script = str(ROOT / "examples" / self.script)
        return [*start, str(HERE / "clocked.py"), str(clocks), self.starts, script, *options]


WORKLOADS = (
    Workload(
        "mpi4py trainer",
        "mpich",
        "train_numpy.py",
        "train",
        256,
        ("--quiet", "--steps", "{steps}", "--evaluate-every", "64", "--evaluate-samples", "8192"),
    ),
    Workload(
        "S-GAN, Keras and Horovod",
        "horovod",
        "sgan_keras.py",
        "mark_epoch",
        80,
        ("--epochs", "1", "--iterations-per-epoch", "{steps}"),
    ),
    Workload(
        "Horovod, MNIST style",
        "horovod",
        "horovod_mnist.py",
        "make_callback",
        600,
        ("--epochs", "1", "--steps", "{steps}", "--batch", "64", "--hidden", "512"),
    ),
    Workload(
        "PyTorch DDP",
        "torch",
        "train_ddp.py",
        "train",
        400,
        ("--steps", "{steps}", "--batch", "64", "--hidden", "512"),
        (
            "torchrun",
            "--master-port=0",
            "--rdzv-backend=c10d",
            "--rdzv-endpoint=localhost:0",
            "--nproc-per-node",
            str(RANKS),
        ),
    ),
    Workload(
        "daal4py k-means and regression",
        "daal4py",
        "kmeans_daal4py.py",
        "part",
        40,
        ("--threads", "1", "--points", "120000", "--clusters", "24", "--rounds", "{steps}"),
    ),
)


@dataclass(frozen=True)
class Spent:
    """What one run took: the job from start to end, and its training (mean of the ranks)."""

    job_wall_s: float
    job_cpu_s: float
    training_wall_s: float
    training_cpu_s: float


@dataclass
class Compared:
    """The runs of one workload."""

    workload: Workload  # what was run
    steps: int  # of each run
    pairs: list[tuple[Spent, Spent]] = field(default_factory=list)  # unrecorded and recorded
    reason: str | None = None  # why there are none

    def percent(self, quantity: str) -> list[float]:
        """How much more of a quantity each recorded run took than its partner, in percent."""
        both = [(getattr(a, quantity), getattr(b, quantity)) for a, b in self.pairs]
        return [(recorded / bare - 1) * 100 for bare, recorded in both]

    @property
    def us_per_rank_and_step(self) -> list[float]:
        """CPU time of the training that recording added, in us."""
        extra_s = [b.training_cpu_s - a.training_cpu_s for a, b in self.pairs]
        return [extra / self.steps * 1e6 for extra in extra_s]

    def as_json(self) -> dict[str, object]:
        """As written to the results file."""
        return {
            "name": self.workload.name,
            "steps": self.steps,
            "pairs": [[vars(bare), vars(recorded)] for bare, recorded in self.pairs],
            "reason": self.reason,
        }


def compare(
    *, budget_s: float, shorter: int = 1, only: str = "", without: Sequence[str] = ()
) -> list[Compared]:
    """Runs all workloads in turn, again and again, until the time is used up.

    Args:
        budget_s: no pair of runs begins that would hardly end within it, but each has one.
        shorter: divides the steps of each workload.
        only: a part of the name of those to run.
        without: keys of `PARTS` that are left out of the recorded runs.
    """
    found = [Compared(w, w.steps // shorter) for w in WORKLOADS if only in w.name]
    options = [word for part in without for word in PARTS[part]]
    deadline = time.monotonic() + budget_s
    longest = [0.0] * len(found)
    for number in range(MOST_PAIRS):
        going = False
        for place, one in enumerate(found):
            before = time.monotonic()
            if one.reason is None and (number == 0 or before + longest[place] < deadline):
                _add_pair(one, options, shorter=shorter, recorded_first=bool(number % 2))
                longest[place] = max(longest[place], time.monotonic() - before)
                going = True
        if not going:
            break
        print(f"  round {number + 1} done", file=sys.stderr, flush=True)
    return found


def _add_pair(one: Compared, options: Sequence[str], *, shorter: int, recorded_first: bool) -> None:
    if not (one.workload.prefix / "bin" / one.workload.launcher[0]).exists():
        one.reason = f"no environment {one.workload.environment}"
        return
    try:
        runs = {
            recorded: _spent(one.workload, options if recorded else None, shorter=shorter)
            for recorded in (recorded_first, not recorded_first)
        }
    except MeasurementError as error:
        print(f"  {one.workload.name}: {error}", file=sys.stderr, flush=True)
        one.reason = str(error).splitlines()[0]
        one.pairs.clear()
        return
    one.pairs.append((runs[False], runs[True]))


def _spent(workload: Workload, options: Sequence[str] | None, *, shorter: int) -> Spent:
    """What a run takes, recorded with these options of `perfscope run`, None unrecorded."""
    with tempfile.TemporaryDirectory(prefix="perfscope-bench-") as place:
        clocks = Path(place) / "clocks"
        clocks.mkdir()
        command = workload.command(clocks, shorter=shorter)
        if options is not None:
            start = [sys.executable, "-m", "perfscope", "run", "--quiet", "--output"]
            command = [*start, f"{place}/trace", *options, "--", *command]
        done = run(command, {"OMP_NUM_THREADS": "1"}, longest_s=LONGEST_RUN_S)
        times = [json.loads(path.read_text(encoding="utf-8")) for path in clocks.glob("*.json")]
    if len(times) != RANKS:
        raise MeasurementError(f"{workload.name}: {len(times)} of {RANKS} ranks left their times")
    wall_s, cpu_s = (statistics.fmean(t[key] for t in times) for key in ("wall_s", "cpu_s"))
    return Spent(done.wall_s, done.cpu_s, wall_s, cpu_s)
