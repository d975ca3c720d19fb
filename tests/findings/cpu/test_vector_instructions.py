"""Variables that keep libraries from what the CPU has, only where the library is used."""

from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

AVX2 = ["avx", "avx2", "fma", "sse2", "sse4_2"]
AVX512 = [*AVX2, "avx512f", "avx512bw"]
AMX = [*AVX512, "amx_tile", "amx_bf16"]
TORCH = {"versions": {"torch": "2.13.0"}}
NUMPY = {"versions": {"numpy": "2"}}


def judged(
    environment: dict[str, str],
    *,
    features: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> Finding:
    """One rank with these variables on a CPU with these instructions."""
    builder = TraceBuilder(1, end_s=20.0)
    told = {"topology": {"cpu_features": AVX512 if features is None else features}}
    noted = {**told, **(TORCH if metadata is None else metadata), "environment": environment}
    builder.rank(0).init(1.0).finalize(19.0).set(metadata=noted)
    return analyze_trace(builder.build()).findings["vector_instructions"]


def test_names_variable_library_and_what_the_cpu_has() -> None:
    finding = judged({"ATEN_CPU_CAPABILITY": "default"})
    assert finding.status is Status.WARN
    assert finding.title == (
        "ATEN_CPU_CAPABILITY=default holds PyTorch at SSE; the CPUs have AVX-512"
    )
    assert finding.actions[0].startswith("Start with `unset ATEN_CPU_CAPABILITY`, unless")
    assert finding.gain_s is None


@pytest.mark.parametrize(
    ("environment", "features", "metadata", "status"),
    [
        ({"ONEDNN_MAX_CPU_ISA": "SSE41"}, AVX512, TORCH, Status.WARN),
        ({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}, AMX, TORCH, Status.INFO),
        ({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_AMX"}, AMX, TORCH, Status.PASS),
        ({"ONEDNN_MAX_CPU_ISA": "ALL"}, AMX, TORCH, Status.PASS),
        ({"ATEN_CPU_CAPABILITY": "avx2"}, AVX512, TORCH, Status.INFO),
        ({"ATEN_CPU_CAPABILITY": "avx2"}, AVX2, TORCH, Status.PASS),
        ({"ATEN_CPU_CAPABILITY": "avx512"}, AVX2, TORCH, Status.PASS),
        ({"ATEN_CPU_CAPABILITY": "avx512"}, AMX, TORCH, Status.PASS),
        ({"MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}, AVX2, TORCH, Status.WARN),
        ({"MKL_CBWR": "COMPATIBLE"}, AVX2, TORCH, Status.INFO),
        ({"MKL_CBWR": "AVX2,STRICT"}, AVX2, TORCH, Status.PASS),
        (
            {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"},
            AVX2,
            {"versions": {"numpy": "2"}},
            Status.WARN,
        ),
        ({"NPY_DISABLE_CPU_FEATURES": "AVX512F,AVX512_SKX"}, AVX2, NUMPY, Status.PASS),
        ({"NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512_SKX"}, AVX512, NUMPY, Status.INFO),
        ({"NPY_DISABLE_CPU_FEATURES": "NEON"}, AVX512, NUMPY, Status.PASS),
        # TensorFlow itself prints this setting as the way to unchanged rounding
        ({"TF_ENABLE_ONEDNN_OPTS": "0"}, AVX2, {"versions": {"tensorflow": "2"}}, Status.INFO),
        ({"TF_ENABLE_ONEDNN_OPTS": "1"}, AVX2, {"versions": {"tensorflow": "2"}}, Status.PASS),
        (
            {"OPENBLAS_CORETYPE": "Nehalem"},
            AVX2,
            {"blas_libraries": [{"library": "libopenblas.so", "threads": 1}]},
            Status.WARN,
        ),
        (
            {"OPENBLAS_CORETYPE": "Haswell"},
            AVX2,
            {"blas_libraries": [{"library": "libopenblas.so", "threads": 1}]},
            Status.PASS,
        ),
        ({"ATEN_CPU_CAPABILITY": "default"}, AVX512, {"versions": {}}, Status.PASS),  # not used
        ({}, AVX512, TORCH, Status.PASS),
    ],
)
def test_levels_are_compared(
    environment: dict[str, str], features: list[str], metadata: dict[str, Any], status: Status
) -> None:
    assert judged(environment, features=features, metadata=metadata).status is status


@pytest.mark.parametrize("features", [[], ["asimd", "sve"], "avx2"])
def test_other_cpus_and_older_recordings_are_not_measured(features: Any) -> None:
    finding = judged({"ATEN_CPU_CAPABILITY": "default"}, features=features)
    assert finding.status is Status.NOT_MEASURED
