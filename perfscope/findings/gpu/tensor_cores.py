"""Matrices that are multiplied in single precision although the devices have tensor cores."""

import re

from perfscope.findings.core import wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_applicable, passed
from perfscope.findings.facts.device_facts import (
    has_accelerators,
    how_to_watch,
    is_of_tensorflow,
    is_of_torch,
    not_watched,
    variable,
)
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.devices.matrix_kernels import MatrixTime
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.metadata import noted_environment
from perfscope.trace.model import Rank
from perfscope.units import format_share

MATRIX_LEAST_SHARE = 0.1  # of computing, known by its names: less says nothing of the program
SINGLE_PRECISION_SHARE = 0.1  # of computing, multiplied without tensor cores: worth knowing
HALF, TF32 = (7, 0), (8, 0)
"""Capabilities from which on tensor cores multiply 16 bits, and rounded single precision."""
OVERRIDE = "NVIDIA_TF32_OVERRIDE"
_OTHERS = re.compile(r"\bAMD\b|Instinct|Radeon|gfx\d|Intel|Ascend", re.IGNORECASE)


def judge(run: Facts) -> Outcome:
    """Whether kernels multiply in single precision on devices that could use tensor cores.

    It is told and never a fault: what precision a model needs is for its owner to say, and what
    it would gain is known by trying only.
    """
    results = run.results
    found = results.devices
    if found is None:
        is_watched = any(rank.devices and rank.devices.numbers for rank in results.trace.ranks)
        told = None if is_watched else _by_settings(results)
        return told or not_watched(results)
    if others := [device.name for device in found.devices if _OTHERS.search(device.name)]:
        return not_applicable(
            f"Names of kernels tell it of NVIDIA's devices only, not of {others[0][:60]}.",
            Confidence.MEDIUM,
        )
    capability = _capability(results)
    if capability is None:
        return not_applicable("The trace does not tell what the devices can do.", Confidence.MEDIUM)
    if capability < HALF:
        return not_applicable("The devices have no tensor cores.")
    matrices = found.matrices
    if not matrices.single_s + matrices.tensor_s:
        return not_applicable(
            "No name of a kernel tells how it multiplies matrices.", Confidence.MEDIUM
        )
    share = matrices.single_s / matrices.compute_s if matrices.compute_s else 0.0
    if share < SINGLE_PRECISION_SHARE:
        return _little(matrices, share)
    return Finding(
        status=Status.INFO,
        title=f"{format_share(share)} of computing multiplies without tensor cores",
        summary=(
            "These kernels multiply in single precision on the ordinary units. What it would gain "
            "is not known: try it, and look at the loss."
        ),
        confidence=Confidence.MEDIUM,
        ranks=tuple(sorted({device.rank for device in found.devices})),
        evidence=_evidence(results, share, capability),
        actions=_actions(results, capability),
    )


def _little(matrices: MatrixTime, share: float) -> Outcome:
    """Little is multiplied in single precision, or too little is known of how it is."""
    known = (matrices.single_s + matrices.tensor_s) / (matrices.compute_s or 1.0)
    if not matrices.tensor_s or known < MATRIX_LEAST_SHARE:
        return not_applicable(
            f"The names of kernels tell of {format_share(known)} of computing how it multiplies "
            "matrices, which is too little to judge.",
            Confidence.MEDIUM,
        )
    return passed(
        f"{format_share(share)} of computing is multiplying in single precision without tensor "
        "cores, as the names of the kernels tell.",
        Confidence.MEDIUM,
    )


def _by_settings(results: Results) -> Finding | None:
    """What the settings allow on GPUs that round single precision; None where none is known.

    Whether a program multiplies in single precision at all, no setting tells.
    """
    able = [use for use in results.gpus.used if (use.gpu.capability or HALF) >= TF32]
    on_them = {number for use in able for number in use.ranks}
    ranks = [rank for rank in results.trace.ranks if rank.number in on_them]
    exact = tuple(rank.number for rank in ranks if _is_exact(rank))
    if not exact:
        is_told = all(_precision(rank) is not None for rank in ranks)
        return _allowed() if ranks and is_told else None
    verb = "multiplies" if len(exact) == 1 else "multiply"
    capability = min(use.gpu.capability or TF32 for use in able)
    return Finding(
        status=Status.INFO,
        title="The settings keep matrices of single precision from tensor cores",
        summary=(
            f"If {wording.ranks(exact)} {verb} in single precision, the settings keep the "
            "matrices from being rounded for the tensor cores of their GPUs. Whether the program "
            "computes in 16 bits instead, and what it would gain, is not known: no profiler "
            "watched the GPUs. "
            f"{how_to_watch(results)}"
        ),
        confidence=Confidence.LOW,
        ranks=exact,
        evidence=_settings(results, capability),
        actions=_actions(results, capability),
    )


