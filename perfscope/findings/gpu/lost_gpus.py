"""GPUs that were gone before the run was over."""

from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.gpu_facts import MOST_GPUS
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.devices import Gpu


def judge(run: Facts) -> Outcome:
    """A GPU that the driver no longer reaches: what ran on it has failed, and nothing new will."""
    results = run.results
    lost = _lost(results)
    ranks = {r for use in results.gpus.used if use.gpu.is_lost for r in use.ranks}
    first = f"{_name(lost[0])} of host {lost[0].host}"
    others = len(lost) - 1
    more = "" if not others else " and another one" if others == 1 else f" and {others} others"
    return Finding(
        status=Status.FAIL,
        title=f"{first}{more} fell out during the run",
        summary="The driver says that it is lost or must be reset; work on it cannot go on.",
        confidence=Confidence.HIGH,
        ranks=tuple(sorted(ranks)),
        evidence=tuple(Evidence(f"Lost, on host {gpu.host}", gpu.uuid) for gpu in lost[:MOST_GPUS]),
        actions=(
            "Reset the GPU or restart the node, and leave the node out of jobs until then.",
            "The kernel's log names the cause as an Xid error: dmesg | grep -i xid.",
        ),
    )


def _lost(results: Results) -> list[Gpu]:
    return [gpu for gpu in results.trace.gpus if gpu.is_lost]


def _name(gpu: Gpu) -> str:
    return f"GPU {gpu.index}" if gpu.index >= 0 else "A GPU"


DIAGNOSIS = Diagnosis(
    "lost_gpus",
    "GPUs were lost",
    (
        "GPUs that the driver reported as lost, or as in need of a reset (Xid errors), while "
        "they were sampled."
    ),
    judge,
    applies=lambda results: bool(_lost(results)),
    intact=RANK_BY_RANK,
    evidence="their names; listed only where there is one",
    counts_from="always fails",
    rank=350,
    references=("NVIDIA, Xid errors: https://docs.nvidia.com/deploy/xid-errors/",),
)
