"""Result documents of made-up runs, in the schema of analysis.json, for the tests of the report."""

import numpy as np

from perfscope import __version__
from perfscope.schema.analysis import Analysis
from perfscope.schema.enums import Account, EndKind
from perfscope.schema.run import Ending, Host
from perfscope.schema.time import FunctionShare
from perfscope.schema.write import plain
from tests.report import sample_parts as parts
from tests.report.sample_activities import activities
from tests.report.sample_causes import causes, collective_cost, wait_states
from tests.report.sample_horovod import horovod, tensors
from tests.report.sample_hostile import attacked
from tests.report.sample_losses import losses
from tests.report.sample_parts import Json, Shape, metric
from tests.report.sample_stacks import memory_lines, stacks
from tests.report.sample_timeline import timeline
from tests.support.least_document import least

REASON = "nothing was recorded of this run: record it with `perfscope run -- COMMAND`"


def document(shape: Shape) -> Json:
    """A complete result document of a made-up run."""
    seconds = parts.seconds(shape)
    outside = seconds["training"] + seconds["input_wait"] + seconds["evaluation"]
    findings = parts.findings(shape)
    top = [f for f in findings if f["gain_s"]][:3]
    gain = max((f["gain_s"] for f in top), default=None)
    where = [{"file": "examples/train.py", "line": 148, "function": "train_step"}]
    phases = [parts.phase("train", "Training", seconds["training"], where)]
    if shape.evaluation_s:
        where = [{"file": "examples/train.py", "line": 212, "function": "evaluate"}]
        phases.append(parts.phase("evaluate", "Evaluation", seconds["evaluation"], where, count=6))
    window = shape.wall_s - 1.5
    efficiencies = parts.efficiencies(outside, seconds["training"], window)
    phases[0]["metrics"] = dict(efficiencies)
    made: Json = plain(
        {
            "schema_version": "1",
            "tool": {"name": "perfscope", "version": __version__},
            "run": _run(shape, window),
            "verdict": _verdict(top, gain, shape),
            "ledger": parts.ledger(seconds, shape.ranks),
            "ledger_functions": _functions(seconds),
            "unlabeled": {"share": 0.013, "seconds": 0.4, "target": 0.05},
            "metrics": efficiencies
            | {
                "outside_communication_s_by_rank": outside.tolist(),
                "useful_s_by_rank": seconds["training"].tolist(),
                "productive_split": {"input": 0.014, "evaluation": 0.18, "other": 0.011},
            },
            "losses": losses(seconds),
            "phases": phases,
            "steps": parts.steps(shape),
            "timeline": timeline(shape, window),
            "collectives": parts.collectives(seconds, shape)
            | {
                "cost": collective_cost(shape),
                "wait_states": wait_states(seconds["communication_wait"].tolist()),
            },
            "horovod": horovod(shape) if shape.horovod else None,
            "tensors": tensors(shape) if shape.horovod else None,
            "memory": parts.memory(shape) | {"lines": memory_lines()},
            "activities": activities(),
            "stacks": stacks(shape),
            "threads": parts.threads(shape),
            "io": {
                "reason": None,
                "read_bytes_by_rank": [31_000_000 + r for r in range(shape.ranks)],
                "stalled_s_by_rank": [0.1 * r for r in range(shape.ranks)],
                "written_bytes_by_rank": [12_000 * (r + 1) for r in range(shape.ranks)],
            },
            "devices": _no_devices(),
            "hardware": None,
            "other_tools": [tool_report()],
            "replay": {
                "available": True,
                "reason": "",
                "relative_error": 3.1e-9,
                "ideal_runtime_s": window * 0.97,
                "edits_assumptions": ["input queues refill at the speed seen in the run"],
                **causes(shape, window),
            },
            "findings": findings,
            "quality": _quality(),
            "how_measured": _how_measured(),
            "breakdown": parts.breakdown(seconds, shape.wall_s),
        }
    )
    return made