def _allowed() -> Finding:
    text = (
        "PyTorch may round single precision for the tensor cores of these GPUs. What runs on them "
        "no profiler watched."
    )
    title = "Tensor cores may multiply single precision"
    return Finding(Status.PASS, title, text, confidence=Confidence.LOW)


def _is_exact(rank: Rank) -> bool:
    """Whether matrices of single precision are multiplied as they are, by what it was told."""
    overridden = noted_environment(rank.metadata).get(OVERRIDE) == "0"
    return overridden or _precision(rank) == "highest"


def _precision(rank: Rank) -> str | None:
    """torch.get_float32_matmul_precision() at the end of a rank."""
    told = rank.framework("torch").get("float32_matmul_precision")
    return told if isinstance(told, str) else None


def _capability(results: Results) -> tuple[int, int] | None:
    """The least capability of the devices, from the profile or from the driver."""
    profiled = results.devices.devices if results.devices is not None else ()
    known = [device.capability for device in profiled if device.capability]
    known = known or [use.gpu.capability for use in results.gpus.used if use.gpu.capability]
    return min(known, default=None)


def _setting(results: Results) -> str | None:
    """torch.get_float32_matmul_precision() of the first rank that told it."""
    told = (_precision(rank) for rank in results.trace.ranks)
    return next((one for one in told if one is not None), None)


def _evidence(results: Results, share: float, capability: tuple[int, int]) -> tuple[Evidence, ...]:
    assert results.devices is not None
    matrices = results.devices.matrices
    rows = [
        Evidence("Single precision, of computing", share, "ratio"),
        Evidence("On tensor cores", matrices.tensor_s, "s"),
        Evidence("Longest such kernel", matrices.example[:100]),
    ]
    return (*rows, *_settings(results, capability))


def _settings(results: Results, capability: tuple[int, int]) -> tuple[Evidence, ...]:
    rows = [Evidence("CUDA capability", f"{capability[0]}.{capability[1]}")]
    if (setting := _setting(results)) is not None:
        rows.append(Evidence("torch.get_float32_matmul_precision()", setting, "", "high"))
    if (override := variable(results, OVERRIDE)) is not None:
        rows.append(Evidence(OVERRIDE, override[:20], "", "not 0"))
    return tuple(rows)


def _actions(results: Results, capability: tuple[int, int]) -> tuple[str, ...]:
    actions = []
    if variable(results, OVERRIDE) == "0":
        actions.append(
            f"Start with {wording.unset(OVERRIDE)}: set to 0 it switches TensorFloat-32 off."
        )
    if is_of_tensorflow(results):
        policy = "tf.keras.mixed_precision.set_global_policy('mixed_bfloat16')"
        actions.append(f"Compute in 16 bits: {policy}.")
    elif not is_of_torch(results):
        tf32 = "Let single precision be rounded to TensorFloat-32, or compute in 16 bits."
        actions.append(tf32 if capability >= TF32 else "Compute in 16 bits.")
    elif capability >= TF32:
        actions.append(
            "Let single precision be rounded to TensorFloat-32: "
            "torch.set_float32_matmul_precision('high')."
        )
        actions.append("Or compute in 16 bits: torch.autocast('cuda', dtype=torch.bfloat16).")
    else:
        actions.append(
            "Compute in 16 bits: torch.autocast('cuda', dtype=torch.float16) with "
            "torch.amp.GradScaler."
        )
    return tuple(actions)


DIAGNOSIS = Diagnosis(
    "tensor_cores",
    "Tensor cores",
    "Time of kernels that multiply in single precision, told by their names, on devices with "
    "tensor cores; without a profile, whether the settings keep single precision from them.",
    judge,
    passed="Tensor cores do the multiplying",
    applies=has_accelerators,
    intact=RANK_BY_RANK,
    evidence="seconds by names of kernels, settings",
    counts_from=f"{100 * SINGLE_PRECISION_SHARE:g} % of computing is reported (info)",
    rank=360,
    references=(
        (
            "PyTorch, TensorFloat-32: "
            "https://docs.pytorch.org/docs/stable/notes/cuda.html#tf32-on-ampere"
        ),
        "PyTorch, automatic mixed precision: https://docs.pytorch.org/docs/stable/amp.html",
    ),
)
