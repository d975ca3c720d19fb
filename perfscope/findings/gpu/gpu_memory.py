"""How much memory of the GPUs is left at the peak, and ranks that ran out of it."""

from perfscope.findings.core import wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured
from perfscope.findings.facts.device_facts import is_of_torch, torch_devices, variable
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.gpu_facts import MOST_GPUS, has_gpus, named, not_sampled
from perfscope.foreign import mentions
from perfscope.metrics.devices.gpus import GpuUse
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.model import Frame, Rank
from perfscope.units import capitalized, format_bytes, format_share

GPU_MEMORY_SCARCE = 0.05  # left at the peak: the next larger batch, or a longer sample, fails
_OUT_OF_MEMORY = ("CUDA out of memory", "HIP out of memory", "CUDA_ERROR_OUT_OF_MEMORY")
_TYPES = ("OutOfMemoryError", "ResourceExhaustedError")


def judge(run: Facts) -> Outcome:
    """Whether a rank ended because a GPU was full, or how much was left at the peak."""
    results = run.results
    ended = [rank for rank in results.trace.ranks if ran_out(rank)]
    if ended:
        return _ran_out(results, ended)
    if unknown := not_sampled(results):
        return unknown
    known = [use for use in results.gpus.used if use.memory_peak_bytes and use.gpu.memory_bytes]
    if not known:
        return not_measured(
            "The driver does not tell perfscope run how much memory of these GPUs is in use (as of "
            "some divided ones, MIG). In PyTorch, torch.cuda.max_memory_allocated() does."
        )
    if reason := _takes_all(results):
        return not_measured(reason)
    worst = min(known, key=_left)
    left = _left(worst)
    is_scarce = left < GPU_MEMORY_SCARCE
    during = f", in the phase {worst.peak_phase}" if worst.peak_phase else ""
    return Finding(
        status=Status.WARN if is_scarce else Status.PASS,
        title=(
            f"{format_share(left)} of the memory of {named(worst)} is left"
            if is_scarce
            else "The GPUs have memory left"
        ),
        summary=(
            f"At the peak {format_bytes(worst.memory_peak_bytes or 0)} of "
            f"{format_bytes(worst.gpu.memory_bytes)} were in use on {named(worst)}{during}: "
            f"{format_share(left)} is left. Samples miss short peaks, and PyTorch keeps what "
            "it has freed."
        ),
        confidence=Confidence.MEDIUM,
        ranks=worst.ranks if is_scarce else (),
        evidence=_evidence(results, known),
        actions=_actions(results) if is_scarce else (),
    )


def ran_out(rank: Rank) -> bool:
    """Whether the exception that ended a rank says that a device was out of memory."""
    raised = rank.ending.raised
    if raised is None:
        return False
    name = raised.type.rpartition(".")[2]
    is_of_gpu = name in _TYPES and mentions(raised.message, "GPU", "CUDA")
    return is_of_gpu or mentions(raised.message, *_OUT_OF_MEMORY)


def _ran_out(results: Results, ended: list[Rank]) -> Finding:
    raised = ended[0].ending.raised
    assert raised is not None
    numbers = tuple(rank.number for rank in ended)
    where = (Frame("", raised.file, raised.line),) if raised.file else ()
    mine = [use for use in results.gpus.used if set(use.ranks) & set(numbers)]
    return Finding(
        status=Status.FAIL,
        title=f"{capitalized(wording.ranks(numbers))} ended when a GPU was out of memory",
        summary=raised.message[:300],
        confidence=Confidence.HIGH,
        ranks=numbers,
        where=where,
        evidence=_evidence(results, mine),
        actions=_actions(results),
        overlaps=("memory_headroom",),
    )


def _left(use: GpuUse) -> float:
    return max(0.0, 1.0 - (use.memory_peak_bytes or 0) / use.gpu.memory_bytes)


def _takes_all(results: Results) -> str:
    """Why memory in use says nothing: some frameworks take all of it at once; "" else."""
    names = results.libraries
    grows = (variable(results, "TF_FORCE_GPU_ALLOW_GROWTH") or "").lower() == "true"
    if "tensorflow" in names and "torch" not in names and not grows:
        return (
            "TensorFlow takes the memory of a GPU as a whole when it starts. Record with "
            f"{wording.exported('TF_FORCE_GPU_ALLOW_GROWTH=true')} to see how much it needs."
        )
    keeps = (variable(results, "XLA_PYTHON_CLIENT_PREALLOCATE") or "").lower() == "false"
    if "jax" in names and not keeps:
        return (
            "JAX takes three quarters of the memory of a GPU when it starts. Record with "
            f"{wording.exported('XLA_PYTHON_CLIENT_PREALLOCATE=false')} to see how much it needs."
        )
    return ""


def _evidence(results: Results, known: list[GpuUse]) -> tuple[Evidence, ...]:
    rows = [
        Evidence(
            f"Peak of {named(use)}",
            f"{format_bytes(use.memory_peak_bytes or 0)} of {format_bytes(use.gpu.memory_bytes)}",
        )
        for use in sorted(known, key=_left)[:MOST_GPUS]
    ]
    for rank in results.trace.ranks[:MOST_GPUS]:
        for device in torch_devices(rank.metadata):
            allocated = device.get("allocated_bytes")
            if isinstance(allocated, int):
                label = f"Most allocated by PyTorch in rank {rank.number}"
                rows.append(Evidence(label, format_bytes(allocated)))
    return tuple(rows)


def _actions(results: Results) -> tuple[str, ...]:
    if not is_of_torch(results):
        return ("Use smaller micro-batches with gradient accumulation, or recompute activations.",)
    return (
        (
            "Use smaller micro-batches with gradient accumulation, torch.autocast, or "
            "activation checkpointing (torch.utils.checkpoint)."
        ),
        (
            "Against fragmentation: "
            f"{wording.exported('PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True')}."
        ),
        "torch.cuda.memory._record_memory_history() names what holds the memory.",
    )


DIAGNOSIS = Diagnosis(
    "gpu_memory",
    "Memory of the GPUs",
    "Compares the peak of each GPU's memory with what it has; finds ranks that ran out of it.",
    judge,
    applies=lambda results: has_gpus(results) or any(ran_out(r) for r in results.trace.ranks),
    intact=RANK_BY_RANK,
    evidence="peaks by GPU and rank, the phase of the peak",
    counts_from=f"{100 * GPU_MEMORY_SCARCE:g} % left warns; a rank that ended so fails",
    rank=330,
    references=(
        (
            "PyTorch, CUDA memory management: "
            "https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management"
        ),
    ),
)
