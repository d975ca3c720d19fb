"""The runs that scripts/make_sample_traces.py records, and what their programs know themselves."""

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

LOG = "program.jsonl"
Known = dict[str, Any]
"""What goes to known_values.json: numbers, and lists with one number for each rank."""


@dataclass(frozen=True)
class Sample:
    """One recording: how it is made and what a reader should know about it."""

    name: str  # of its directory
    environment: str  # whose packages it needs, below .envs/
    program: tuple[str, ...]  # the command that is recorded
    files: tuple[str, ...]  # of examples/, that it needs
    ranks: int  # their number
    wrong: str  # what is wrong on purpose
    expected: str  # what the report should say
    known: Callable[[list[Known]], Known]  # reads the program's own log
    options: tuple[str, ...] = ()  # of `perfscope run`
    variables: tuple[tuple[str, str], ...] = ()  # set for the job

    @property
    def command(self) -> list[str]:
        """What is typed."""
        return ["perfscope", "run", *self.options, "--", *self.program]

    def known_values(self, log: Path) -> Known:
        """What the program measured itself."""
        return self.known(list(map(json.loads, log.read_text(encoding="utf-8").splitlines())))


def _parts(lines: list[Known]) -> Known:
    """Seconds of each part by rank, steps, and the program's result."""
    seconds: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    steps, result = set(), {}
    for line in lines:
        for part, value in line.get("seconds", {}).items():
            seconds[part][line["rank"]] += value
        if "step" in line:
            steps.add(line["step"])
        if line["rank"] == 0 and "loss" in line:
            result = {key: line[key] for key in ("loss", "accuracy", "training_s")}
    ranks = sorted({line["rank"] for line in lines})
    by_rank = {
        part: [round(found.get(rank, 0.0), 6) for rank in ranks] for part, found in seconds.items()
    }
    return {"steps": len(steps), "seconds_by_rank": by_rank, **result}


def _ahead(lines: list[Known]) -> list[float]:
    """Median over steps of how long before the last rank each was ready: what it has to wait."""
    ready: dict[int, dict[int, float]] = defaultdict(dict)
    for line in lines:
        if "ready_s" in line:
            ready[line["rank"]][line["step"]] = line["ready_s"]
    ahead = [
        median(max(moments[step] for moments in ready.values()) - own[step] for step in own)
        for _, own in sorted(ready.items())
    ]
    return [round(value, 6) for value in ahead]


def _lost(lines: list[Known]) -> Known:
    """What each rank lost in a step and how long it was ahead; seconds of its evaluations."""
    ranks = sorted({line["rank"] for line in lines})
    known: Known = {"steps": len({line["step"] for line in lines if "step" in line})}
    lost = [[line["lost_s"] for line in lines if line["rank"] == r] for r in ranks]
    known["lost_s_median_by_rank"] = [round(median(values), 6) for values in lost]
    known["ahead_s_median_by_rank"] = _ahead(lines)
    spent = [sum(li.get("evaluate_s", 0.0) for li in lines if li["rank"] == r) for r in ranks]
    if any(spent):
        known["seconds_by_rank"] = {"evaluate": [round(value, 6) for value in spent]}
    return known


def _ddp(lines: list[Known]) -> Known:
    """Parts as anywhere, and how long each rank's last gradient was there before the other's."""
    return {**_parts(lines), "ahead_s_median_by_rank": _ahead(lines)}


def _daal(lines: list[Known]) -> Known:
    """Seconds of each algorithm by rank, and its rows."""
    lines = sorted(lines, key=lambda line: int(line["rank"]))
    return {
        "rounds": lines[0]["rounds"],
        "rows_by_rank": [line["rows"] for line in lines],
        "seconds_by_rank": {
            name: [round(line["seconds"][name], 6) for line in lines]
            for name in lines[0]["seconds"]
        },
    }


# Importing TensorFlow takes half of these runs and many names; the default would double their size.
_SPARSE = ("--stack-hz", "3", "--sample-hz", "5")
_MPIRUN = ("mpirun", "-n", "2", "python")

SAMPLES = (
    Sample(
        name="rank_zero_evaluation",
        environment="mpich",
        program=(*_MPIRUN, "train_numpy.py", "--epochs", "8", "--log", LOG),
        files=("train_numpy.py", "trainer"),
        ranks=2,
        wrong="After each epoch rank 0 evaluates alone, while rank 1 waits for it in the next "
        "`MPI_Allreduce`. There is no marker in the program.",
        expected="The verdict names the evaluation on rank 0, `evaluate` in `train_numpy.py`, and "
        "its predicted gain is the time of all evaluations on rank 0.",
        known=_parts,
    ),
    Sample(
        name="sgan_evaluation",
        environment="horovod",
        program=(
            *(*_MPIRUN, "sgan_keras.py", "--epochs", "2", "--iterations-per-epoch", "6"),
            *("--predict-method", "predict", "--evaluate-samples", "40", "--log", LOG),
        ),
        files=("sgan_keras.py", "sgan"),
        ranks=2,
        wrong="After each epoch rank 0 alone judges 40 images, one `predict` each, while rank 1 "
        "already waits for it in Horovod's next allreduce.",
        expected="Rank 0 works alone in its evaluation while rank 1 waits; Horovod's thread is a "
        "location of its own, and of its time only what is exposed counts as communication.",
        known=_lost,
        options=_SPARSE,
    ),
    Sample(
        name="horovod_straggler",
        environment="horovod",
        program=(
            *(*_MPIRUN, "horovod_mnist.py", "--epochs", "2", "--steps", "25"),
            *("--slow-rank", "1", "--slow-ms", "50", "--log", LOG),
        ),
        files=("horovod_mnist.py",),
        ranks=2,
        wrong="Rank 1 loses 50 ms at the begin of each step.",
        expected="Rank 0 waits in each step for what rank 1 lost: the exposed part of Horovod's "
        "communication, told without its timeline. Rank 1 is named as the late one.",
        known=_lost,
        options=_SPARSE,
    ),
    Sample(
        name="ddp_slow_rank",
        environment="torch",
        program=(
            *("python", "-m", "torch.distributed.run", "--nproc-per-node", "2"),
            *("--local-addr", "127.0.0.1", "train_ddp.py"),
            *("--steps", "60", "--workers", "2", "--slow-ms", "20", "--timings", LOG),
        ),
        files=("train_ddp.py",),
        ranks=2,
        wrong="Rank 1 loses 20 ms in each forward pass. Each rank has two DataLoader workers.",
        expected="Rank 0 waits for the gradients of rank 1 as long as the program itself says; the "
        "workers are shown under their rank and are no ranks.",
        known=_ddp,
        # The neutral name of the host means nothing to the network.
        variables=(("GLOO_SOCKET_IFNAME", "lo"), ("OMP_NUM_THREADS", "1")),
    ),
    Sample(
        name="daal4py_imbalance",
        environment="daal4py",
        program=(
            *(*_MPIRUN, "kmeans_daal4py.py", "--threads", "1", "--points", "240000"),
            *("--skew", "0.6", "--clusters", "24", "--rounds", "12", "--log", LOG),
        ),
        files=("kmeans_daal4py.py",),
        ranks=2,
        wrong="Rank 0 has four times the rows of rank 1.",
        expected="Rank 0 works longer than rank 1, which waits for it in the exchange of partial "
        "results; each algorithm is a phase.",
        known=_daal,
    ),
)