def tool_report() -> Json:
    """Figures of another tool, of every kind."""
    kinds = ("code", "s", "bytes", "ratio", "share", "count", "number", "text")
    row = ["MPI_Allreduce", 1.5, 4096, 0.75, 0.5, 12, 3.25, "per rank"]
    table = {
        "title": "By region",
        "columns": [{"title": f"In {kind}", "quantity": kind} for kind in kinds],
        "rows": [row, ["MPI_Bcast", *[None] * 7]],
        "rows_left_out": 3,
    }
    says = ["Of 12 calls it counts 1.5 s as communication"]
    return {"tool": "TALP", "file": "talp.json", "says": says, "tables": [table]}


def _run(shape: Shape, window_s: float) -> Json:
    hosts = [Host(name, own) for name, own in parts.hosts(shape).items()]
    samples = shape.steps * 64 * shape.ranks / window_s
    return {
        "program": "train.py",
        "command": ["mpirun", "-n", str(shape.ranks), "python", "examples/train.py", "--epochs=6"],
        "commit": None,
        "source": "trace",
        "start_unix_s": 1_795_000_000.0,
        "wall_s": shape.wall_s,
        "launcher": "mpirun (MPICH)",
        "exit_code": 0,
        "ranks": shape.ranks,
        "recorded_ranks": shape.ranks,
        "missing_ranks": [],
        "damage": [],
        "incomplete_ranks": [],
        "hosts": hosts,
        "focus_of_analysis_s": [1.2, 1.2 + window_s],
        "focus_kind": "communication_lifetime",
        "focus_reason": "from the last rank's exit of MPI_Init to the last entry into MPI_Finalize",
        "endings": [
            Ending(
                rank,
                parts.host(rank, shape),
                4000 + rank,
                EndKind.FINALIZED,
                code=None,
                text="finalized",
                start_s=0.0,
                end_s=shape.wall_s,
                in_operation=None,
                exception=None,
                is_out_of_memory=False,
                is_first=False,
            )
            for rank in range(shape.ranks)
        ],
        "throughput": {
            "samples": round(samples * shape.wall_s),
            "samples_per_s": metric(samples, "1/s"),
            "step_s_median": metric(0.0874, "s"),
            "step_s_p95": metric(0.0951, "s"),
            "epoch_s_median": metric(4.31, "s"),
            "time_to_solution_s": metric(shape.wall_s, "s"),
            "steps": shape.steps,
            "step_source": "collectives",
        },
        "batch_size": 64,
        "versions": {"python": "3.11.7", "numpy": "2.4.6", "mpi4py": "4.1.2", "MPICH": "5.0.2"},
        "environment": {"OMP_NUM_THREADS": "1", "SLURM_JOB_ID": "81231"},
        "topology": [
            {"host": h.name, "sockets": 1, "cores": 2, "smt": False, "numa_nodes": 1, "cpus": 2}
            for h in hosts
        ],
    }


def _verdict(top: list[Json], gain: float | None, shape: Shape) -> Json:
    sentence = (
        f"Rank 0 evaluates alone for {shape.evaluation_s:.1f} s while the other ranks wait: "
        f"fixing it would save about {gain:.1f} of {shape.wall_s:.1f} s."
        if shape.evaluation_s and gain
        else "Nothing costs this run more than 3 % of its time."
    )
    return {
        "sentence": sentence,
        "status": top[0]["status"] if top else "pass",
        "efficiency": {
            "id": "parallel_efficiency",
            "label": "parallel efficiency",
            "value": 0.8,
            "reason": None,
        },
        "combined_gain_s": gain,
        "combined_gain_share": gain / (shape.wall_s - 1.5) if gain else None,
        "combined_gain_run_share": gain / shape.wall_s if gain else None,
        "combined_of": [f["id"] for f in top] if gain else [],
        "combined_text": f"fixing both would save up to {gain:.2f} s"
        if gain and len(top) > 1
        else None,
        "top": [f["id"] for f in top],
    }


