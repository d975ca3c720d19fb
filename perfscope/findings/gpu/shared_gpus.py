"""Ranks that share a GPU, and GPUs that nobody uses."""

from collections.abc import Iterable, Mapping

from perfscope.findings.core import wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.gpu_facts import WHAT_TELLS, has_gpus, named, not_sampled, ranks_of
from perfscope.metrics.devices.gpus import GpuUse
from perfscope.schema.enums import Confidence, Status
from perfscope.units import capitalized

IDLE_BUSY = 0.02
"""Of the time with a kernel, below which a GPU that no rank uses has no work of others either."""
STRAY_SHARE = 0.1
"""Of the most that a rank holds on one GPU, below which it only holds a context on another."""


def judge(run: Facts) -> Outcome:
    """Whether ranks share a GPU beside one without work, or GPUs were asked for in vain."""
    results = run.results
    largest = _largest_shares(results.gpus.gpus)
    shared = [use for use in results.gpus.used if len(_working(use, largest)) > 1 and _is_sure(use)]
    hosts = {use.gpu.host for use in results.gpus.used}
    unused = [use for use in results.gpus.gpus if use.gpu.host in hosts and _is_unused(use)]
    unevenly = [use for use in shared if any(one.gpu.host == use.gpu.host for one in unused)]
    if unevenly:
        return _unbalanced(unevenly, unused)
    if shared or unused:
        return _told(shared, unused)
    if stray := [u for u in results.gpus.used if len(u.ranks) > len(_working(u, largest))]:
        return _stray(stray, largest)
    if ranks := results.gpus.unknown_ranks:
        return not_measured(f"It is not known which GPU {wording.ranks(ranks)} used. {WHAT_TELLS}")
    return passed("Each GPU that was sampled belongs to one rank.", Confidence.MEDIUM)


def _is_sure(use: GpuUse) -> bool:
    return all(source.is_sure for source in use.known_by)


def _largest_shares(uses: Iterable[GpuUse]) -> dict[int, int]:
    """Most memory that each rank holds on any one GPU."""
    found: dict[int, int] = {}
    for use in uses:
        for rank, size in use.memory_by_rank.items():
            found[rank] = max(found.get(rank, 0), size)
    return found


def _working(use: GpuUse, largest: Mapping[int, int]) -> list[int]:
    """The ranks that work on a GPU: of others it holds no more than the context of a library."""
    return [
        rank
        for rank in use.ranks
        if use.memory_by_rank.get(rank, largest.get(rank, 0)) >= largest.get(rank, 0) * STRAY_SHARE
    ]


def _stray(stray: list[GpuUse], largest: Mapping[int, int]) -> Finding:
    """Ranks that keep a little memory on the GPUs of others."""
    worst = stray[0]
    ranks = [rank for rank in worst.ranks if rank not in _working(worst, largest)]
    return Finding(
        Status.INFO,
        title=f"{capitalized(wording.ranks(ranks))} also took memory on {named(worst)}",
        summary=(
            "It is little beside what they hold on their own GPU: a CUDA context, which takes "
            "some hundred MiB from the rank that works there."
        ),
        confidence=Confidence.MEDIUM,
        ranks=tuple(ranks),
        evidence=tuple(
            Evidence(f"Memory of rank {rank} on {named(worst)}", worst.memory_by_rank[rank], "B")
            for rank in ranks[:4]
        ),
        actions=(
            (
                "Choose the device before anything touches a GPU: "
                "torch.cuda.set_device(int(os.environ['LOCAL_RANK'])), and load checkpoints with "
                "map_location."
            ),
        ),
    )


def _is_unused(use: GpuUse) -> bool:
    return use.may_be_used and not use.ranks and use.busy is not None and use.busy < IDLE_BUSY


def _unbalanced(unevenly: list[GpuUse], unused: list[GpuUse]) -> Finding:
    worst = max(unevenly, key=lambda use: len(use.ranks))
    ranks = wording.ranks(worst.ranks)
    return Finding(
        status=Status.FAIL,
        title=f"{capitalized(ranks)} share {named(worst)} while {named(unused[0])} is idle",
        summary=(
            f"GPUs that several ranks use: {len(unevenly)}; without work: {len(unused)}. "
            "How much it costs is not replayed."
        ),
        confidence=Confidence.HIGH,
        ranks=ranks_of(unevenly),
        evidence=_evidence(unevenly, unused),
        actions=(
            (
                "Give each rank a device of its own, before anything touches the GPU: "
                "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))."
            ),
            (
                "Or let the launcher do it: `srun --gpus-per-task=1` sets CUDA_VISIBLE_DEVICES for "
                "each rank; elsewhere a script around the program does, by "
                f"{wording.exported('CUDA_VISIBLE_DEVICES=$LOCAL_RANK')}."
            ),
        ),
        overlaps=("gpu_utilization",),
    )


def _told(shared: list[GpuUse], unused: list[GpuUse]) -> Finding:
    if unused:
        title = f"{len(unused)} of the GPUs had no work: {named(unused[0])}"
        action = "Start a rank for each GPU, or ask for fewer GPUs."
    else:
        worst = max(shared, key=lambda use: len(use.ranks))
        title = f"{capitalized(wording.ranks(worst.ranks))} share {named(worst)}"
        action = "Without MPS, ranks on one GPU take turns: one rank for each GPU is the rule."
    return Finding(
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
        rows.append(Evidence("Known by", shared[0].how_known))
    return tuple(rows)


DIAGNOSIS = Diagnosis(
    "shared_gpus",
    "Ranks share a GPU while another has no work",
    "Joins ranks with the GPUs that they use, and looks for GPUs without work beside shared ones.",
    judge,
    passed="Each rank has a GPU of its own",
    applies=has_gpus,
    needs=(not_sampled,),
    evidence="ranks by GPU, how that is known",
    counts_from="always; GPUs without work alone are reported (info)",
    rank=320,
    references=(
        "PyTorch, torchrun and LOCAL_RANK: https://docs.pytorch.org/docs/stable/elastic/run.html",
    ),
)
