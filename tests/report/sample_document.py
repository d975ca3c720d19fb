"""Result documents for the tests of the report: what the analysis says of a recording of two ranks.

What that recording does not hold is added, so that every section has something to show. Runs of
other numbers of ranks repeat the two.
"""

import json
from functools import cache
from typing import Any

from perfscope.document.analysis import analysis
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.report.build import build_html
from perfscope.schema.analysis import Analysis
from perfscope.schema.read import read_known
from perfscope.schema.write import document_text, plain
from tests.report.sample_collectives import collective_cost, wait_states
from tests.report.sample_horovod import horovod, tensors
from tests.report.sample_hostile import attacked
from tests.report.sample_stacks import memory_lines, stacks
from tests.report.sample_timeline import timeline
from tests.support.environments import REPOSITORY
from tests.support.least_document import least

Json = dict[str, Any]
RECORDING = REPOSITORY / "sample_traces" / "rank_zero_evaluation"
REASON = "nothing was recorded of this run: record it with `perfscope run -- COMMAND`"
IMBALANCE = "load_imbalance"
MOST_ROWS = 64
"""Of ranks on the critical path."""


def two_ranks_evaluation() -> Json:
    """Two ranks of which rank 0 evaluates alone; the other one has a little more work."""
    made: Json = json.loads(_two_ranks())
    return made


@cache
def _two_ranks() -> str:
    found = json.loads(document_text(analysis(open_trace(RECORDING), Options())))
    return document_text(plain(_completed(found)))


def _completed(found: Json) -> Json:
    """With every kind of figure that the recording lacks."""
    seconds = metric(0.0874, "s")
    found["run"]["batch_size"] = 64
    found["run"]["throughput"] |= {"samples": 65_408, "samples_per_s": metric(9253.0, "samples/s")}
    found["run"]["throughput"]["epoch_s_median"] = seconds
    found["steps"]["series"] = {"loss": [[1.0, 2.3], [4.0, 0.8], [7.0, 0.1]]}
    found["timeline"] = timeline(["node01"] * 2)
    found["collectives"]["cost"] = collective_cost()
    found["collectives"]["wait_states"] = wait_states(found["collectives"]["wait_s_by_rank"])
    found["memory"]["lines"] = memory_lines()
    found["io"]["stalled_s_by_rank"] = [0.0, 0.1]
    found["activities"]["garbage"] = [
        {"rank": 0, "collections": None, "long_s": 0.1, "shorter_s": 0.0}
    ]
    found["stacks"] = stacks(2)
    found["other_tools"] = [tool_report()]
    evaluation, imbalance = _finding(found, "rank_zero_evaluation"), _finding(found, IMBALANCE)
    same = {"gain_s": 0.48, "gain_share": 0.07, "gain_basis": "upper_bound"}
    same |= {"gain_interval_s": None, "gain_run_share": 0.068}
    imbalance |= same | {"status": "warn", "ranks": [0], "first_action": same}
    imbalance["title"] = "Some ranks have more work than others"
    imbalance["where"] = found["phases"][0]["where"]
    imbalance["actions"] = ["Give every rank the same number of samples per step."]
    found["findings"].remove(imbalance)
    found["findings"].insert(1, imbalance)
    saved = evaluation["first_action"]["gain_s"] + 0.4
    found["verdict"] |= {"top": [evaluation["id"], IMBALANCE], "combined_gain_s": saved}
    found["verdict"]["combined_of"] = list(found["verdict"]["top"])
    found["verdict"]["combined_text"] = f"fixing both would save about {saved:.2f} s"
    return found


def metric(value: float | None, unit: str, reason: str | None = None) -> Json:
    """A metric object."""
    return {"value": value, "unit": unit} | ({} if reason is None else {"reason": reason})


def _finding(document: Json, name: str) -> Json:
    found: Json = next(row for row in document["findings"] if row["id"] == name)
    return found


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


def with_horovod() -> Json:
    """The two ranks, and Horovod on them."""
    made: Json = plain(two_ranks_evaluation() | {"horovod": horovod(), "tensors": tensors()})
    return made


