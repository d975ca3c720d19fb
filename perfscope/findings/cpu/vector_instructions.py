"""Settings that keep libraries from vector instructions that the CPUs have."""

import re

from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.core.wording import unset
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.structures import dataclass
from perfscope.trace.metadata import noted_environment
from perfscope.trace.model import Rank

LEVELS = ("SSE", "AVX", "AVX2", "AVX-512", "AMX")
_SSE, _AVX, _AVX2, _AVX512, _AMX = range(len(LEVELS))
_FEATURES = (("amx_tile", _AMX), ("avx512f", _AVX512), ("avx2", _AVX2), ("avx", _AVX))
_OPENBLAS_CORES = {
    **dict.fromkeys(("prescott", "core2", "penryn", "dunnington", "nehalem", "atom"), _SSE),
    **dict.fromkeys(("opteron", "barcelona", "bobcat"), _SSE),
    **dict.fromkeys(("sandybridge", "bulldozer", "piledriver", "steamroller"), _AVX),
    **dict.fromkeys(("haswell", "zen", "excavator"), _AVX2),
    **dict.fromkeys(("skylakex", "cooperlake", "sapphirerapids"), _AVX512),
}

_NUMPY = {
    "SSE41": "sse4_2",
    "SSE42": "sse4_2",
    "AVX": "avx",
    "F16C": "f16c",
    "FMA3": "fma",
    "AVX2": "avx2",
    "X86_V2": "sse4_2",
    "X86_V3": "avx2",
    "X86_V4": "avx512f",
    "AVX512F": "avx512f",
    "AVX512CD": "avx512f",
    "AVX512_SKX": "avx512bw",
    "AVX512_CLX": "avx512_vnni",
    "AVX512_CNL": "avx512bw",
    "AVX512_ICL": "avx512_vnni",
    "AVX512_SPR": "avx512_fp16",
}
"""numpy's names of instructions, by what the kernel calls the newest of each group."""

_BY_CHOICE = ("MKL_CBWR", "TF_ENABLE_ONEDNN_OPTS")
"""Variables that are set so that results are the same elsewhere."""


@dataclass(frozen=True)
class _Limit:
    """A variable that holds a library below what the CPU has."""

    name: str
    value: str
    library: str
    level: int | None  # None: not a level but a switch


def judge(run: Facts) -> Outcome:
    """Which variable of which rank limits a library that the rank uses; no seconds are claimed."""
    results = run.results
    levels = {rank.number: _cpu_level(rank) for rank in results.trace.ranks}
    if not any(level is not None for level in levels.values()):
        return not_measured(
            "The instructions of the CPUs were not noted: record on x86 Linux with perfscope run."
        )
    for rank in results.trace.ranks:
        level = levels[rank.number]
        if level is not None and (limits := _limits(rank, level)):
            return _fault(results, rank, level, limits)
    return passed(
        "None of the variables that limit PyTorch, oneDNN, MKL, OpenBLAS and numpy is set low."
    )


def _cpu_level(rank: Rank) -> int | None:
    """The best vector instructions of the rank's CPU; None where they were not noted."""
    topology = rank.metadata.get("topology")
    features = topology.get("cpu_features") if isinstance(topology, dict) else None
    if not isinstance(features, list) or "sse2" not in features:
        return None  # not an x86 CPU
    return next((level for name, level in _FEATURES if name in features), _SSE)


def _limits(rank: Rank, cpu: int) -> list[_Limit]:
    environment = noted_environment(rank.metadata)
    checks = (
        ("ATEN_CPU_CAPABILITY", "PyTorch", _aten),
        ("ONEDNN_MAX_CPU_ISA", "oneDNN", _isa),
        ("DNNL_MAX_CPU_ISA", "oneDNN", _isa),
        ("MKL_ENABLE_INSTRUCTIONS", "Intel MKL", _isa),
        ("MKL_CBWR", "Intel MKL", _isa),
        ("OPENBLAS_CORETYPE", "OpenBLAS", lambda text: _OPENBLAS_CORES.get(text.lower())),
    )
    limits = []
    for name, library, level_of in checks:
        text = environment.get(name, "")
        level = level_of(text) if text else None
        highest = cpu if library == "oneDNN" else min(cpu, _AVX512)
        if level is not None and level < highest and _uses(rank, library):
            limits.append(_Limit(name, text, library, level))
    disabled = environment.get("NPY_DISABLE_CPU_FEATURES", "")
    lost = _disabled(rank, disabled)
    if lost and _uses(rank, "numpy"):
        level = _AVX2 if all(name.startswith("avx512") for name in lost) else None
        limits.append(_Limit("NPY_DISABLE_CPU_FEATURES", disabled, "numpy", level))
    is_off = environment.get("TF_ENABLE_ONEDNN_OPTS") == "0" and cpu >= _AVX2
    if is_off and _uses(rank, "TensorFlow"):
        limits.append(_Limit("TF_ENABLE_ONEDNN_OPTS", "0", "TensorFlow", None))
    return limits


