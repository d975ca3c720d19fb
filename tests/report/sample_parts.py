"""The parts of the made-up result documents, in the schema of analysis.json."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfscope.schema.common import Place, Series
from perfscope.schema.communication import LateArrival, Operation
from perfscope.schema.efficiency import METRICS
from perfscope.schema.enums import Account
from perfscope.schema.resources import (
    MemoryOfNode,
    MemoryOfRank,
    ThreadGroup,
    Threads,
    ThreadsOfNode,
    ThreadsOfRank,
)
from perfscope.schema.time import LedgerAccount, TimePart

Json = dict[str, Any]

EVALUATOR_FILE = "/home/a/very/long/way/down/to/the/projects/of/somebody/examples/train.py"


@dataclass(frozen=True)
class Shape:
    """What a made-up run is like."""

    ranks: int
    hosts: int = 1
    wall_s: float = 28.4
    evaluation_s: float = 0.0  # on rank 0, in all
    imbalance: float = 0.01  # relative spread of the training work
    steps: int = 240
    growing_memory: bool = False
    horovod: bool = False


def metric(value: float | None, unit: str, reason: str | None = None, **variant: str) -> Json:
    """A metric object."""
    out: Json = {"value": value, "unit": unit}
    if reason is not None:
        out["reason"] = reason
    return out | variant


def efficiencies(outside: np.ndarray, useful: np.ndarray, window_s: float) -> Json:
    variant = {"useful": "outside_communication", "foa": "communication_lifetime", "formula": "pop"}
    balance = float(outside.mean() / outside.max())
    communication = float(outside.max() / window_s)
    transfer = 0.5 + communication / 2
    productive = float(useful.sum() / outside.sum())
    values = (
        balance * communication,
        balance,
        communication,
        communication / transfer,
        transfer,
        productive,
        balance * communication * productive,
    )
    return {
        name: metric(value, "ratio", **variant) for name, value in zip(METRICS, values, strict=True)
    }


def series(points: int, wall_s: float, low: float, high: float, seed: int) -> Series:
    rng = np.random.default_rng(seed)
    seconds = np.linspace(0.0, wall_s, points)
    values = np.interp(seconds, [0, wall_s * 0.15, wall_s], [low * 0.5, low, high])
    values = values * (1 + 0.01 * rng.standard_normal(points))
    return Series(tuple(seconds.round(3).tolist()), tuple(values.round(3).tolist()))


def seconds(shape: Shape) -> dict[str, np.ndarray]:
    """Seconds of each account by rank; the rest of the wall time is communication."""
    rng = np.random.default_rng(7)
    ranks = shape.ranks
    spread = 1 + shape.imbalance * (rng.random(ranks) * 2 - 1)
    evaluation = np.zeros(ranks)
    evaluation[0] = shape.evaluation_s
    life = np.full(ranks, shape.wall_s)
    start = 1.1 + 0.05 * rng.random(ranks)
    training = (shape.wall_s - shape.evaluation_s - 2.6) * 0.9 * spread
    used = training + evaluation + start + 0.2 + 0.35 + 0.05 + 0.3
    transfer = np.full(ranks, 0.4)
    return {
        "training": training,
        "input_wait": np.full(ranks, 0.35),
        "evaluation": evaluation,
        "communication_transfer": transfer,
        "communication_wait": np.maximum(life - used - transfer, 0.02),
        "communication_other": np.full(ranks, 0.05),
        "computation": np.full(ranks, 0.3),
        "start_up": start,
        "shutdown": np.full(ranks, 0.2),
    }


def ledger(seconds: dict[str, np.ndarray], ranks: int) -> list[LedgerAccount]:
    total = sum(float(v.sum()) for v in seconds.values())
    spent = {account: seconds.get(account.value, np.zeros(ranks)) for account in Account}
    return [
        LedgerAccount(
            account.value,
            account.label,
            float(own.sum()),
            float(own.sum()) / total if total else 0.0,
            tuple(int(v * 1e9) for v in own),
            account.meaning,
        )
        for account, own in spent.items()
    ]


def breakdown(seconds: dict[str, np.ndarray], wall_s: float) -> list[TimePart]:
    """Means over the ranks, of the launcher, and of what the verdict is about."""
    means = {one: float(seconds[one.value].mean()) for one in Account if one.value in seconds}
    found = [
        TimePart(one.value, one.label, one.meaning, s, s / wall_s) for one, s in means.items() if s
    ]
    rest = wall_s - sum(means.values())
    cause = TimePart("of_verdict", "Evaluation", "", wall_s / 4, 0.25, wall_s / 8)
    return [*found, TimePart("outside", "Launcher", "", rest, rest / wall_s), cause]


def finding(identity: str, status: str, title: str, summary: str, **more: Any) -> Json:
    base: Json = {
        "id": identity,
        "status": status,
        "title": title,
        "summary": summary,
        "confidence": "high",
    }
    base |= dict.fromkeys(("gain_s", "gain_interval_s", "gain_share", "gain_basis", "window_s"))
    lists = ("ranks", "where", "evidence", "actions", "references", "overlaps", "assumptions")
    base |= {"planned": None, "holder": None} | {key: [] for key in lists} | more
    share, gain = base["gain_share"], base["gain_s"]
    same = {key: base[key] for key in ("gain_s", "gain_interval_s", "gain_share", "gain_basis")}
    first = None if gain is None else same | {"gain_run_share": share}
    return base | {"gain_run_share": share, "first_action": first}


def findings(shape: Shape) -> list[Json]:
    evaluation = shape.evaluation_s
    found = []
    if evaluation:
        found.append(
            finding(
                "rank_zero_evaluation",
                "fail",
                "Rank 0 evaluates alone while the other ranks wait",
                f"Rank 0 spent {evaluation:.1f} s in evaluate(); the others waited for it in "
                "MPI_Allreduce.",
                gain_s=evaluation * 0.93,
                gain_interval_s=[evaluation * 0.9, evaluation * 0.97],
                gain_share=evaluation * 0.93 / shape.wall_s,
                gain_basis="replay",
                ranks=[0],
                window_s=[3.1, shape.wall_s - 1],
                where=[{"file": EVALUATOR_FILE, "line": 212, "function": "evaluate"}],
                evidence=[
                    {
                        "label": "Evaluation on rank 0",
                        "value": evaluation,
                        "unit": "s",
                        "expected": "about the same on every rank",
                    },
                    {
                        "label": "Ranks that evaluate",
                        "value": f"1 of {shape.ranks}",
                        "unit": "",
                        "expected": "",
                    },
                ],
                actions=[
                    "Let every rank evaluate its own part of the validation set.",
                    "Evaluate less often, or on a sample of the validation set.",
                ],
                references=[
                    "POP Centre of Excellence, metrics: https://co-design.pop-coe.eu/metrics/"
                ],
                overlaps=["load_imbalance"],
            )
        )
    if shape.imbalance > 0.05:
        found.append(
            finding(
                "load_imbalance",
                "warn",
                "Some ranks have more work than others",
                "The slowest rank worked longer than the mean of all ranks in every step.",
                gain_s=shape.imbalance * 6,
                gain_share=shape.imbalance * 6 / shape.wall_s,
                gain_basis="upper_bound",
                confidence="medium",
                ranks=list(range(0, shape.ranks, 7)),
                where=[{"file": "examples/train.py", "line": 148, "function": "backward"}],
                actions=["Give every rank the same number of samples per step."],
            )
        )
    else:
        found.append(
            finding("load_imbalance", "pass", "Work is spread evenly", "The spread is below 3 %.")
        )
    found.append(
        finding(
            "threads_over_cores",
            "pass",
            "Ranks do not run more threads than they have cores",
            "0.98 runnable threads on average for 1 CPU each.",
        )
    )
    order = ["fail", "warn", "info", "not_measured", "not_applicable", "pass", "error"]
    return sorted(found, key=lambda f: order.index(f["status"]))


def phase(identity: str, label: str, seconds: np.ndarray, where: list[Json], **more: Any) -> Json:
    entering = [r for r, s in enumerate(seconds) if s > 0]
    base = {
        "id": identity,
        "label": label,
        "kind": identity,
        "source": "sampled",
        "count": 240,
        "ranks": entering,
        "seconds_by_rank": seconds.tolist(),
        "communication_s_by_rank": (seconds * 0.08).tolist(),
        "where": where,
        "metrics": None,
        "windows_s": [[r, 1.2, 2.0] for r in entering[:8]],
    }
    return base | more


def steps(shape: Shape) -> Json:
    numbers = np.arange(shape.steps)
    low = 0.085 + 0.003 * np.sin(numbers / 9)
    high = low * (1 + shape.imbalance) + 0.002
    if shape.evaluation_s:
        high = high + np.where(numbers % 40 == 39, shape.evaluation_s / 6, 0)
    seconds = np.linspace(1.3, shape.wall_s - 0.5, shape.steps)
    return {
        "source": "collectives",
        "count": shape.steps,
        "numbers": numbers.tolist(),
        "max_seconds": high.round(5).tolist(),
        "min_seconds": low.round(5).tolist(),
        "series": {
            "loss": [[float(s), 2.3 * math.exp(-i / 90) + 0.1] for i, s in enumerate(seconds)]
        },
    }


def collectives(seconds: dict[str, np.ndarray], shape: Shape) -> Json:
    wait, transfer = seconds["communication_wait"], seconds["communication_transfer"]
    waited, moved = float(wait.sum()), float(transfer.sum())
    operations = [
        ("MPI_Allreduce", wait * 0.97 + transfer * 0.9, shape.steps * shape.ranks, 8_400_000),
        ("MPI_Bcast", wait * 0.02 + transfer * 0.08, 3 * shape.ranks, 410_000),
        ("MPI_Barrier", wait * 0.01 + transfer * 0.02, 2 * shape.ranks, 0),
    ]
    main = Place("examples/train.py", 260, "main")
    phase, name = ("evaluate", "evaluate") if shape.evaluation_s else ("train", "backward")
    stall_s, window_s = max(shape.evaluation_s, 0.2), (3.1, shape.wall_s - 1)
    train, data, last = "examples/train.py", "examples/data.py", shape.ranks - 1
    return {
        "operations": [
            Operation(
                name,
                calls,
                float(own.sum()),
                own.tolist(),
                bytes_sent=calls * size // 10,
                bytes_received=calls * size // 10,
                wait_s=waited * 0.9,
                transfer_s=moved * 0.9,
                detailed_calls=calls,
            )
            for name, own, calls, size in operations
        ],
        "clocks_reason": None,
        "wait_s_by_rank": wait,
        "transfer_s_by_rank": transfer,
        "other_s_by_rank": seconds["communication_other"],
        "late_arrivals": [
            LateArrival(0, phase, name, train, 212, main, waited * 0.8, stall_s, 6, window_s),
            LateArrival(last, "", "load_batch", data, 31, None, 0.21, 0.2, 31, (1.3, 4.0)),
        ],
        "matched_calls": shape.steps * shape.ranks,
        "unmatched": {},
        "gradient_exchange": None,
    }


def host(rank: int, shape: Shape) -> str:
    return f"node{rank * shape.hosts // shape.ranks:02d}"


def hosts(shape: Shape) -> dict[str, tuple[int, ...]]:
    names = [host(rank, shape) for rank in range(shape.ranks)]
    return {
        name: tuple(rank for rank, own in enumerate(names) if own == name)
        for name in dict.fromkeys(names)
    }


def memory(shape: Shape) -> Json:
    points = 200 if shape.ranks <= 64 else 40
    ranks = []
    for rank in range(shape.ranks):
        low = 240e6 + 1e6 * (rank % 7)
        high = low * (1.6 if shape.growing_memory else 1.02)
        ranks.append(
            MemoryOfRank(
                rank,
                host(rank, shape),
                peak_bytes=int(high * 1.02),
                start_bytes=int(low),
                end_bytes=int(high),
                slope_bytes_per_s=(high - low) / shape.wall_s,
                limit_bytes=None,
                peak_phase="",
                tree_bytes=None,
                descendants=0,
                series=series(points, shape.wall_s, low, high, rank),
            )
        )
    nodes = [MemoryOfNode(name, 8 << 30, 5 << 30, 0, own) for name, own in hosts(shape).items()]
    return {"reason": None, "ranks": ranks, "nodes": nodes}


def threads(shape: Shape) -> Threads:
    points, wall_s = 200 if shape.ranks <= 64 else 40, shape.wall_s
    groups = (ThreadGroup("python", 1, wall_s * 0.9, 0.93), ThreadGroup("openblas", 4, 0.4, 0.03))
    ranks = [
        ThreadsOfRank(
            rank,
            host(rank, shape),
            pool_threads=1,
            threads_max=5,
            runnable_mean=0.96,
            runnable_p95=1.0,
            cpu_s=wall_s * 0.93,
            cpu_utilization=0.93,
            queue_delay_s=0.4 + 0.01 * rank,
            involuntary_switches=210 + rank,
            voluntary_switches=4100,
            cpus_allowed=str(rank % 64),
            cpus_available=1.0,
            groups=groups,
            threads_series=series(points, wall_s, 5, 5, rank),
            runnable_series=series(points, wall_s, 0.9, 1, rank + 1),
            cpu_series=series(points, wall_s, 0.92, 0.95, rank + 2),
        )
        for rank in range(shape.ranks)
    ]
    each = shape.ranks / shape.hosts
    nodes = [
        ThreadsOfNode(name, own, float(max(int(each), 1)), 0.96 * each, 1.0 * each, ())
        for name, own in hosts(shape).items()
    ]
    return Threads(None, tuple(ranks), tuple(nodes))
