"""Ranks that share a GPU, and GPUs that nobody uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfscope.findings import wording
from perfscope.findings.finding import Confidence, Diagnosis, Evidence, Finding, Status
from perfscope.findings.gpu_facts import has_gpus, named, not_sampled, ranks_of
from perfscope.metrics.gpu_users import ASSUMED

if TYPE_CHECKING:
    from perfscope.metrics.gpus import GpuUse
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Replay

ID = "shared_gpus"
TITLE = "Ranks share a GPU while another has no work"
IDLE_BUSY = 0.02
"""Of the time with a kernel, below which a GPU that no rank uses has no work of others either."""
REFERENCES = (
    "PyTorch, torchrun and LOCAL_RANK: https://docs.pytorch.org/docs/stable/elastic/run.html",
)


def judge(results: Results, _: Replay) -> Finding:
    """Whether ranks crowd on a GPU beside one without work, or GPUs were asked for in vain."""
    if unknown := not_sampled(results, ID, TITLE):
        return unknown
    shared = [
        use for use in results.gpus.used if len(use.ranks) > 1 and ASSUMED not in use.known_by
    ]
    hosts = {use.gpu.host for use in results.gpus.used}
    unused = [use for use in results.gpus.gpus if use.gpu.host in hosts and _is_unused(use)]
    crowded = [use for use in shared if any(one.gpu.host == use.gpu.host for one in unused)]
    if crowded:
        return _crowded(crowded, unused)
    if shared or unused:
        return _told(shared, unused)
    text = "Each GPU that was sampled belongs to one rank."
    return Finding(ID, Status.PASS, "Each rank has a GPU of its own", text)


def _is_unused(use: GpuUse) -> bool:
    return not use.ranks and use.busy is not None and use.busy < IDLE_BUSY


def _crowded(crowded: list[GpuUse], unused: list[GpuUse]) -> Finding:
    worst = max(crowded, key=lambda use: len(use.ranks))
    ranks = wording.ranks(worst.ranks)
    return Finding(
        id=ID,
        status=Status.FAIL,
        title=f"{wording.capitalised(ranks)} share {named(worst)} while {named(unused[0])} is idle",
        summary=(
            f"{len(crowded)} GPUs are used by several ranks, and {len(unused)} have no work. "
            "How much it costs is not replayed."
        ),
        confidence=Confidence.HIGH,
        ranks=ranks_of(crowded),
        evidence=_evidence(crowded, unused),
        actions=(
            (
                "Give each rank a device of its own, before anything touches the GPU: "
                "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))."
            ),
            (
                "Or let the launcher do it: CUDA_VISIBLE_DEVICES set for each rank "
                "(Slurm: --gpus-per-task=1)."
            ),
        ),
        references=REFERENCES,
        overlaps=("gpu_utilisation",),
    )


def _told(shared: list[GpuUse], unused: list[GpuUse]) -> Finding:
    if unused:
        title = f"{len(unused)} of the GPUs had no work: {named(unused[0])}"
        action = "Start a rank for each GPU, or ask for fewer GPUs."
    else:
        worst = max(shared, key=lambda use: len(use.ranks))
        title = f"{wording.capitalised(wording.ranks(worst.ranks))} share {named(worst)}"
        action = "Without MPS, ranks on one GPU take turns: one rank for each GPU is the rule."
    return Finding(
        ID,
        Status.INFO,
        title=title,
        summary="This may be meant; it is told, and not judged.",
        confidence=Confidence.MEDIUM,
        ranks=ranks_of(shared),
        evidence=_evidence(shared, unused),
        actions=(action,),
    )


def _evidence(shared: list[GpuUse], unused: list[GpuUse]) -> tuple[Evidence, ...]:
    rows = [Evidence(f"Ranks on {named(use)}", len(use.ranks), "", "1") for use in shared[:4]]
    rows += [
        Evidence(f"Time with a kernel on {named(u)}", u.busy or 0.0, "ratio") for u in unused[:4]
    ]
    if shared:
        rows.append(Evidence("Known by", shared[0].known_by))
    return tuple(rows)


DIAGNOSIS = Diagnosis(
    ID,
    TITLE,
    "Joins ranks with the GPUs that they use, and looks for GPUs without work beside crowded ones.",
    judge,
    applies=has_gpus,
)