def _disabled(rank: Rank, text: str) -> set[str]:
    """Which of the CPU's instructions numpy is told not to use, by the kernel's names."""
    topology = rank.metadata.get("topology")
    features = topology.get("cpu_features") if isinstance(topology, dict) else None
    named = {_NUMPY.get(word.upper(), "") for word in re.split(r"[\s,]+", text)}
    return named & {name for name in features or () if isinstance(name, str)}


def _aten(text: str) -> int | None:
    """`default` is what every x86-64 CPU has."""
    return _SSE if text.lower() == "default" else _isa(text)


def _isa(text: str) -> int | None:
    """The level that a name such as AVX512_CORE_BF16, SSE4_2 or AVX2,STRICT stands for."""
    name = text.upper().split(",")[0].strip()
    if "AMX" in name or name.startswith("AVX10"):
        return _AMX if "AMX" in name else _AVX512
    for prefix, level in (("AVX512", _AVX512), ("AVX2", _AVX2), ("AVX", _AVX), ("SSE", _SSE)):
        if name.startswith(prefix):
            return level
    return _SSE if name == "COMPATIBLE" else None


def _uses(rank: Rank, library: str) -> bool:
    """Whether the rank loaded a library."""
    versions = rank.metadata.get("versions")
    loaded = versions if isinstance(versions, dict) else {}
    rows = rank.metadata.get("blas_libraries")
    names = (
        " ".join(str(row.get("library")) for row in rows if isinstance(row, dict))
        if isinstance(rows, list)
        else ""
    )
    has_torch, has_tensorflow = "torch" in loaded, "tensorflow" in loaded
    return {
        "PyTorch": has_torch,
        "oneDNN": has_torch or has_tensorflow,
        "Intel MKL": has_torch or "mkl" in names,  # PyTorch's x86 wheels have MKL inside
        "OpenBLAS": "openblas" in names,
        "numpy": "numpy" in loaded,
        "TensorFlow": has_tensorflow,
    }[library]


def _fault(results: Results, rank: Rank, cpu: int, limits: list[_Limit]) -> Finding:
    worst = min(limits, key=lambda one: _AVX2 if one.level is None else one.level)
    # AVX-512 and fixed results across CPUs are given up on purpose by some
    on_purpose = all(
        one.name in _BY_CHOICE or (one.level is not None and one.level >= _AVX2) for one in limits
    )
    ranks = tuple(r.number for r in results.trace.ranks if (c := _cpu_level(r)) and _limits(r, c))
    held = f"at {LEVELS[worst.level]}" if worst.level is not None else "below what it can do"
    return Finding(
        status=Status.INFO if on_purpose else Status.WARN,
        title=f"{worst.name}={worst.value[:40]} holds {worst.library} {held}; the CPUs have "
        f"{LEVELS[cpu]}",
        summary=(
            "What other instructions give depends on the work: mostly much in matrix products and "
            "convolutions, little elsewhere. It was not measured."
        ),
        confidence=Confidence.HIGH,
        ranks=ranks,
        evidence=(
            Evidence("Best vector instructions of the CPUs", LEVELS[cpu]),
            *(Evidence(f"{one.name} ({one.library})", one.value[:80]) for one in limits),
            *_capability(rank),
        ),
        actions=(_action(limits),),
    )


def _action(limits: list[_Limit]) -> str:
    names = dict.fromkeys(one.name for one in limits)
    return (
        f"Start with {unset(*names)}, unless results must be the same on other CPUs, and compare "
        "step times: perfscope compare BEFORE/ AFTER/."
    )


def _capability(rank: Rank) -> tuple[Evidence, ...]:
    told = rank.framework("torch").get("cpu_capability")
    return (Evidence("PyTorch uses", told[:40]),) if isinstance(told, str) else ()


DIAGNOSIS = Diagnosis(
    id="vector_instructions",
    title="A setting keeps libraries from instructions that the CPUs have",
    description=(
        "Compares the vector instructions of the CPUs with the variables that limit what "
        "PyTorch, oneDNN, MKL, OpenBLAS, numpy and TensorFlow use of them."
    ),
    judge=judge,
    intact=RANK_BY_RANK,
    passed="No setting keeps libraries from the CPUs' instructions",
    evidence="the CPUs' instructions, variables",
    counts_from="below AVX2 or switched off; AVX2 on CPUs with more is reported (info)",
    rank=380,
    references=(
        (
            "oneDNN, CPU dispatcher: "
            "https://uxlfoundation.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html"
        ),
        (
            "Intel MKL, instruction set: https://www.intel.com/content/www/us/en/docs/onemkl/"
            "developer-guide-linux/2025-2/instruction-set-specific-dispatch-on-intel-archs.html"
        ),
    ),
)