def with_ranks(document: Json, ranks: int, hosts: int = 1) -> Json:
    """A run of two ranks on as many as asked for: each figure of a rank is repeated."""
    names = [f"node{rank * hosts // ranks:02d}" for rank in range(ranks)]
    of_host = {
        name: [rank for rank, own in enumerate(names) if own == name]
        for name in dict.fromkeys(names)
    }
    made: Json = _repeated(document, ranks)
    run, threads, memory = made["run"], made["threads"], made["memory"]
    run |= {"ranks": ranks, "recorded_ranks": ranks}
    run["hosts"] = [{"name": name, "ranks": own} for name, own in of_host.items()]
    run["topology"] = [run["topology"][0] | {"host": name} for name in of_host]
    for part, key in ((run, "endings"), (threads, "ranks"), (memory, "ranks")):
        part[key] = [
            _like(part[key][rank % 2], rank) | {"rank": rank, "host": name}
            for rank, name in enumerate(names)
        ]
    for part in (threads, memory):
        part["nodes"] = [
            part["nodes"][0] | {"host": name, "ranks": own} for name, own in of_host.items()
        ]
    path = made["replay"]["critical_path"]
    path["ranks"] = ranks
    path["by_rank"] = [path["by_rank"][n % 2] | {"rank": n} for n in range(min(ranks, MOST_ROWS))]
    made["replay"]["waits"] |= _waits(ranks)
    made["stacks"] = plain(stacks(ranks))
    made["timeline"] = timeline(names)
    return made


def _repeated(value: Any, ranks: int, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _repeated(item, ranks, name) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    if key.endswith("_by_rank") and len(value) == 2:
        return [_like(value[rank % 2], rank) for rank in range(ranks)]
    return [_repeated(item, ranks) for item in value]


def _like(value: Any, rank: int) -> Any:
    """A figure of one rank for another one: nearly the same, so that no packing makes them one."""
    if isinstance(value, dict):
        return {name: _like(item, rank) for name, item in value.items()}
    if isinstance(value, list):
        return [_like(item, rank) for item in value]
    return value * (1 + rank / 1e6) if isinstance(value, float) else value


def _waits(ranks: int) -> Json:
    """Every rank waits for rank 0, a hundredth of a second."""
    size = max(1, -(-ranks // 16))
    blocks = -(-ranks // size)
    return {
        "pairs": [
            {"waiter": rank, "cause": 0, "seconds": 0.01} for rank in range(1, min(ranks, 101))
        ],
        "pairs_left_out": max(0, ranks - 101),
        "ranks_per_block": size,
        "blocks_s": [[0.01 * size, *[0.0] * (blocks - 1)]] * blocks,
    }


def four_ranks_healthy() -> Json:
    """Four ranks with nothing to fix."""
    made = with_ranks(two_ranks_evaluation(), 4)
    made["findings"] = [row for row in made["findings"] if row["status"] not in ("fail", "warn")]
    made["verdict"] |= {"sentence": "Nothing costs this run more than 3 % of its time."}
    made["verdict"] |= {"status": "pass", "top": [], "combined_of": [], "combined_text": None}
    made["verdict"] |= dict.fromkeys(
        ("combined_gain_s", "combined_gain_share", "combined_gain_run_share")
    )
    return made


def thousand_ranks() -> Json:
    """A thousand ranks on 16 nodes, of which some left no recording or were killed."""
    made = with_ranks(two_ranks_evaluation(), 1000, hosts=16)
    made["run"] |= {"missing_ranks": [17, 400], "recorded_ranks": 998}
    made["run"]["incomplete_ranks"] = [17, 93, 400]
    made["run"]["endings"][93] |= {"kind": "killed", "code": 9, "text": "killed by signal 9"}
    made["quality"][3] |= {"status": "warn", "title": "2 ranks left no recording"}
    return made


def everything_null() -> Json:
    """A run of which nothing was measured."""
    made: Json = least(Analysis, REASON)
    known = two_ranks_evaluation()
    made["run"] |= {"ranks": 1, "recorded_ranks": 1, "wall_s": 42.0}
    made["verdict"] |= {"sentence": "Nothing was measured.", "status": "info"}
    made["ledger"] = [
        row | {"seconds": 0.0, "share": 0.0, "ns_by_rank": []} for row in known["ledger"]
    ]
    made["stacks"]["reason"] = "it was recorded without --stacks"
    sampled: Json = {"value": None, "reason": "no NVIDIA driver is loaded", "gpus": []}
    made["devices"] = {"value": None, "reason": "no accelerator was visible to the job"}
    made["devices"]["sampled"] = sampled
    made["how_measured"] = known["how_measured"]
    quiet = next(row for row in known["findings"] if row["status"] == "not_measured")
    made["findings"] = [quiet | {"summary": REASON}]
    return made


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


@cache
def sample_page(name: str) -> str:
    """The page of one of them."""
    return build_html(read_known(ALL[name]()))