def _functions(seconds: dict[str, np.ndarray]) -> list[FunctionShare]:
    rows = [
        ("train_step", "examples/train.py", 148, Account.TRAINING, seconds["training"] * 0.8),
        ("load_batch", "examples/data.py", 31, Account.INPUT_WAIT, seconds["input_wait"]),
        ("evaluate", "examples/train.py", 212, Account.EVALUATION, seconds["evaluation"]),
        ("build_model", "examples/model.py", 12, Account.COMPUTATION, seconds["computation"]),
    ]
    total = sum(float(v.sum()) for v in seconds.values())
    return [
        FunctionShare(
            function,
            file,
            line,
            float(own.sum()),
            float(own.sum()) / total,
            account,
            tuple(own.tolist()),
        )
        for function, file, line, account, own in rows
        if own.sum() > 0
    ]


def _no_devices() -> Json:
    sampled: Json = {"value": None, "reason": "no NVIDIA driver is loaded", "gpus": []}
    return {"value": None, "reason": "no accelerator was visible to the job", "sampled": sampled}


def _quality() -> list[Json]:
    rows = (
        ("run_length", "pass", "The run is long enough", "26.9 s, 240 steps"),
        ("overhead", "pass", "Recording overhead is low", "about 0.02 % of the run"),
        ("dropped_records", "pass", "No record was dropped", "1,440 records kept"),
        ("missing_ranks", "pass", "Every rank was recorded", ""),
        ("endings", "pass", "All ranks terminated normally", "all finalized"),
        ("clocks", "pass", "All ranks share one clock", "one host"),
        ("unlabeled_time", "pass", "1.3 % of the time has no label", "target: at most 5 %"),
        ("replay_error", "pass", "The replay reproduces the run", "relative error 3.1e-09"),
        ("recording_notes", "info", "1 note", "the agent saw no framework"),
    )
    return [dict(zip(("id", "status", "title", "detail"), row, strict=True)) for row in rows]


def _how_measured() -> list[Json]:
    return [
        {
            "term": "Focus of analysis",
            "text": "from the moment every rank has initialized communication to the last rank's "
            "entry into finalization",
        },
        {"term": "Parallel efficiency", "text": "sum of W / (P x T) = load balance x max W / T"},
    ]


def two_ranks_evaluation() -> Json:
    """Two ranks of which rank 0 evaluates alone."""
    return document(Shape(ranks=2, evaluation_s=6.2, imbalance=0.08))


def four_ranks_healthy() -> Json:
    """Four ranks with nothing to fix."""
    return document(Shape(ranks=4))


def thousand_ranks() -> Json:
    """A thousand ranks on 16 nodes, unevenly loaded, with growing memory."""
    shape = Shape(
        ranks=1000,
        hosts=16,
        imbalance=0.25,
        steps=2000,
        wall_s=213.0,
        evaluation_s=11.0,
        growing_memory=True,
    )
    doc = document(shape)
    doc["run"]["missing_ranks"] = [17, 400]
    doc["run"]["recorded_ranks"] = 998
    doc["run"]["incomplete_ranks"] = [17, 93, 400]
    doc["run"]["endings"][93] |= {"kind": "killed", "code": 9, "text": "killed by signal 9"}
    doc["quality"][3] |= {"status": "warn", "title": "2 ranks left no recording"}
    return doc


def everything_null() -> Json:
    """A run of which nothing was measured."""
    doc: Json = least(Analysis, REASON)
    doc["run"] |= {"ranks": 1, "recorded_ranks": 1, "wall_s": 42.0}
    doc["verdict"] |= {"sentence": "Nothing was measured.", "status": "info"}
    doc["ledger"] = plain(parts.ledger({}, 0))
    doc["stacks"]["reason"] = "it was recorded without --stacks"
    doc["devices"] = _no_devices()
    doc["how_measured"] = _how_measured()
    doc["findings"] = [
        parts.finding("rank_zero_evaluation", "not_measured", "Evaluation on one rank", REASON)
    ]
    return doc


def hostile() -> Json:
    """A run in which every text that a trace can carry is an attack."""
    return attacked(two_ranks_evaluation())


ALL = {
    "two_ranks": two_ranks_evaluation,
    "four_ranks": four_ranks_healthy,
    "thousand_ranks": thousand_ranks,
    "null": everything_null,
    "hostile": hostile,
}
